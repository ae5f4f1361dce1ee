/* SPDX-License-Identifier: MIT */
/* weft_procs and weft_set_procs, while everything runs. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

static weft_waitgroup all;

GTEST(both_directions, 1)
{
	static const int steps[] = { 4, 2, 8, 1, 3, 3, 1, 16, 2 };
	int old = weft_procs();

	EQ(old, 1);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		EQ(weft_set_procs(steps[i]), old);
		old = weft_procs();
		EQ(old, steps[i]);
	}
}

GTEST(most_and_back, 2)
{
	EQ(weft_set_procs(1024), 2);
	EQ(weft_procs(), 1024);
	EQ(weft_set_procs(1), 1024);
	EQ(weft_procs(), 1);
}

GTEST(invalid, 3)
{
	EQ(weft_set_procs(0), -EINVAL);
	EQ(weft_set_procs(-1), -EINVAL);
	EQ(weft_set_procs(1025), -EINVAL);
	EQ(weft_set_procs(INT32_MAX), -EINVAL);
	EQ(weft_set_procs(INT32_MIN), -EINVAL);
	EQ(weft_procs(), 3);
}

/* ---- they do run at the same time ---- */

static int here[4];

/* Waits for the others without letting anybody else run. */
static void
meet(int me, int n)
{
	__atomic_store_n(&here[me], 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < n; i++)
		while (!__atomic_load_n(&here[i], __ATOMIC_SEQ_CST))
			;
	weft_waitgroup_done(&all);
}

GTEST(more_run_at_once, 1)
{
	EQ(weft_set_procs(4), 1);
	weft_waitgroup_add(&all, 4);
	for (int i = 0; i < 4; i++)
		OK(weft_try_go(meet, i, 4) > 0);
	weft_waitgroup_wait(&all);
}

static int inside, most;

static void
count_inside(void)
{
	int n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);

	if (n > most)
		most = n;	/* a race if more than one runs */
	for (volatile int i = 0; i < 1000; i++)
		;
	__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	weft_waitgroup_done(&all);
}

static void
one_at_a_time(void)
{
	int n = (int)t_scale(2000);

	EQ(weft_set_procs(1), 4);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(count_inside) > 0);
	weft_waitgroup_wait(&all);
	EQ(most, 1);
}

/* None may lose its P while it is in there: on a busy machine that may take
 * longer than a slice. */
TEST(one_means_one)
{
	putenv((char *)(uintptr_t)"WEFT_MAX_DETACHED=-1");
	run_env(4, "WEFT_PREEMPT_SIGNAL=-1", one_at_a_time);
}

/* ---- nothing is lost ---- */

static weft_waitgroup gate;
static long work;

static void
wait_then_work(void)
{
	weft_waitgroup_wait(&gate);
	__atomic_add_fetch(&work, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

static void
work_and_yield(int n)
{
	while (n-- > 0) {
		__atomic_add_fetch(&work, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

/* Some wait, some are queued and some run when the number changes. */
GTEST(nothing_lost, 4)
{
	int n = (int)t_scale(2000);

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 2 * n);
	for (int i = 0; i < n; i++) {
		OK(weft_try_go(wait_then_work) > 0);
		OK(weft_try_go(work_and_yield, 10) > 0);
		if (i % 100 == 0)
			OK(weft_set_procs(1 + i / 100 % 6) > 0);
	}
	OK(weft_set_procs(1) > 0);
	weft_waitgroup_done(&gate);
	OK(weft_set_procs(8) > 0);
	weft_waitgroup_wait(&all);
	EQ(work, 11L * n);
	OK(weft_set_procs(1) > 0);
	while (weft_goroutines() > 1)
		weft_yield();
}

/* Without a yield in between: what is queued moves with the queue. */
GTEST(queued_ones_move, 8)
{
	for (int i = 0; i < 30; i++) {
		weft_waitgroup_add(&all, 50);
		for (int k = 0; k < 50; k++)
			OK(weft_try_go(work_and_yield, 1) > 0);
		EQ(weft_set_procs(i % 2 ? 8 : 1), i % 2 ? 1 : 8);
		weft_waitgroup_wait(&all);
		EQ(work, 50 * (i + 1));
	}
}

/* ---- from which threads it may be called ---- */

static void *
set_plainly(void *arg)
{
	EQ(weft_procs(), 2);
	EQ(weft_set_procs(5), 2);
	EQ(weft_set_procs(0), -EINVAL);
	EQ(weft_procs(), 5);
	weft_waitgroup_done(arg);
	return NULL;
}

GTEST(from_a_thread, 2)
{
	pthread_t t;

	weft_waitgroup_add(&all, 1);
	EQ(pthread_create(&t, NULL, set_plainly, &all), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_procs(), 5);
	pthread_join(t, NULL);
}

/*
 * Each change returns what the one before it set, in some order. So all the
 * old numbers and the last one together are all the new ones and the first.
 */
static int64_t balance;

static void
change_often(unsigned seed)
{
	for (long i = t_scale(200); i > 0; i--) {
		int n = (int)(seed + (unsigned long)i * 7) % 6 + 1;
		int old = weft_set_procs(n);

		OK(old >= 1 && old <= 6);
		__atomic_add_fetch(&balance, n - old, __ATOMIC_RELAXED);
		if (i % 3 == 0)
			weft_yield();
	}
	weft_waitgroup_done(&all);
}

PLAIN_THREAD(change_plainly, change_often((unsigned)(uintptr_t)arg))

GTEST(all_at_once, 3)
{
	pthread_t t[3];
	int n = (int)t_scale(300);

	weft_waitgroup_add(&all, 3 + 5 + n);
	for (uintptr_t i = 0; i < 3; i++)
		EQ(pthread_create(&t[i], NULL, change_plainly, (void *)i), 0);
	for (unsigned i = 0; i < 5; i++)
		OK(weft_try_go(change_often, i + 3) > 0);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(work_and_yield, 20) > 0);
	weft_waitgroup_wait(&all);
	EQ(3 + balance, weft_procs());
	EQ(work, 20L * n);
	threads_join(t, 3);
}

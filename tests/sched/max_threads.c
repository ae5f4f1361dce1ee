/* SPDX-License-Identifier: MIT */
/*
 * weft_config.max_threads: at the limit goroutines wait for a thread, and
 * the process does not die.
 */
#include <stdint.h>
#include <time.h>

#include <weft.h>

#include "t.h"

__attribute__((constructor)) static void
set_limit(void)
{
	t_max_threads = 2;
}

static void *
nap(void *arg)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return arg;
}

static weft_waitgroup all;
static int here, ended;

static void
caller(void)
{
	for (int i = 0; i < 5; i++)
		weft_blocking(nap, NULL);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	weft_waitgroup_done(&all);
}

/* Twenty blocking goroutines on two threads: each has its turn. */
GTEST(callers_wait_for_a_thread, 4)
{
	weft_stats s;

	weft_waitgroup_add(&all, 20);
	for (int i = 0; i < 20; i++)
		OK(weft_try_go(caller) > 0);
	weft_waitgroup_wait(&all);
	EQ(ended, 20);
	weft_stats_read(&s, sizeof s);
	OK(s.threads <= 2);
}

static void
meet(void)
{
	__atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 2)
		;
	weft_waitgroup_done(&all);
}

/* Two threads are two: as many as two processors need. */
GTEST(not_reached, 2)
{
	weft_stats s;

	weft_waitgroup_add(&all, 2);
	OK(weft_try_go(meet) > 0);
	OK(weft_try_go(meet) > 0);
	weft_waitgroup_wait(&all);
	weft_stats_read(&s, sizeof s);
	EQ(s.threads, 2);
}

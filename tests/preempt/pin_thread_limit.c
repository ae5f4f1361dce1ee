/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that stay on their thread, where no more threads can be made: a
 * pinned one that cannot be paused shares its thread with no other, and one
 * that holds its thread is found wherever it is queued.
 */
#include <pthread.h>
#include <stdio.h>

#include <weft.h>

#include "counter.h"
#include "t.h"

static weft_waitgroup all;
static int stop;

/* In the program's own code most of the time. */
static void
compute_for(int64_t ns)
{
	int64_t end = weft_now() + ns;

	while (weft_now() < end)
		for (int i = 0; i < 50 * 1000; i++)
			__asm__ volatile("");
}

/* It yields when it is asked to: no thread is used up by it. */
static void
computes(void)
{
	while (!counter_get(&stop))
		weft_checkpoint();
	weft_waitgroup_done(&all);
}

/* ---- a pause that fails ---- */

enum { ROUNDS = 30 };

static pthread_t pinned_thread;
static weft_chan *there, *back;

static void
answers(void)
{
	int v;

	while (weft_recv_ok(there, &v)) {
		OK(!pthread_equal(pthread_self(), pinned_thread));
		weft_send(back, v);
	}
	weft_waitgroup_done(&all);
}

static void
asks(void)
{
	weft_pin();
	pinned_thread = pthread_self();
	for (int i = 0; i < ROUNDS; i++) {
		/* A little more than its slice, until after the signal that
		 * cannot pause it and before its P is retaken. */
		compute_for(10 * WEFT_MS + i * 60 * WEFT_US);
		weft_send(there, i);
		EQ(weft_recv(back, int), i);
		OK(pthread_equal(pthread_self(), pinned_thread));
	}
	weft_unpin();
	weft_chan_close(there);
	counter_set(&stop, 1);
	weft_waitgroup_done(&all);
}

/* Signals that came to nothing since there was no thread to go on with. */
static uint64_t
not_paused(void)
{
	weft_preempt_stats s;

	weft_preempt_stats_read(&s, sizeof s);
	return s.refused[WEFT_RETAKE_NO_THREAD];
}

static int
pinned_beside_others(int argc, char **argv)
{
	(void)argc, (void)argv;
	there = weft_chan_of(int, 1);
	back = weft_chan_of(int, 1);
	weft_waitgroup_add(&all, 5);
	weft_go(answers);
	weft_go(asks);
	for (int i = 0; i < 3; i++)
		weft_go(computes);
	weft_waitgroup_wait(&all);
	printf("# %d times no thread to go on with\n", (int)not_paused());
	weft_chan_release(there);
	weft_chan_release(back);
	return 0;
}

static void
need_pauses(void)
{
	if (T_SANITIZED || t_emulated())
		t_skip("no signals here, so no pauses");
}

TEST(a_pinned_thread_is_not_shared)
{
	need_pauses();
	EQ(weft_run_with(pinned_beside_others, 0, NULL, .procs = 2,
	    .max_threads = 4), 0);
}

TEST(nor_if_no_thread_can_be_paused)
{
	need_pauses();
	EQ(weft_run_with(pinned_beside_others, 0, NULL, .procs = 2,
	    .max_threads = 3), 0);
}

/* ---- a lock that a parked goroutine holds ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int locked;

static void
locks_and_waits(weft_chan *c)
{
	int v;

	weft_thread_hold();
	EQ(pthread_mutex_lock(&lock), 0);
	counter_add(&locked, 1);
	OK(weft_recv_ok(c, &v));
	EQ(pthread_mutex_unlock(&lock), 0);
	weft_thread_release();
	weft_waitgroup_done(&all);
}

static int
wakes_and_locks(int argc, char **argv)
{
	weft_chan *c = weft_chan_of(int, 0);

	(void)argc, (void)argv;
	for (int i = 0; i < t_scale(20); i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(locks_and_waits, c);
		while (counter_get(&locked) <= i)
			weft_yield();
		weft_sleep(WEFT_MS);	/* it is parked by now, likely */
		weft_send(c, i);
		/* The other one is the next of this P, and has the lock. */
		EQ(pthread_mutex_lock(&lock), 0);
		EQ(pthread_mutex_unlock(&lock), 0);
		weft_waitgroup_wait(&all);
	}
	weft_chan_release(c);
	return 0;
}

TEST(a_holder_behind_a_blocked_thread)
{
	EQ(weft_run_with(wakes_and_locks, 0, NULL, .procs = 1,
	    .max_threads = 2), 0);
}

TEST(the_same_with_threads_to_spare)
{
	EQ(weft_run_with(wakes_and_locks, 0, NULL, .procs = 2), 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * A program that sleeps until a time makes no system calls until then, and a
 * handful when it comes. Shown by what the kernel counted for each thread, and
 * by strace.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "quiescence.h"

#define HOUR (3600 * WEFT_SECOND)

static weft_waitgroup gate;

/* ---- as the kernel counts ---- */

static void *
watch(void *moved)
{
	settle();
	*(long *)moved = activity_in(0.7);
	weft_waitgroup_done(&gate);
	return NULL;
}

static void nothing(void *arg) { (void)arg; }

/* Every way to wait for an hour, and timers that no goroutine waits for. */
static void
sleep_long(int how)
{
	weft_chan *c = weft_chan_make(8, 0);
	weft_case cases[] = {
		WEFT_CASE_RECV(c, NULL), WEFT_CASE_RECV(weft_after(HOUR), NULL)
	};

	weft_after_func(HOUR, nothing, NULL);
	switch (how % 4) {
	case 0: weft_sleep(HOUR); break;
	case 1: weft_chan_recv_until(c, NULL, weft_deadline(HOUR)); break;
	case 2: weft_select(cases, 2); break;
	case 3: weft_chan_recv(weft_timer_chan(weft_ticker_make(HOUR)), NULL);
	}
}

static void
no_thread_moves(int sleepers)
{
	long moved = -1;

	need_own_threads();
	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < sleepers; i++)
		weft_go(sleep_long, i);
	wait_watched(&gate, watch, &moved);
	EQ(moved, 0);
}

GTEST(one_sleeper_moves_no_thread, 4) { no_thread_moves(1); }
GTEST(many_sleepers_move_no_thread, 4) { no_thread_moves(100); }
GTEST(sleepers_of_one_move_no_thread, 1) { no_thread_moves(10); }

/* Timers that were stopped wake no thread at their time. */
static void *
watch_stopped(void *moved)
{
	weft_timer *t[100];
	for (int i = 0; i < 100; i++)
		t[i] = weft_after_func((400 + i * 3) * WEFT_MS, nothing, NULL);
	for (int i = 0; i < 100; i++)
		OK(weft_timer_stop(t[i]));
	settle();
	*(long *)moved = activity_in(0.6);
	weft_waitgroup_done(&gate);
	return NULL;
}

/* One wake to find out that there is nothing left would be all right. */
GTEST(stopped_timers_wake_no_thread, 2)
{
	long moved = -1;

	need_own_threads();
	weft_waitgroup_add(&gate, 1);
	wait_watched(&gate, watch_stopped, &moved);
	OK(moved >= 0 && moved <= 20);
}

/* ---- under strace ---- */

/* Main and another sleep for an hour; a thread looks, and ends it all. */
static void *
look_and_leave(void *arg)
{
	settle();
	mark_for(1);
	_exit(0);
	return arg;
}

GTEST(traced_hour, 4)
{
	pthread_t t;

	only_traced();
	weft_go(weft_sleep, HOUR);
	EQ(pthread_create(&t, NULL, look_and_leave, NULL), 0);
	weft_sleep(HOUR);
}

/*
 * A thread that is made later would have its calls counted; and strace stops a
 * thread for so long that the monitor may take its P, and want one more thread
 * to go on with. So there are as many as are ever kept.
 */
static void
make_all_threads(void)
{
	weft_stats s;

	for (int i = 0; i < 8; i++)
		weft_go(usleep, 20000);
	do {
		weft_sleep(100 * WEFT_MS);
		weft_stats_read(&s, sizeof s);
		/* the others, and those that are too many have left */
	} while (s.threads_idle + 1 < s.threads || s.threads_idle < 2 ||
	    s.threads_idle > s.procs);
}

GTEST(traced_second, 4)
{
	only_traced();
	make_all_threads();
	mark_begin();
	weft_sleep(WEFT_SECOND);
	mark_end();
}

TEST(an_hour_is_silent)
{
	EQ(trace("traced_hour"), 0);
}

/* It falls asleep, wakes, and perhaps wakes another; that is all. */
TEST(a_second_is_a_handful)
{
	long calls = trace("traced_second");

	OK(calls >= 0 && calls <= 30);
}

/* SPDX-License-Identifier: MIT */
/*
 * Timers off the beaten track: on threads that are not weft's, before the
 * runtime and after its end, and when main leaves them behind.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <weft.h>

#include "memory_limit.h"
#include "t.h"
#include "timer_expect.h"

static weft_waitgroup all;

static void
receive_due(weft_chan *c, int64_t due)
{
	int64_t v = weft_recv(c, int64_t);

	OK(v >= due && v <= weft_now());
	EQ(weft_chan_try_recv(c, &v), false);
}

/* ---- plain threads ---- */

/* Everything a thread can do with timers, on its own. */
static void
use_timers(unsigned seed)
{
	int64_t ns = rand_r(&seed) % 2000 * WEFT_US / 2;
	int64_t due = weft_deadline(ns);
	weft_timer *t = weft_timer_make(ns);
	weft_chan *c = weft_timer_chan(t);

	receive_due(c, due);
	EQ(weft_timer_reset(t, HOUR), false);
	EQ(weft_chan_recv_until(c, NULL, weft_deadline(ns)), false);
	due = weft_deadline(ns);
	EQ(weft_timer_reset(t, ns), true);
	receive_due(c, due);
	EQ(weft_timer_reset(t, ns), false);
	weft_sleep(ns);
	EQ(weft_timer_stop(t), true);
	EQ(weft_chan_try_recv(c, NULL), false);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);

	due = weft_deadline(ns);
	c = weft_after(ns);
	receive_due(c, due);
	weft_chan_release(c);
	weft_chan_release(weft_after(ns));

	due = weft_deadline(3 * (ns + 1));
	t = weft_ticker_make(ns + 1);
	for (int i = 0; i < 2; i++)
		weft_chan_recv(weft_timer_chan(t), NULL);
	OK(weft_recv(weft_timer_chan(t), int64_t) >= due);
	weft_timer_free(t);
}

/* ... and one whose goroutine ends. */
static void
use_after_func(unsigned seed)
{
	weft_waitgroup wg = {0};
	weft_timer *t;

	weft_waitgroup_add(&wg, 1);
	t = weft_after_func(rand_r(&seed) % WEFT_MS, run_and_tell, &wg);
	weft_waitgroup_wait(&wg);
	EQ(weft_timer_reset(t, HOUR), false);
	EQ(weft_timer_stop(t), true);
	weft_timer_free(t);
}

static void
work(unsigned seed)
{
	for (long i = 0; i < t_scale(40); i++) {
		use_timers(seed + (unsigned)i);
		use_after_func(seed + (unsigned)i);
	}
	weft_waitgroup_done(&all);
}

static void *
work_plainly(void *seed)
{
	EQ(weft_self_id(), 0);
	work((unsigned)(uintptr_t)seed);
	return NULL;
}

static void
threads_and_goroutines(int threads, int goroutines)
{
	pthread_t t[20];

	weft_waitgroup_add(&all, threads + goroutines);
	for (int i = 0; i < goroutines; i++)
		weft_go(work, (unsigned)i);
	for (uintptr_t i = 0; i < (uintptr_t)threads; i++)
		EQ(pthread_create(&t[i], NULL, work_plainly, (void *)i), 0);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	EQ(count(), (threads + goroutines) * t_scale(40));
}

/* Main waits, so every processor sleeps until a thread sets a timer. */
GTEST(one_thread, 1) { threads_and_goroutines(1, 0); }
GTEST(one_thread_on_four, 4) { threads_and_goroutines(1, 0); }
GTEST(many_threads, 2) { threads_and_goroutines(20, 0); }
GTEST(threads_among_goroutines, 1) { threads_and_goroutines(10, 20); }
GTEST(threads_among_goroutines_on_four, 4) { threads_and_goroutines(10, 20); }

/* A thread sets what a goroutine waits for, and the other way round. */
static weft_timer *shared;
static int waiting;

static void *
reset_to_soon(void *arg)
{
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		weft_yield();
	EQ(weft_timer_reset(shared, WEFT_MS), true);
	return arg;
}

GTEST(set_by_a_thread_for_a_goroutine, 2)
{
	for (int i = 0; i < 100; i++) {
		pthread_t t;

		shared = weft_timer_make(HOUR);
		EQ(pthread_create(&t, NULL, reset_to_soon, NULL), 0);
		__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
		weft_chan_recv(weft_timer_chan(shared), NULL);
		pthread_join(t, NULL);
		weft_timer_free(shared);
		__atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
	}
}

static void *
receive_plainly(void *arg)
{
	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	weft_chan_recv(weft_timer_chan(shared), NULL);
	__atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
	return arg;
}

GTEST(set_by_a_goroutine_for_a_thread, 2)
{
	for (int i = 0; i < 100; i++) {
		pthread_t t;

		shared = weft_timer_make(HOUR);
		weft_waitgroup_add(&all, 1);
		EQ(pthread_create(&t, NULL, receive_plainly, NULL), 0);
		while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
			weft_yield();
		EQ(weft_timer_reset(shared, i % 5 * 100 * WEFT_US), true);
		weft_waitgroup_wait(&all);
		pthread_join(t, NULL);
		weft_timer_free(shared);
	}
}

/* ---- main leaves them behind ---- */

static weft_timer *left[6];

static int
leave_pending(int argc, char **argv)
{
	(void)argv;
	left[0] = weft_after_func(20 * WEFT_MS, run, NULL);
	left[1] = weft_after_func(HOUR, run, NULL);
	left[2] = weft_timer_make(10 * WEFT_MS);
	left[3] = weft_timer_make(HOUR);
	left[4] = weft_ticker_make(WEFT_MS);
	left[5] = weft_ticker_make(HOUR);
	for (int i = 0; i < 100; i++) {
		weft_after(i * 100 * WEFT_US);
		weft_go(weft_sleep, i * 100 * WEFT_US);
	}
	weft_yield();
	return argc;
}

/* The end of main is the end, whatever was to come. */
TEST(main_leaves_timers)
{
	int early;

	EQ(weft_run(leave_pending, 5, NULL), 5);
	early = count();
	weft_sleep(50 * WEFT_MS);
	EQ(count(), early);
}

/* And they can still be stopped and freed. */
TEST(left_timers_are_freed)
{
	weft_chan *c;

	EQ(weft_run(leave_pending, 5, NULL), 5);
	c = weft_chan_retain(weft_timer_chan(left[2]));
	weft_sleep(20 * WEFT_MS);
	weft_timer_stop(left[1]);
	weft_timer_stop(left[3]);
	EQ(weft_timer_stop(left[3]), false);
	weft_timer_stop(left[5]);
	for (int i = 0; i < 6; i++)
		weft_timer_free(left[i]);
	EQ(weft_chan_try_recv(c, NULL), false);
	weft_chan_release(c);
}

/* ---- no runtime ---- */

/*
 * Nothing is promised of what such timers do, but none of it may crash or
 * hang. NULL would be an answer too.
 */
static void
handle(weft_timer *t, bool has_chan)
{
	if (!t)
		return;
	if (has_chan)
		weft_chan_try_recv(weft_timer_chan(t), NULL);
	weft_timer_stop(t);
	EQ(weft_timer_stop(t), false);
	weft_timer_reset(t, HOUR);
	weft_timer_reset(t, 1);
	weft_sleep(WEFT_MS);
	weft_timer_stop(t);
	if (has_chan)
		EQ(weft_chan_try_recv(weft_timer_chan(t), NULL), false);
	weft_timer_reset(t, HOUR);
	weft_timer_free(t);
}

static void
handle_all(void)
{
	weft_chan *c;

	for (int i = 0; i < 3; i++) {
		int64_t ns = i == 0 ? 0 : i == 1 ? WEFT_MS : HOUR;

		handle(weft_timer_make(ns), true);
		handle(weft_ticker_make(ns + 1), true);
		handle(weft_after_func(ns, run, NULL), false);
		c = weft_after(ns);
		weft_sleep(WEFT_MS);
		if (c) {
			weft_chan_try_recv(c, NULL);
			weft_chan_release(c);
		}
	}
	weft_timer_free(NULL);
}

static int
nothing(int argc, char **argv)
{
	(void)argv;
	weft_sleep(5 * WEFT_MS);
	return argc;
}

TEST(before_the_runtime)
{
	handle_all();
	EQ(count(), 0);
	EQ(weft_run(nothing, 3, NULL), 3);
}

TEST(after_the_runtime)
{
	EQ(weft_run(nothing, 3, NULL), 3);
	handle_all();
	EQ(count(), 0);
}

/* Waiting with a deadline needs no runtime. */
static void
wait_with_deadline(void)
{
	weft_chan *c = weft_chan_make(8, 0);
	weft_case cases[] = {
		WEFT_CASE_RECV(c, NULL), WEFT_CASE_SEND_FROM(c, NULL)
	};

	for (int i = 0; i < 20; i++) {
		int64_t when = weft_deadline(i * 100 * WEFT_US);

		EQ(weft_chan_recv_until(c, NULL, when), false);
		OK(weft_now() >= when);
		when = weft_deadline(i * 100 * WEFT_US);
		EQ(weft_chan_send_until(c, NULL, when), false);
		OK(weft_now() >= when);
		when = weft_deadline(i * 100 * WEFT_US);
		EQ(weft_select_until(cases, 2, when), -ETIMEDOUT);
		OK(weft_now() >= when);
	}
	weft_chan_release(c);
}

TEST(deadlines_before_and_after_the_runtime)
{
	wait_with_deadline();
	EQ(weft_run(nothing, 3, NULL), 3);
	wait_with_deadline();
}

/* Set early, and still there when the runtime comes. */
static weft_timer *early[2];

static int
find_them(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 2; i++) {
		EQ(weft_timer_stop(early[i]), true);
		weft_timer_reset(early[i], WEFT_MS);
	}
	weft_chan_recv(weft_timer_chan(early[0]), NULL);
	while (count() == 0)
		weft_yield();
	for (int i = 0; i < 2; i++)
		weft_timer_free(early[i]);
	return argc;
}

TEST(made_early_used_late)
{
	early[0] = weft_timer_make(HOUR);
	early[1] = weft_after_func(HOUR, run, NULL);
	if (!early[0] || !early[1])
		t_skip("no timers without a runtime");
	EQ(weft_run(find_them, 4, NULL), 4);
	EQ(count(), 1);
}

/* ---- no memory ---- */

/* NULL sooner or later, then all goes on, and what there is works. */
GTEST(memory_refused, 1)
{
	enum { MANY = 1000000 };
	weft_timer **t = malloc(MANY * sizeof *t);
	int n = 0;

	need_memory_limit();
	memory_limit(0);
	while (n < MANY && (t[n] = weft_after_func(HOUR, run, NULL)))
		n++;
	memory_unlimit();
	OK(n < MANY);
	for (int i = 0; i < n; i++)
		OK(weft_timer_reset(t[i], i % 100 * WEFT_US));
	while (count() < n)
		weft_sleep(WEFT_MS);
	for (int i = 0; i < n; i++)
		weft_timer_free(t[i]);
	free(t);
}

GTEST(memory_refused_for_channels, 1)
{
	enum { MANY = 1000000 };
	weft_timer **t = malloc(MANY * sizeof *t);
	weft_chan *c;
	int n = 0;

	need_memory_limit();
	memory_limit(0);
	while (n < MANY && (t[n] = n % 2 ? weft_timer_make(HOUR) :
	    weft_ticker_make(HOUR)))
		n++;
	memory_unlimit();
	OK(n < MANY);
	c = weft_after(0);
	weft_chan_recv(c, NULL);
	weft_chan_release(c);
	for (int i = 0; i < n; i++)
		weft_timer_free(t[i]);
	free(t);
}

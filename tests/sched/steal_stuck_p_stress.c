/* SPDX-License-Identifier: MIT */
/*
 * One P is stuck in a goroutine that does not come back while others are on
 * its queue; the other P only yields. They must run all the same.
 */
#include <pthread.h>
#include <sched.h>

#include <weft.h>

#include "t.h"

static int done;

static void
finish(void)
{
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void
hog(int n)
{
	for (int i = 0; i < n; i++)
		weft_go(finish);
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) < n)
		sched_yield();
}

GTEST(yielding_does_not_starve_them, 2)
{
	for (long i = 0; i < t_scale(500); i++) {
		done = 0;
		weft_go(hog, 3);
		while (__atomic_load_n(&done, __ATOMIC_RELAXED) < 3)
			weft_yield();
		while (weft_goroutines() > 1)
			weft_yield();
	}
}

static int hogging;

static void
hog_until_done(void)
{
	weft_go(finish);
	__atomic_store_n(&hogging, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		sched_yield();
}

static void
yield_until_done(void)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		weft_yield();
}

/* Two that yield to each other are never alone, and must not starve it. */
GTEST(nor_do_two, 2)
{
	for (long i = 0; i < t_scale(200); i++) {
		done = hogging = 0;
		weft_go(hog_until_done);
		while (!__atomic_load_n(&hogging, __ATOMIC_ACQUIRE))
			sched_yield();
		weft_go(yield_until_done);
		yield_until_done();
		while (weft_goroutines() > 1)
			weft_yield();
	}
}

/* ---- many yielders, long queues, and a thread that keeps feeding ---- */

enum { YIELDERS = 950, AHEAD = 30000 };
static long runs[YIELDERS], fed, eaten;
static int stop;

static void
yielder(int nr)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&runs[nr], 1, __ATOMIC_RELAXED);
		weft_yield();
	}
}

static void
eat(void)
{
	__atomic_add_fetch(&eaten, 1, __ATOMIC_RELAXED);
}

/*
 * Not without end: where a goroutine costs much more to start than to spawn,
 * as under ThreadSanitizer, they would still be eating after a minute.
 */
static void *
feed(void *arg)
{
	long ahead = t_scale(AHEAD);

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (fed - __atomic_load_n(&eaten, __ATOMIC_RELAXED) < ahead)
			fed += weft_try_go(eat) > 0;
		for (volatile int k = 0; k < 20000; k++)
			;
	}
	return arg;
}

/* Rings that are more than half full must not be stolen into. */
GTEST(none_is_lost_or_run_twice, 4)
{
	int n = (int)t_scale(YIELDERS);
	pthread_t t;

	for (int i = 0; i < n; i++)
		weft_go(yielder, i);
	pthread_create(&t, NULL, feed, NULL);
	while (t_more(2))
		weft_yield();
	for (int i = 0; i < n; i++)
		while (__atomic_load_n(&runs[i], __ATOMIC_RELAXED) == 0)
			weft_yield();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	while (weft_goroutines() > 1 ||
	    __atomic_load_n(&eaten, __ATOMIC_RELAXED) == 0)
		weft_yield();
	pthread_join(t, NULL);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(eaten, fed);
}

/* SPDX-License-Identifier: MIT */
/*
 * Setting what is set already: a reset of an event sees what came before each
 * set, also before one that changed nothing. And a caller that finds a timer
 * stopped may set it anew, and comes after all that the last one did. Mostly
 * for ThreadSanitizer: some machines keep an order that was not asked for.
 */
#include "t.h"

#include <pthread.h>
#include <stdatomic.h>
#include <weft.h>

/* ---- events ---- */

static weft_event event;
static long data;		/* handed over by the event alone */
static _Atomic long turn, seen;

static long
look(_Atomic long *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static void *
set_it(void *arg)
{
	for (long i = 1, now; (now = turn) >= 0; ) {
		if (now < i)
			continue;
		data = i;
		weft_event_set(&event);
		atomic_store_explicit(&seen, i++, memory_order_relaxed);
	}
	return arg;
}

/* It is set all the time. */
TEST(each_set_is_seen_by_the_reset)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, set_it, NULL), 0);
	for (long i = 1; t_more(0.3); i++) {
		weft_event_set(&event);
		turn = i;
		while (look(&seen) < i)
			;
		weft_event_reset(&event);
		EQ(data, i);
		OK(!weft_event_is_set(&event));
	}
	turn = -1;
	EQ(pthread_join(t, NULL), 0);
}

/* ---- timers ---- */

static weft_timer *timer;
static atomic_bool stop;

static void
never(void *arg)
{
	(void)arg;
	OK(0);
}

static void *
stop_it(void *arg)
{
	while (!stop)
		weft_timer_stop(timer);
	return arg;
}

static void
reset_it(weft_waitgroup *wg)
{
	while (!stop) {
		weft_timer_reset(timer, 3600 * WEFT_SECOND);
		weft_yield();
	}
	weft_waitgroup_done(wg);
}

GTEST(stopped_and_set_anew, 2)
{
	weft_waitgroup wg = {0};
	pthread_t t;

	timer = weft_after_func(3600 * WEFT_SECOND, never, NULL);
	EQ(pthread_create(&t, NULL, stop_it, NULL), 0);
	weft_waitgroup_add(&wg, 3);
	for (int i = 0; i < 3; i++)
		weft_go(reset_it, &wg);
	weft_sleep(500 * WEFT_MS);
	stop = true;
	weft_waitgroup_wait(&wg);
	EQ(pthread_join(t, NULL), 0);
	weft_timer_free(timer);
}

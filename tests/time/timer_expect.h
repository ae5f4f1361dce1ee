/* SPDX-License-Identifier: MIT */
/*
 * For tests of timers: channels in which nothing is to be, functions that
 * count how often they were called, and the times that all are tried with.
 */
#ifndef TIMER_EXPECT_H
#define TIMER_EXPECT_H

#include <weft.h>

#include "t.h"

#define HOUR (3600 * WEFT_SECOND)

/* ---- channels ---- */

static inline void
nothing_there(weft_chan *c)
{
	int64_t v = 77;

	EQ(weft_chan_try_recv(c, &v), false);
	EQ(weft_chan_len(c), 0);
	EQ(weft_chan_cap(c), 0);
}

/* Nor does anything come. */
static inline void
nothing_comes(weft_chan *c, int64_t ns)
{
	nothing_there(c);
	EQ(weft_chan_recv_until(c, NULL, weft_deadline(ns)), false);
	nothing_there(c);
}

/* Times at or beyond the end of the clock, at which nothing comes. */
static const int64_t never_times[] = { INT64_MAX, INT64_MAX - 1,
    INT64_MAX / 2, HOUR };
enum { NEVER_TIMES = sizeof never_times / sizeof never_times[0] };

/* A timer or ticker made for one of these, and set to another. */
static inline weft_timer *
make_for_never(weft_timer *(*make)(int64_t ns), int i, int64_t wait)
{
	weft_timer *t = make(never_times[i]);

	nothing_comes(weft_timer_chan(t), wait);
	EQ(weft_timer_reset(t, never_times[NEVER_TIMES - 1 - i]), true);
	nothing_comes(weft_timer_chan(t), wait);
	return t;
}

/* ---- functions ---- */

static int runs;		/* atomic */

static inline int
count(void)
{
	return __atomic_load_n(&runs, __ATOMIC_ACQUIRE);
}

/* On a goroutine. */
static inline void
run(void *arg)
{
	(void)arg;
	OK(weft_self_id() > 0);
	__atomic_add_fetch(&runs, 1, __ATOMIC_ACQ_REL);
}

static inline void
run_and_tell(void *wg)
{
	run(NULL);
	weft_waitgroup_done(wg);
}

/* ---- other goroutines ---- */

/* Counts its turns until *turns is negative. */
static inline void
take_turns(int *turns, weft_waitgroup *wg)
{
	while (__atomic_load_n(turns, __ATOMIC_RELAXED) >= 0) {
		__atomic_add_fetch(turns, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
	weft_waitgroup_done(wg);
}

/* Answers until there are no more requests, and releases both channels. */
static inline void
answer_requests(weft_chan *request, weft_chan *reply)
{
	while (weft_chan_recv(request, NULL))
		weft_chan_send(reply, NULL);
	weft_chan_release(request);
	weft_chan_release(reply);
}

/* ---- times ---- */

/* Past ones, none, and a few that are yet to come. */
static inline void
for_short_times(void (*fn)(int64_t ns))
{
	static const int64_t some[] = { 0, -1, INT64_MIN, 1, 50 * WEFT_US,
	    WEFT_MS, 20 * WEFT_MS };

	for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++)
		fn(some[i]);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Sending and receiving with a time limit: it is never up early, a limit in
 * the past still takes what is there, and a call that gave up has left the
 * queue as if it had never been there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "flag.h"
#include "plain_thread.h"
#include "t.h"

static const int64_t past[] = { INT64_MIN, -1, 1 };
enum { PAST = sizeof past / sizeof *past };

static weft_chan *
full_chan(size_t cap)
{
	weft_chan *c = weft_chan_make(sizeof(int), cap);

	for (int i = 0; i < (int)cap; i++)
		EQ(weft_chan_try_send(c, &i), true);
	return c;
}

/* ---- a limit in the past ---- */

static void
empty_in_the_past(int64_t when)
{
	for (size_t cap = 0; cap < 4; cap++) {
		weft_chan *c = weft_chan_make(sizeof(int), cap);
		int v = 7;

		EQ(weft_chan_recv_until(c, &v, when), false);
		EQ(v, 7);
		EQ(weft_chan_send_until(c, &v, when), cap > 0);
		EQ(weft_chan_len(c), cap ? 1 : 0);
		if (cap)
			EQ(weft_chan_recv_until(c, &v, when), true);
		weft_chan_release(c);

		c = full_chan(cap);
		EQ(weft_chan_send_until(c, &v, when), false);
		for (int i = 0; i < (int)cap; i++) {
			EQ(weft_chan_recv_until(c, &v, when), true);
			EQ(v, i);
		}
		EQ(weft_chan_recv_until(c, &v, when), false);
		OK(!weft_chan_is_closed(c));
		weft_chan_close(c);
		v = 7;
		OK(weft_chan_is_closed(c));
		EQ(weft_chan_recv_until(c, &v, when), false);
		EQ(v, 0);
		weft_chan_release(c);
	}
}

GTEST(in_the_past, 1)
{
	for (int i = 0; i < PAST; i++)
		empty_in_the_past(past[i]);
	empty_in_the_past(weft_now());
	empty_in_the_past(weft_now() - 1);
}

TEST(in_the_past_without_a_runtime)
{
	for (int i = 0; i < PAST; i++)
		empty_in_the_past(past[i]);
}

/* ---- never early ---- */

static void
check_limits(weft_chan *empty, weft_chan *full, int64_t ns)
{
	int64_t when = weft_deadline(ns);
	int v = 7;

	EQ(weft_chan_recv_until(empty, &v, when), false);
	OK(weft_now() >= when);
	EQ(v, 7);
	when = weft_deadline(ns);
	EQ(weft_chan_send_until(full, &v, when), false);
	OK(weft_now() >= when);
	/* no waiter is in their queues any more */
	EQ(weft_chan_try_send(weft_chan_cap(empty) ? full : empty, &v),
	    false);
	EQ(weft_chan_try_recv(empty, &v), false);
}

static void
limits(void)
{
	for (int64_t ns = 0; ns < 8 * WEFT_MS; ns = ns * 3 + 1) {
		weft_chan *zero = weft_chan_make(sizeof(int), 0);
		weft_chan *two = weft_chan_make(sizeof(int), 2);
		weft_chan *full = full_chan(2);

		check_limits(zero, zero, ns);
		check_limits(two, full, ns);
		EQ(weft_chan_len(two), 0);
		EQ(weft_chan_len(full), 2);
		check_limits(NULL, NULL, ns);
		/* releasing is fatal if anybody still waits */
		weft_chan_release(zero);
		weft_chan_release(two);
		weft_chan_release(full);
	}
}

GTEST(never_early_on_1, 1) { limits(); }
GTEST(never_early_on_4, 4) { limits(); }

GTEST(never_early_on_a_thread, 1) { thread_call_yielding(limits); }

TEST(never_early_without_a_runtime)
{
	limits();
}

/* Many at once, each with its own. */
static void
sleeper(weft_chan *c, int64_t ns, weft_waitgroup *ended)
{
	int64_t when = weft_deadline(ns);

	EQ(weft_chan_recv_until(c, NULL, when), false);
	OK(weft_now() >= when);
	weft_waitgroup_done(ended);
}

GTEST(many_at_once, 4)
{
	weft_chan *c = weft_chan_make(sizeof(int), 3);
	weft_waitgroup ended = {0};
	int n = (int)t_scale(5000);

	weft_waitgroup_add(&ended, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(sleeper, c, (i * 7919L % n) * 10 * WEFT_US,
		    &ended) > 0);
	weft_waitgroup_wait(&ended);
	weft_chan_release(c);
}

/* ---- in time ---- */

struct party {
	weft_chan *c;
	int64_t when;
	int value;
	bool result, started, ended;
};

static void
receives(struct party *p)
{
	raise_flag(&p->started);
	p->result = weft_chan_recv_until(p->c, &p->value, p->when);
	raise_flag(&p->ended);
}

static void
sends(struct party *p)
{
	raise_flag(&p->started);
	p->result = weft_chan_send_until(p->c, &p->value, p->when);
	raise_flag(&p->ended);
}

static void
start(void (*fn)(struct party *), struct party *p)
{
	OK(weft_try_go(fn, p) > 0);
	until_up(&p->started);
	for (int i = 0; i < 30; i++)
		weft_yield();
	OK(!__atomic_load_n(&p->ended, __ATOMIC_ACQUIRE));
}

static void
in_time(int64_t when)
{
	for (size_t cap = 0; cap < 3; cap++) {
		struct party p = {
			.c = weft_chan_make(sizeof(int), cap), .when = when
		};
		struct party q = {
			.c = full_chan(cap), .when = when, .value = 8
		};
		int v = 5;

		start(receives, &p);
		weft_chan_send(p.c, &v);
		until_up(&p.ended);
		EQ(p.result, 1);
		EQ(p.value, 5);
		weft_chan_release(p.c);

		start(sends, &q);
		for (size_t i = 0; i <= cap; i++)
			OK(weft_chan_recv(q.c, &v));
		EQ(v, 8);
		until_up(&q.ended);
		EQ(q.result, 1);
		weft_chan_release(q.c);
	}
}

GTEST(woken_in_time, 1)
{
	in_time(0);		/* no limit */
	in_time(WEFT_NEVER);
	in_time(WEFT_NEVER - 1);
	in_time(weft_deadline(WEFT_SECOND * 3600));
}

GTEST(woken_in_time_on_4, 4)
{
	in_time(WEFT_NEVER);
	in_time(weft_deadline(WEFT_SECOND * 3600));
}

GTEST(closed_in_time, 1)
{
	struct party p = {
		.c = weft_chan_make(sizeof(int), 0), .value = 3,
		.when = weft_deadline(WEFT_SECOND * 3600)
	};

	start(receives, &p);
	weft_chan_close(p.c);
	until_up(&p.ended);
	EQ(p.result, 0);
	EQ(p.value, 0);
	weft_chan_release(p.c);
}

/* ---- a waiter that gives up leaves the others in order ---- */

enum { QUEUE = 9 };

static void
leave_queue(void (*fn)(struct party *), bool sender)
{
	struct party p[QUEUE] = {0};
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int v = 0;

	for (int i = 0; i < QUEUE; i++) {
		p[i].c = c;
		p[i].value = i;
		/* first, last and some in the middle */
		p[i].when = i % 4 ? WEFT_NEVER : weft_deadline(2 * WEFT_MS);
		OK(weft_try_go(fn, &p[i]) > 0);
		until_up(&p[i].started);
	}
	for (int i = 0; i < QUEUE; i += 4) {
		until_up(&p[i].ended);
		EQ(p[i].result, false);
		EQ(p[i].value, i);
	}
	for (int i = 0; i < QUEUE; i++) {
		if (i % 4 == 0)
			continue;
		v = i + 100;
		EQ(sender ? weft_chan_try_recv(c, &v) :
		    weft_chan_try_send(c, &v), true);
		until_up(&p[i].ended);
		EQ(p[i].result, 1);
		EQ(sender ? v : p[i].value, sender ? i : i + 100);
	}
	EQ(weft_chan_try_send(c, &v), false);
	EQ(weft_chan_try_recv(c, &v), false);
	weft_chan_release(c);
}

GTEST(others_stay_in_order, 1)
{
	leave_queue(receives, false);
	leave_queue(sends, true);
}

/*
 * A sleep that is all the program does is no deadlock, with or without other
 * goroutines that wait for ever.
 */
GTEST(is_no_deadlock, 1)
{
	struct party p = { .c = weft_chan_make(4, 0), .when = WEFT_NEVER };

	EQ(weft_chan_recv_until(NULL, NULL, weft_deadline(WEFT_MS)), false);
	start(receives, &p);
	EQ(weft_chan_send_until(NULL, NULL, weft_deadline(WEFT_MS)), false);
	weft_chan_send(p.c, NULL);
	until_up(&p.ended);
	weft_chan_release(p.c);
}

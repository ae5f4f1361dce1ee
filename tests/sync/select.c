/* SPDX-License-Identifier: MIT */
/*
 * weft_select: each kind of case, ready and waited for; the same channel in
 * several cases; NULL channels; defaults. And that afterwards no waiter is left
 * in the queue of a channel that was not chosen: its release would be fatal,
 * and the waiter could be given a value that no goroutine takes.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "flag.h"
#include "plain_thread.h"
#include "t.h"

enum { FEW_YIELDS = 30 };

/* No goroutine waits on an unbuffered channel. */
static void
check_no_waiter(weft_chan *c)
{
	EQ(weft_chan_try_send(c, NULL), false);
	EQ(weft_chan_try_recv(c, NULL), false);
}

static weft_chan *
full_chan(size_t cap, int first)
{
	weft_chan *c = weft_chan_make(sizeof(int), cap);

	for (int i = 0; i < (int)cap; i++)
		weft_send(c, first + i);
	return c;
}

/* ---- ready at once ---- */

GTEST(one_receive, 1)
{
	weft_chan *c = full_chan(2, 5);
	int v = 0;
	weft_case k = WEFT_CASE_RECV(c, &v);

	EQ(weft_select(&k, 1), 0);
	OK(k.ok);
	EQ(v, 5);
	weft_chan_close(c);
	k.ok = false;
	EQ(weft_select(&k, 1), 0);
	OK(k.ok);
	EQ(v, 6);
	for (int i = 0; i < 3; i++) {
		v = 9;
		k.ok = true;
		EQ(weft_select(&k, 1), 0);
		OK(!k.ok);
		EQ(v, 0);
	}
	weft_chan_release(c);
}

GTEST(one_send, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 2);
	int v = 5;
	weft_case k[] = { WEFT_CASE_SEND_FROM(c, &v), WEFT_CASE_DEFAULT };

	EQ(weft_select(k, 1), 0);
	v = 6;
	EQ(weft_select(k, 2), 0);
	v = 7;
	EQ(weft_select(k, 2), 1);
	EQ(weft_recv(c, int), 5);
	EQ(weft_recv(c, int), 6);
	EQ(weft_chan_len(c), 0);
	weft_chan_release(c);
}

/* Only the one that is ready is chosen, wherever it stands. */
GTEST(the_ready_one, 1)
{
	enum { N = 20 };

	for (int n = 1; n <= N; n++)
		for (int at = 0; at < n; at++) {
			weft_case k[N];
			weft_chan *c[N];
			int v[N];

			for (int i = 0; i < n; i++) {
				v[i] = 100 + i;
				c[i] = i == at ? full_chan(1, i) :
				    weft_chan_make(sizeof(int), 0);
				k[i] = i != at && i % 2 ?
				    WEFT_CASE_SEND_FROM(c[i], &v[i]) :
				    WEFT_CASE_RECV(c[i], &v[i]);
			}
			EQ(weft_select(k, (size_t)n), at);
			OK(k[at].ok);
			for (int i = 0; i < n; i++) {
				EQ(v[i], i == at ? at : 100 + i);
				EQ(weft_chan_len(c[i]), 0);
				weft_chan_release(c[i]);
			}
		}
}

GTEST(null_elements, 1)
{
	weft_chan *c = full_chan(1, 5);
	weft_case get[] = { WEFT_CASE_RECV(c, NULL), WEFT_CASE_DEFAULT };
	weft_case put[] = { WEFT_CASE_SEND_FROM(c, NULL), WEFT_CASE_DEFAULT };

	EQ(weft_select(get, 2), 0);
	EQ(weft_select(get, 2), 1);
	EQ(weft_select(put, 2), 0);
	EQ(weft_select(put, 2), 1);
	EQ(weft_recv(c, int), 0);
	weft_chan_release(c);
}

/* ---- waited for ---- */

struct chooser {
	weft_case *k;
	size_t n;
	int64_t when;
	int result;
	bool ordered, started, ended;
};

static void
choose(struct chooser *s)
{
	raise_flag(&s->started);
	if (s->when)
		s->result = s->ordered ?
		    weft_select_ordered_until(s->k, s->n, s->when) :
		    weft_select_until(s->k, s->n, s->when);
	else
		s->result = s->ordered ? weft_select_ordered(s->k, s->n) :
		    weft_select(s->k, s->n);
	raise_flag(&s->ended);
}

/* On return it waits (on one P), and has been seen to. */
static void
start(struct chooser *s)
{
	OK(weft_try_go(choose, s) > 0);
	until_up(&s->started);
	for (int i = 0; i < FEW_YIELDS; i++)
		weft_yield();
	OK(!__atomic_load_n(&s->ended, __ATOMIC_ACQUIRE));
}

enum how { BY_SEND, BY_RECV, BY_CLOSE, HOWS };

/*
 * n cases, receives at even and sends at odd places, are waited for; the one
 * at `at` is made possible. `form`: bit 0 ordered, bit 1 with a time limit.
 */
static void
wake_at(int n, int at, enum how how, int form)
{
	weft_case *k = calloc((size_t)n, sizeof *k);
	weft_chan **c = calloc((size_t)n, sizeof *c);
	int *v = calloc((size_t)n, sizeof *v), got = 77;
	struct chooser s = {
		.k = k, .n = (size_t)n, .ordered = form & 1,
		.when = form & 2 ? weft_deadline(WEFT_SECOND * 3600) : 0
	};

	for (int i = 0; i < n; i++) {
		v[i] = 100 + i;
		c[i] = weft_chan_make(sizeof(int), 0);
		k[i] = how == BY_RECV ? WEFT_CASE_SEND_FROM(c[i], &v[i]) :
		    WEFT_CASE_RECV(c[i], &v[i]);
	}
	start(&s);
	if (how == BY_SEND)
		weft_send(c[at], 5);
	else if (how == BY_RECV)
		OK(weft_recv_ok(c[at], &got));
	else
		weft_chan_close(c[at]);
	until_up(&s.ended);
	EQ(s.result, at);
	EQ(got, how == BY_RECV ? 100 + at : 77);
	for (int i = 0; i < n; i++) {
		int want = how == BY_SEND ? 5 : how == BY_CLOSE ? 0 : 100 + i;

		EQ(v[i], i == at ? want : 100 + i);
		if (how != BY_RECV && i == at)
			EQ(k[i].ok, how == BY_SEND);
		if (how != BY_CLOSE || i != at)
			check_no_waiter(c[i]);
		weft_chan_release(c[i]);
	}
	free(k);
	free(c);
	free(v);
}

static void
wake_everywhere(int form)
{
	static const int sizes[] = { 1, 2, 3, 5, 15, 16, 17, 18, 33, 70 };

	for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
		for (int at = 0; at < sizes[i]; at++)
			for (enum how how = 0; how < HOWS; how++)
				wake_at(sizes[i], at, how, form);
}

GTEST(woken_at_every_place, 1) { wake_everywhere(0); }
GTEST(woken_at_every_place_ordered, 1) { wake_everywhere(1); }
GTEST(woken_at_every_place_in_time, 1) { wake_everywhere(2); }
GTEST(woken_at_every_place_on_4, 4) { wake_everywhere(0); wake_everywhere(3); }

/* Two selects meet each other, both waiting for more than that. */
GTEST(select_meets_select, 1)
{
	weft_chan *c[3];
	int a = 1, b = 2;

	for (int i = 0; i < 3; i++)
		c[i] = weft_chan_make(sizeof(int), 0);
	for (int at = 0; at < 3; at++) {
		weft_case k[] = {
			WEFT_CASE_SEND_FROM(c[0], &a),
			WEFT_CASE_SEND_FROM(c[1], &a),
			WEFT_CASE_SEND_FROM(c[2], &a)
		};
		weft_case other[] = { WEFT_CASE_RECV(c[at], &b),
			WEFT_CASE_RECV(NULL, &b) };
		struct chooser s = { .k = k, .n = 3 };

		start(&s);
		b = 2;
		EQ(weft_select(other, 2), 0);
		EQ(b, 1);
		until_up(&s.ended);
		EQ(s.result, at);
		for (int i = 0; i < 3; i++)
			check_no_waiter(c[i]);
	}
	for (int i = 0; i < 3; i++)
		weft_chan_release(c[i]);
}

/* ---- the same channel in several cases ---- */

/* A send and a receive of one select never make a pair. */
GTEST(not_with_itself, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int a = 1, b = 2;
	weft_case k[] = {
		WEFT_CASE_SEND_FROM(c, &a), WEFT_CASE_RECV(c, &b),
		WEFT_CASE_DEFAULT
	};
	weft_case r[] = {
		WEFT_CASE_RECV(c, &b), WEFT_CASE_SEND_FROM(c, &a),
		WEFT_CASE_SEND_FROM(c, &a),
		WEFT_CASE_RECV(c, &b)
	};

	for (int i = 0; i < 100; i++)
		EQ(weft_select(k, 3), 2);
	EQ(weft_select_ordered(k, 3), 2);
	EQ(weft_select_until(k, 2, 1), -ETIMEDOUT);
	EQ(weft_select_until(k, 2, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	EQ(weft_select_until(r, 4, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	EQ(weft_select_ordered_until(r, 4, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	EQ(a, 1);
	EQ(b, 2);
	check_no_waiter(c);
	weft_chan_release(c);
}

struct self {
	weft_chan *c;
	weft_waitgroup ended;
	long n, sent, received;
};

static void
both_ways(struct self *s, int me)
{
	long sent = 0;

	for (long i = 0; i < s->n; i++) {
		int v = -1, out = me;
		weft_case send = WEFT_CASE_SEND_FROM(s->c, &out);
		weft_case recv = WEFT_CASE_RECV(s->c, &v);
		weft_case k[] = { me ? send : recv, me ? recv : send };

		if (weft_select(k, 2) == (me ? 0 : 1)) {
			sent++;
		} else {
			OK(v == 0 || v == 1);
			if (weft_chan_cap(s->c) == 0)
				EQ(v, !me);
		}
	}
	__atomic_add_fetch(&s->sent, sent, __ATOMIC_RELAXED);
	__atomic_add_fetch(&s->received, s->n - sent, __ATOMIC_RELAXED);
	weft_waitgroup_done(&s->ended);
}

/* With no room each meets only the other one, so both come to their end. */
static void
selves(size_t cap)
{
	struct self s = {
		.c = weft_chan_make(sizeof(int), cap), .n = t_scale(20000)
	};

	weft_waitgroup_add(&s.ended, 2);
	OK(weft_try_go(both_ways, &s, 0) > 0);
	OK(weft_try_go(both_ways, &s, 1) > 0);
	weft_waitgroup_wait(&s.ended);
	EQ(s.sent, s.received + (long)weft_chan_len(s.c));
	weft_chan_release(s.c);
}

GTEST(two_selves_on_1, 1) { selves(0); selves(1); selves(10); }
GTEST(two_selves_on_2, 2) { selves(0); selves(1); selves(10); }
GTEST(two_selves_on_4, 4) { selves(0); selves(1); selves(10); }

/* Twice as a receive: one value, into one of the places. */
static void
twice_receive(bool waits)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	weft_chan *d = weft_chan_make(sizeof(int), 0);
	int v[3] = { 10, 20, 30 };
	weft_case k[] = {
		WEFT_CASE_RECV(c, &v[0]), WEFT_CASE_RECV(d, &v[2]),
		WEFT_CASE_RECV(c, &v[1])
	};
	struct chooser s = { .k = k, .n = 3 };
	int i;

	if (waits)
		start(&s);
	weft_send(c, 5);
	if (waits)
		until_up(&s.ended);
	i = waits ? s.result : weft_select(k, 3);
	OK(i == 0 || i == 2);
	OK(k[i].ok);
	EQ(v[0], i == 0 ? 5 : 10);
	EQ(v[1], i == 2 ? 5 : 20);
	EQ(v[2], 30);
	EQ(weft_chan_try_recv(c, NULL), false);
	check_no_waiter(d);
	/* no waiter is left: this stays in it */
	weft_send(c, 6);
	EQ(weft_chan_len(c), 1);
	weft_chan_release(c);
	weft_chan_release(d);
}

GTEST(twice_to_receive, 1)
{
	for (int i = 0; i < 50; i++) {
		twice_receive(false);
		twice_receive(true);
	}
}

static void
twice_send(bool waits)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int v[2] = { 10, 20 }, got = 0;
	weft_case k[] = {
		WEFT_CASE_SEND_FROM(c, &v[0]), WEFT_CASE_SEND_FROM(c, &v[1])
	};
	struct chooser s = { .k = k, .n = 2 };

	if (waits) {
		start(&s);
		got = weft_recv(c, int);
		until_up(&s.ended);
	} else {
		OK(weft_try_go(choose, &s) > 0);
		got = weft_recv(c, int);
		until_up(&s.ended);
	}
	OK(s.result == 0 || s.result == 1);
	EQ(got, v[s.result]);
	check_no_waiter(c);
	weft_chan_release(c);
}

GTEST(twice_to_send, 1)
{
	for (int i = 0; i < 50; i++) {
		twice_send(false);
		twice_send(true);
	}
}

/* As a send and as a receive, with room: both can go on, half full. */
GTEST(both_ways_with_room, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 2);
	int out = 7, in, sent = 1, received = 0;

	weft_send(c, 7);
	for (int i = 0; i < 1000; i++) {
		weft_case k[] = {
			WEFT_CASE_SEND_FROM(c, &out), WEFT_CASE_RECV(c, &in),
			WEFT_CASE_DEFAULT
		};
		size_t before = weft_chan_len(c);
		int r = weft_select(k, 3);

		OK(r == 0 || r == 1);
		OK(r == 0 ? before < 2 : before > 0);
		sent += r == 0;
		received += r == 1;
		EQ(weft_chan_len(c), sent - received);
	}
	OK(sent > 100);
	weft_chan_release(c);
}

/* ---- NULL channels, defaults ---- */

GTEST(null_is_never_ready, 1)
{
	weft_chan *c = full_chan(1, 3);
	int v = 0;
	weft_case k[] = {
		WEFT_CASE_RECV(NULL, &v), WEFT_CASE_SEND_FROM(NULL, &v),
		WEFT_CASE_RECV(c, &v),
		WEFT_CASE_RECV(NULL, &v), WEFT_CASE_DEFAULT
	};
	weft_case *only = k;

	EQ(weft_select(k, 5), 2);
	EQ(v, 3);
	EQ(weft_select(k, 5), 4);
	k[2].chan = NULL;
	EQ(weft_select(k, 5), 4);
	EQ(weft_select_ordered(k, 5), 4);
	EQ(weft_select_until(only, 4, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	weft_chan_release(c);
}

/* NULL cases do not hinder the others from waking it. */
GTEST(null_beside_one_that_wakes, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int v = 0;
	weft_case k[] = {
		WEFT_CASE_RECV(NULL, &v), WEFT_CASE_RECV(c, &v),
		WEFT_CASE_SEND_FROM(NULL, &v)
	};
	struct chooser s = { .k = k, .n = 3 };

	start(&s);
	weft_send(c, 4);
	until_up(&s.ended);
	EQ(s.result, 1);
	EQ(v, 4);
	weft_chan_release(c);
}

/* It is chosen by its index, and last, wherever it stands. */
GTEST(default_anywhere, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	int v = 1;

	for (int at = 0; at < 3; at++) {
		weft_case k[3] = {
			WEFT_CASE_RECV(c, &v), WEFT_CASE_RECV(c, &v),
			WEFT_CASE_RECV(c, &v)
		};
		int i;

		k[at] = WEFT_CASE_DEFAULT;
		EQ(weft_select(k, 3), at);
		EQ(weft_select_ordered(k, 3), at);
		EQ(weft_select_until(k, 3, WEFT_NEVER), at);
		EQ(weft_select_ordered_until(k, 3, 1), at);
		for (int form = 0; form < 20; form++) {
			weft_send(c, 8);
			i = form % 2 ? weft_select_ordered(k, 3) :
			    weft_select(k, 3);
			OK(i >= 0 && i < 3 && i != at);
			EQ(v, 8);
		}
	}
	weft_chan_release(c);
}

GTEST(default_alone, 1)
{
	weft_case k = WEFT_CASE_DEFAULT;

	EQ(weft_select(&k, 1), 0);
	EQ(weft_select_ordered(&k, 1), 0);
	EQ(weft_select_until(&k, 1, weft_deadline(WEFT_SECOND)), 0);
}

/* ---- from a plain thread ---- */

PLAIN_THREAD(choose_plainly, choose(arg))

GTEST(a_thread_waits, 1)
{
	weft_chan *c[3];
	int v[3];

	for (int i = 0; i < 3; i++)
		c[i] = weft_chan_make(sizeof(int), 0);
	for (int at = 0; at < 3; at++) {
		weft_case k[] = {
			WEFT_CASE_RECV(c[0], &v[0]),
			WEFT_CASE_RECV(c[1], &v[1]),
			WEFT_CASE_RECV(c[2], &v[2])
		};
		struct chooser s = { .k = k, .n = 3 };
		pthread_t t;

		EQ(pthread_create(&t, NULL, choose_plainly, &s), 0);
		until_up(&s.started);
		weft_send(c[at], 6);
		until_up(&s.ended);
		EQ(s.result, at);
		EQ(v[at], 6);
		for (int i = 0; i < 3; i++)
			check_no_waiter(c[i]);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < 3; i++)
		weft_chan_release(c[i]);
}

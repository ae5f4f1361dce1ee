/* SPDX-License-Identifier: MIT */
/*
 * Selects with a time limit. One in the past looks once and takes what it
 * finds; one in the future is never up early; afterwards no waiter is left
 * in a queue. An empty select is a sleep.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "flag.h"
#include "plain_thread.h"
#include "t.h"

static int
choose(weft_case *k, size_t n, int64_t when, bool ordered)
{
	return ordered ? weft_select_ordered_until(k, n, when) :
	    weft_select_until(k, n, when);
}

/* ---- in the past ---- */

static void
look(int64_t when, bool ordered)
{
	weft_chan *empty = weft_chan_make(sizeof(int), 0);
	weft_chan *one = weft_chan_make(sizeof(int), 1);
	int v = 3, w = 4;
	weft_case k[] = {
		WEFT_CASE_RECV(empty, &v), WEFT_CASE_SEND_FROM(empty, &v),
		WEFT_CASE_RECV(one, &v),
		WEFT_CASE_RECV(NULL, &v), WEFT_CASE_SEND_FROM(one, &w)
	};

	EQ(choose(k, 4, when, ordered), -ETIMEDOUT);
	EQ(choose(k, 1, when, ordered), -ETIMEDOUT);
	EQ(v, 3);
	EQ(choose(k, 5, when, ordered), 4);
	for (int i = 0; i < 20; i++) {
		EQ(choose(k, 5, when, ordered), 2);
		OK(k[2].ok);
		EQ(v, 4);
		weft_send(one, 4);
	}
	weft_chan_close(one);
	EQ(choose(k, 3, when, ordered), 2);
	OK(k[2].ok);
	EQ(choose(k, 3, when, ordered), 2);
	OK(!k[2].ok);
	EQ(v, 0);
	weft_chan_release(empty);
	weft_chan_release(one);
}

static void
looks(void)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		look(1, ordered);
		look(-1, ordered);
		look(INT64_MIN, ordered);
		look(weft_now(), ordered);
	}
}

GTEST(past_takes_what_is_ready, 1) { looks(); }
TEST(past_takes_what_is_ready_on_a_thread) { looks(); }

/* Ready things are taken whatever the limit is. */
GTEST(future_takes_what_is_ready, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	weft_case k = WEFT_CASE_RECV(c, NULL);
	static const int64_t in[] = { 1, WEFT_US, WEFT_SECOND, WEFT_NEVER };

	for (int i = 0; i < 4; i++) {
		weft_send(c, 1);
		EQ(choose(&k, 1, weft_deadline(in[i]), i % 2), 0);
		weft_send(c, 1);
		EQ(choose(&k, 1, WEFT_NEVER, i % 2), 0);
	}
	weft_chan_release(c);
}

/* ---- never early ---- */

enum { CASES = 40 };

static void
wait_in_vain(size_t n, int64_t ns, bool ordered)
{
	weft_chan *c[CASES];
	weft_case k[CASES];
	int v[CASES];
	int64_t when;

	for (size_t i = 0; i < n; i++) {
		v[i] = 5;
		c[i] = weft_chan_make(sizeof(int), 0);
		k[i] = i % 3 == 0 ? WEFT_CASE_RECV(c[i], &v[i]) :
		    i % 3 == 1 ? WEFT_CASE_SEND_FROM(c[i], &v[i]) :
		    WEFT_CASE_RECV(i > 8 ? c[0] : NULL, &v[i]);
	}
	when = weft_deadline(ns);
	EQ(choose(k, n, when, ordered), -ETIMEDOUT);
	OK(weft_now() >= when);
	for (size_t i = 0; i < n; i++) {
		EQ(v[i], 5);
		EQ(weft_chan_try_send(c[i], NULL), false);
		EQ(weft_chan_try_recv(c[i], NULL), false);
		weft_chan_release(c[i]);
	}
}

static void
waits_in_vain(void)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 16, 17, CASES };

	for (int i = 0; i < 7; i++)
		for (int64_t ns = 0; ns < 3 * WEFT_MS; ns = ns * 7 + 1)
			wait_in_vain(sizes[i], ns, i % 2);
}

GTEST(never_early_on_1, 1) { waits_in_vain(); }
GTEST(never_early_on_4, 4) { waits_in_vain(); }
TEST(never_early_without_a_runtime) { waits_in_vain(); }

GTEST(never_early_on_a_thread, 1) { thread_call_yielding(waits_in_vain); }

/* No cases at all, with and without an array. */
GTEST(empty, 1)
{
	weft_case none[1] = {{0}};
	int64_t when = weft_deadline(2 * WEFT_MS);

	EQ(weft_select_until(NULL, 0, when), -ETIMEDOUT);
	OK(weft_now() >= when);
	when = weft_deadline(2 * WEFT_MS);
	EQ(weft_select_ordered_until(none, 0, when), -ETIMEDOUT);
	OK(weft_now() >= when);
	EQ(weft_select_until(NULL, 0, 1), -ETIMEDOUT);
	EQ(weft_select_until(NULL, 0, INT64_MIN), -ETIMEDOUT);
}

/* Hundreds at once: each its own limit, on channels they share. */
static void
shared(weft_chan **c, int64_t ns, weft_waitgroup *ended)
{
	weft_case k[] = {
		WEFT_CASE_RECV(c[0], NULL), WEFT_CASE_SEND_FROM(c[1], NULL),
		WEFT_CASE_RECV(c[2], NULL)
	};
	int64_t when = weft_deadline(ns);

	EQ(weft_select_until(k, 3, when), -ETIMEDOUT);
	OK(weft_now() >= when);
	weft_waitgroup_done(ended);
}

GTEST(many_at_once, 4)
{
	weft_chan *c[3] = {
		weft_chan_make(4, 1), weft_chan_make(4, 0), weft_chan_make(4, 3)
	};
	weft_waitgroup ended = {0};
	int n = (int)t_scale(3000);

	weft_waitgroup_add(&ended, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(shared, c, i * 7919L % n * 10 * WEFT_US,
		    &ended) > 0);
	weft_waitgroup_wait(&ended);
	for (int i = 0; i < 3; i++)
		weft_chan_release(c[i]);
}

/* ---- a select that gives up leaves the others in the queue ---- */

struct waiting {
	weft_chan *a, *b;
	int64_t when;
	int va, vb, result;
	bool started, ended;
};

static void
wait_for_both(struct waiting *w)
{
	weft_case k[] = {
		WEFT_CASE_RECV(w->a, &w->va), WEFT_CASE_RECV(w->b, &w->vb)
	};

	raise_flag(&w->started);
	w->result = weft_select_until(k, 2, w->when);
	raise_flag(&w->ended);
}

GTEST(others_stay_in_order, 1)
{
	enum { N = 9 };
	weft_chan *a = weft_chan_make(4, 0), *b = weft_chan_make(4, 0);
	struct waiting w[N] = {0};

	for (int i = 0; i < N; i++) {
		w[i] = (struct waiting){
			.a = a, .b = b,
			.when = i % 4 ? WEFT_NEVER : weft_deadline(2 * WEFT_MS)
		};
		OK(weft_try_go(wait_for_both, &w[i]) > 0);
		until_up(&w[i].started);
	}
	for (int i = 0; i < N; i += 4) {
		until_up(&w[i].ended);
		EQ(w[i].result, -ETIMEDOUT);
	}
	for (int i = 0; i < N; i++) {
		if (i % 4 == 0)
			continue;
		EQ(weft_chan_try_send(i % 2 ? a : b, &i), true);
		until_up(&w[i].ended);
		EQ(w[i].result, !(i % 2));
		EQ(i % 2 ? w[i].va : w[i].vb, i);
	}
	EQ(weft_chan_try_send(a, NULL), false);
	EQ(weft_chan_try_send(b, NULL), false);
	weft_chan_release(a);
	weft_chan_release(b);
}

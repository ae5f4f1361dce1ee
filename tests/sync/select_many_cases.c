/* SPDX-License-Identifier: MIT */
/*
 * Selects of very many cases, up to 65,536: on as many channels or on one,
 * ready at any place or woken there, with a default, a limit or neither.
 * One more is fatal: see tests/sync/chan_misuse_crash.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "flag.h"
#include "t.h"

enum { MOST = 65536 };

struct many {
	weft_case *k;
	weft_chan **c;
	int *v;
	size_t n;
	int result;
	bool started, ended;
};

static void
many_make(struct many *m, size_t n, size_t cap)
{
	*m = (struct many){
		.k = calloc(n, sizeof *m->k), .c = calloc(n, sizeof *m->c),
		.v = calloc(n, sizeof *m->v), .n = n
	};
	for (size_t i = 0; i < n; i++) {
		m->c[i] = weft_chan_make(sizeof(int), cap);
		OK(m->c[i] != NULL);
		m->v[i] = -1;
		m->k[i] = WEFT_CASE_RECV(m->c[i], &m->v[i]);
	}
}

static void
many_free(struct many *m)
{
	for (size_t i = 0; i < m->n; i++)
		weft_chan_release(m->c[i]);
	free(m->k);
	free(m->c);
	free(m->v);
}

static void
check_no_waiter(struct many *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (weft_chan_cap(m->c[i]) == 0)
			EQ(weft_chan_try_send(m->c[i], NULL), false);
}

static void
choose(struct many *m)
{
	raise_flag(&m->started);
	m->result = weft_select(m->k, m->n);
	raise_flag(&m->ended);
}

/* First, last, and some between; at most n of them. */
static size_t
place(size_t n, int i)
{
	size_t at[] = { n - 1, 0, n / 2, n / 3, n > 1 ? n - 2 : 0, n > 1 };

	return at[i];
}
enum { PLACES = 6 };

/* ---- ready ---- */

static void
ready_at(size_t n)
{
	struct many m;

	many_make(&m, n, 1);
	for (int i = 0; i < PLACES; i++) {
		size_t at = place(n, i);

		weft_send(m.c[at], 5);
		EQ(weft_select(m.k, n), at);
		OK(m.k[at].ok);
		EQ(m.v[at], 5);
		weft_send(m.c[at], 6);
		EQ(weft_select_ordered(m.k, n), at);
		EQ(m.v[at], 6);
		weft_send(m.c[at], 7);
		EQ(weft_select_until(m.k, n, 1), at);
		EQ(m.v[at], 7);
		m.v[at] = -1;
	}
	for (size_t i = 0; i < n; i++)
		EQ(m.v[i], -1);
	EQ(weft_select_until(m.k, n, 1), -ETIMEDOUT);
	EQ(weft_select_until(m.k, n, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	many_free(&m);
}

static size_t
scaled(size_t n)
{
	return (size_t)t_scale((long)n);
}

GTEST(ready_at_sixteen, 1) { ready_at(16); }
GTEST(ready_at_seventeen, 1) { ready_at(17); }
GTEST(ready_at_thousand, 1) { ready_at(1000); }
GTEST(ready_at_most, 1) { ready_at(scaled(MOST)); }

/* The limit itself, whatever the build. */
GTEST(most, 1)
{
	weft_case *k = calloc(MOST, sizeof *k);
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	int v = 0;

	for (int i = 0; i < MOST; i++)
		k[i] = WEFT_CASE_RECV(NULL, NULL);
	k[MOST - 1] = WEFT_CASE_DEFAULT;
	EQ(weft_select(k, MOST), MOST - 1);
	EQ(weft_select_until(k, MOST - 1, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	k[MOST - 1] = WEFT_CASE_RECV(c, &v);
	weft_send(c, 3);
	EQ(weft_select(k, MOST), MOST - 1);
	EQ(v, 3);
	k[0] = WEFT_CASE_DEFAULT;
	EQ(weft_select(k, MOST), 0);
	weft_chan_release(c);
	free(k);
}

/* ---- woken ---- */

static void
woken_at(size_t n)
{
	struct many m;

	many_make(&m, n, 0);
	for (int i = 0; i < PLACES; i++) {
		size_t at = place(n, i);

		m.started = m.ended = false;
		OK(weft_try_go(choose, &m) > 0);
		until_up(&m.started);
		weft_send(m.c[at], 8);
		until_up(&m.ended);
		EQ(m.result, at);
		EQ(m.v[at], 8);
		m.v[at] = -1;
	}
	for (size_t i = 0; i < n; i++)
		EQ(m.v[i], -1);
	check_no_waiter(&m);
	many_free(&m);
}

GTEST(woken_at_seventeen, 1) { woken_at(17); }
GTEST(woken_at_thousand, 2) { woken_at(1000); }
GTEST(woken_at_most_on_1, 1) { woken_at(scaled(MOST)); }
GTEST(woken_at_most_on_4, 4) { woken_at(scaled(MOST)); }

GTEST(closed_at_most, 2)
{
	struct many m;
	size_t n = scaled(MOST);

	many_make(&m, n, 0);
	OK(weft_try_go(choose, &m) > 0);
	until_up(&m.started);
	weft_chan_close(m.c[n / 2]);
	until_up(&m.ended);
	EQ(m.result, n / 2);
	EQ(m.v[n / 2], 0);
	OK(!m.k[n / 2].ok);
	many_free(&m);
}

/* ---- all of them on one channel ---- */

static void
on_one(size_t n)
{
	struct many m;
	weft_chan *c = weft_chan_make(sizeof(int), 0);

	many_make(&m, n, 0);
	for (size_t i = 0; i < n; i++)
		m.k[i].chan = c;
	for (int i = 0; i < 3; i++) {
		m.started = m.ended = false;
		OK(weft_try_go(choose, &m) > 0);
		until_up(&m.started);
		weft_send(c, 9);
		until_up(&m.ended);
		OK(m.result >= 0 && m.result < (int)n);
		EQ(m.v[m.result], 9);
		m.v[m.result] = -1;
	}
	for (size_t i = 0; i < n; i++)
		EQ(m.v[i], -1);
	EQ(weft_chan_try_send(c, NULL), false);
	EQ(weft_select_until(m.k, n, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	weft_chan_release(c);
	many_free(&m);
}

GTEST(on_one_channel, 1)
{
	on_one(17);
	on_one(1000);
	on_one(scaled(MOST));
}

/* ---- many goroutines that select among many ---- */

struct market {
	weft_chan **c;
	int chans;
	weft_waitgroup buyers, sellers;
	int64_t sold, bought;
};

static void
buyer(struct market *w)
{
	weft_case *k = calloc((size_t)w->chans, sizeof *k);
	int64_t v, sum = 0;
	int open = w->chans;

	for (int i = 0; i < w->chans; i++)
		k[i] = WEFT_CASE_RECV(w->c[i], &v);
	while (open > 0) {
		int r = weft_select(k, (size_t)w->chans);

		sum += v;
		if (!k[r].ok) {
			k[r].chan = NULL;
			open--;
		}
	}
	__atomic_add_fetch(&w->bought, sum, __ATOMIC_RELAXED);
	weft_waitgroup_done(&w->buyers);
	free(k);
}

static void
seller(struct market *w, int from, int n)
{
	for (int i = 0; i < n; i++) {
		int64_t v = i + 1;

		weft_send(w->c[(from + i * 7) % w->chans], v);
		__atomic_add_fetch(&w->sold, v, __ATOMIC_RELAXED);
	}
	weft_waitgroup_done(&w->sellers);
}

/* Closed channels are taken out one by one; every value arrives once. */
static void
market(int chans, int sides, int each)
{
	struct market w = { .chans = chans };

	w.c = calloc((size_t)chans, sizeof *w.c);
	for (int i = 0; i < chans; i++)
		w.c[i] = weft_chan_make(sizeof(int64_t), (size_t)i % 3);
	weft_waitgroup_add(&w.buyers, sides);
	weft_waitgroup_add(&w.sellers, sides);
	for (int i = 0; i < sides; i++) {
		OK(weft_try_go(buyer, &w) > 0);
		OK(weft_try_go(seller, &w, i, each) > 0);
	}
	weft_waitgroup_wait(&w.sellers);
	for (int i = 0; i < chans; i++)
		weft_chan_close(w.c[i]);
	weft_waitgroup_wait(&w.buyers);
	EQ(w.bought, w.sold);
	EQ(w.sold, (int64_t)sides * each * (each + 1) / 2);
	for (int i = 0; i < chans; i++)
		weft_chan_release(w.c[i]);
	free(w.c);
}

GTEST(market_on_1, 1) { market(100, 10, (int)t_scale(500)); }
GTEST(market_on_2, 2) { market(100, 10, (int)t_scale(500)); }
GTEST(market_on_8, 8) { market(100, 10, (int)t_scale(500)); }
GTEST(market_of_thousand, 4) { market(1000, 4, (int)t_scale(200)); }

/* ---- on the smallest stack ---- */

static void
on_small_stack(weft_chan *in, weft_chan *out)
{
	struct many m;
	int v;

	while (weft_recv_ok(in, &v)) {
		many_make(&m, (size_t)v, 0);
		EQ(weft_select_until(m.k, m.n, weft_deadline(10 * WEFT_US)),
		    -ETIMEDOUT);
		m.k[0] = WEFT_CASE_DEFAULT;
		EQ(weft_select(m.k, m.n), 0);
		EQ(weft_chan_recv_until(m.c[0], &v,
		    weft_deadline(10 * WEFT_US)),
		    false);
		many_free(&m);
		weft_send(out, 1);
	}
	weft_send(out, 0);
}

/* 4 KiB are enough for whatever is done with channels. */
GTEST(smallest_stack, 2)
{
	weft_chan *in = weft_chan_make(4, 0), *out = weft_chan_make(4, 0);
	static const int sizes[] = { 1, 2, 16, 17, 64, 1000 };

	weft_go_opt(WEFT_OPT(.stack = 4096), on_small_stack, in, out);
	for (int i = 0; i < 6; i++) {
		weft_send(in, sizes[i]);
		EQ(weft_recv(out, int), 1);
	}
	weft_chan_close(in);
	EQ(weft_recv(out, int), 0);
	weft_chan_release(in);
	weft_chan_release(out);
}

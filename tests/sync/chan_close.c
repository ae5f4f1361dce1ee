/* SPDX-License-Identifier: MIT */
/*
 * Closing: what is in the channel stays, all that wait to receive are woken,
 * and later receivers do not wait. What happens to senders is in
 * tests/sync/chan_misuse_crash.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum { CAPS = 200 };

static size_t
next_cap(size_t cap)
{
	size_t step = CAPS / (size_t)t_scale(CAPS);

	return cap < 1 ? 1 : cap + step;
}

/* What a closed and drained channel says, all of it, and again. */
static void
check_drained(weft_chan *c)
{
	for (int i = 0; i < 3; i++) {
		int64_t v = -1;

		OK(weft_chan_is_closed(c));
		OK(!weft_chan_recv(c, &v));
		EQ(v, 0);
		v = -1;
		EQ(weft_chan_try_recv(c, &v), false);
		EQ(v, 0);
		v = -1;
		EQ(weft_chan_recv_until(c, &v, WEFT_NEVER), false);
		EQ(v, 0);
		v = -1;
		EQ(weft_chan_recv_until(c, &v, 1), false);
		EQ(v, 0);
	}
	EQ(weft_chan_len(c), 0);
}

/* ---- what is left ---- */

static void
left_over(size_t cap, size_t filled, int form)
{
	weft_chan *c = weft_chan_make(sizeof(int64_t), cap);
	int64_t v;

	for (size_t i = 0; i < filled; i++) {
		v = (int64_t)i + 1;
		weft_chan_send(c, &v);
	}
	weft_chan_close(c);
	EQ(weft_chan_len(c), filled);
	EQ(weft_chan_cap(c), cap);
	for (size_t i = 0; i < filled; i++) {
		v = 0;
		OK(!weft_chan_is_closed(c));
		if (form == 0)
			OK(weft_chan_recv(c, &v));
		else if (form == 1)
			EQ(weft_chan_try_recv(c, &v), true);
		else
			EQ(weft_chan_recv_until(c, &v, 1), true);
		EQ(v, i + 1);
	}
	check_drained(c);
	weft_chan_release(c);
}

GTEST(what_is_left_comes_out, 1)
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap))
		for (int form = 0; form < 3; form++) {
			left_over(cap, cap, form);
			left_over(cap, cap / 2, form);
			left_over(cap, 0, form);
		}
}

/* ---- waiters are woken ---- */

struct hall {
	weft_chan *c;
	weft_waitgroup ended;
	int64_t zero_bytes;	/* receivers that got them */
	int note;		/* plain: written before the close */
	long started;
};

static void
waits(struct hall *h, int form)
{
	int64_t v = -1;
	weft_case k = WEFT_CASE_RECV(h->c, &v);
	int r = -1;

	__atomic_add_fetch(&h->started, 1, __ATOMIC_RELAXED);
	if (form == 0)
		r = weft_chan_recv(h->c, &v);
	else if (form == 1)
		r = weft_chan_recv_until(h->c, &v,
		    weft_deadline(WEFT_SECOND * 50));
	else if (form == 2)
		r = weft_select(&k, 1) == 0 ? k.ok : -2;
	EQ(r, 0);
	EQ(h->note, 42);
	if (v == 0)
		__atomic_add_fetch(&h->zero_bytes, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&h->ended);
}

static void
hall(size_t cap, int forms, int n)
{
	struct hall h = { .c = weft_chan_make(sizeof(int64_t), cap) };

	weft_waitgroup_add(&h.ended, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(waits, &h, i % forms) > 0);
	while (__atomic_load_n(&h.started, __ATOMIC_RELAXED) < n)
		weft_yield();
	h.note = 42;
	weft_chan_close(h.c);
	weft_waitgroup_wait(&h.ended);
	EQ(h.zero_bytes, n);
	check_drained(h.c);
	weft_chan_release(h.c);
}

GTEST(wakes_all_waiters, 1)
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap))
		hall(cap, 1, 20);
}

GTEST(wakes_all_waiters_on_4, 4)
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap))
		hall(cap, 1, 20);
}

GTEST(wakes_every_kind, 2)
{
	for (long i = t_scale(200); i > 0; i--)
		hall(i % 3, 3, 30);
}

GTEST(wakes_very_many, 2)
{
	hall(0, 1, (int)t_scale(20000));
}

/* ---- closing while values are on their way ---- */

struct ending {
	weft_chan *c;
	weft_waitgroup ended;
	int64_t sum, count;
	int note;
};

static void
sum_up(struct ending *e)
{
	int64_t v, sum = 0, n = 0;

	while (weft_chan_recv(e->c, &v)) {
		sum += v;
		n++;
	}
	EQ(v, 0);
	EQ(e->note, 1);
	__atomic_add_fetch(&e->sum, sum, __ATOMIC_RELAXED);
	__atomic_add_fetch(&e->count, n, __ATOMIC_RELAXED);
	weft_waitgroup_done(&e->ended);
}

/* The sender closes right behind its last value: nothing is cut off. */
static void
ending(size_t cap, int receivers, int n)
{
	struct ending e = { .c = weft_chan_make(sizeof(int64_t), cap) };

	weft_waitgroup_add(&e.ended, receivers);
	for (int i = 0; i < receivers; i++)
		OK(weft_try_go(sum_up, &e) > 0);
	for (int64_t i = 1; i <= n; i++)
		weft_chan_send(e.c, &i);
	e.note = 1;
	weft_chan_close(e.c);
	weft_waitgroup_wait(&e.ended);
	EQ(e.count, n);
	EQ(e.sum, (int64_t)n * (n + 1) / 2);
	weft_chan_release(e.c);
}

static void
endings(void)
{
	for (long i = t_scale(2000); i > 0; i--)
		ending((size_t)i % 5, 1 + (int)i % 7, (int)i % 40);
}

GTEST(nothing_is_cut_off_on_1, 1) { endings(); }
GTEST(nothing_is_cut_off_on_2, 2) { endings(); }
GTEST(nothing_is_cut_off_on_4, 4) { endings(); }
GTEST(nothing_is_cut_off_on_8, 8) { endings(); }

/* ---- a look that races ---- */

struct race {
	weft_chan *c;
	weft_waitgroup ended;
	int form, result;
	int64_t value;
};

static void
look(struct race *r)
{
	weft_case k[] = {
		WEFT_CASE_RECV(r->c, &r->value),
		WEFT_CASE_RECV(r->c, &r->value),
		WEFT_CASE_DEFAULT
	};
	int i;

	/* (If it was told to wait the value is still -1.) */
	if (r->form == 0) {
		r->result = weft_chan_try_recv(r->c, &r->value);
	} else if (r->form == 1) {
		r->result = weft_chan_recv_until(r->c, &r->value, 1);
	} else {
		i = r->form == 2 ? weft_select(k, 3) :
		    weft_select_ordered(k, 3);
		r->result = i == 2 ? -EAGAIN : k[i].ok;
	}
	weft_waitgroup_done(&r->ended);
}

/*
 * A value is in the channel; then it is closed, and drained. At every instant
 * a receive can go on, so whoever looks must not be told to wait.
 */
static void
look_at_closing(int form)
{
	for (long i = t_scale(20000); i > 0; i--) {
		struct race r = {
			.c = weft_chan_make(sizeof(int64_t), 1), .form = form,
			.value = -1
		};
		int64_t v = i, w = -1;
		bool got;

		weft_chan_send(r.c, &v);
		weft_waitgroup_add(&r.ended, 1);
		OK(weft_try_go(look, &r) > 0);
		weft_chan_close(r.c);
		got = weft_chan_recv(r.c, &w);
		weft_waitgroup_wait(&r.ended);
		EQ(r.result, !got);
		EQ(r.value + w, i);
		weft_chan_release(r.c);
	}
}

GTEST(try_sees_the_close, 2) { look_at_closing(0); }
GTEST(late_receive_sees_the_close, 2) { look_at_closing(1); }
GTEST(default_sees_the_close, 2) { look_at_closing(2); }
GTEST(ordered_default_sees_the_close, 2) { look_at_closing(3); }

static void
shut(weft_chan *c, bool *closed)
{
	weft_chan_close(c);
	__atomic_store_n(closed, true, __ATOMIC_RELEASE);
}

/* A goroutine that knows that it was closed finds it closed. */
GTEST(closed_is_closed_for_all, 2)
{
	for (long i = t_scale(10000); i > 0; i--) {
		weft_chan *c = weft_chan_make(sizeof(int64_t), i % 2);
		bool closed = false;

		OK(weft_try_go(shut, c, &closed) > 0);
		while (!__atomic_load_n(&closed, __ATOMIC_ACQUIRE)) {
			OK(!weft_chan_try_recv(c, NULL));
			weft_yield();
		}
		OK(weft_chan_is_closed(c));
		weft_chan_release(c);
	}
}

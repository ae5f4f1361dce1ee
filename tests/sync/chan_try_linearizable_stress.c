/* SPDX-License-Identifier: MIT */
/*
 * The forms that do not wait may say "not now" only if that was so at some
 * instant of the call. They look without the lock first; here others do what
 * they can to make that look go wrong: work at the channel so that it is never
 * empty (or never full) while its inside changes, or put something there
 * before each other's look.
 */
#include <errno.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum how { TRY, PAST, DEFAULT, ORDERED, HOWS };

static bool
takes(weft_chan *c, enum how how)
{
	weft_case k[] = { WEFT_CASE_RECV(c, NULL), WEFT_CASE_DEFAULT };
	int64_t v = -1;

	/* If it is closed and drained v becomes 0, as with any value sent. */
	switch (how) {
	case TRY:	return weft_chan_try_recv(c, &v) || v == 0;
	case PAST:	return weft_chan_recv_until(c, &v, 1) || v == 0;
	case DEFAULT:	return weft_select(k, 2) == 0;
	default:	return weft_select_ordered(k, 2) == 0;
	}
}

static bool
gives(weft_chan *c, enum how how)
{
	weft_case k[] = { WEFT_CASE_SEND_FROM(c, NULL), WEFT_CASE_DEFAULT };

	switch (how) {
	case TRY:	return weft_chan_try_send(c, NULL);
	case PAST:	return weft_chan_send_until(c, NULL, 1);
	case DEFAULT:	return weft_select(k, 2) == 0;
	default:	return weft_select_ordered(k, 2) == 0;
	}
}

/* Counts itself and spins until there are n: then they run side by side. */
static void
meet(int *count, int n)
{
	__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
	for (int i = 1; __atomic_load_n(count, __ATOMIC_ACQUIRE) < n; i++)
		if (i % 500 == 0)
			weft_yield();
}

/* ---- there is always a waiter, or a value ---- */

enum { CROWD = 2000, EACH = 900, SKEW = 8 };

struct crowd {
	weft_chan *c;
	weft_waitgroup ended;
	int at[2];		/* how far each of two is */
	bool receive;
	enum how how;
	long failed;
};

static void one_send(struct crowd *w) { weft_chan_send(w->c, NULL); }
static void one_recv(struct crowd *w) { weft_chan_recv(w->c, NULL); }

/* One step further, but not far ahead: so they run side by side. */
static void
step(struct crowd *w, int me)
{
	int at = __atomic_add_fetch(&w->at[me], 1, __ATOMIC_RELAXED);

	for (int i = 1; __atomic_load_n(&w->at[!me], __ATOMIC_RELAXED) <
	    at - SKEW; i++)
		if (i % 500 == 0)
			weft_yield();
}

static void
plain(struct crowd *w)
{
	for (int i = 0; i < EACH; i++) {
		step(w, 0);
		if (w->receive)
			weft_chan_recv(w->c, NULL);
		else
			weft_chan_send(w->c, NULL);
	}
	weft_waitgroup_done(&w->ended);
}

static void
looker(struct crowd *w)
{
	long failed = 0;

	for (int i = 0; i < EACH; i++) {
		step(w, 1);
		failed += w->receive ? !takes(w->c, w->how) :
		    !gives(w->c, w->how);
	}
	w->failed = failed;
	weft_waitgroup_done(&w->ended);
}

/*
 * CROWD of them wait on the channel, and 2 * EACH < CROWD are served: so there
 * is one for each look.
 */
static void
never_alone(size_t cap, bool receive, enum how how)
{
	struct crowd w = {
		.c = weft_chan_make(sizeof(int64_t), cap), .receive = receive,
		.how = how
	};
	weft_stats s;
	uint64_t before;

	weft_stats_read(&s, sizeof s);
	before = s.parks;
	for (size_t i = 0; receive && i < cap; i++)
		weft_chan_send(w.c, NULL);
	for (int i = 0; i < CROWD; i++)
		OK(weft_try_go(receive ? one_send : one_recv, &w) > 0);
	do {
		weft_yield();
		weft_stats_read(&s, sizeof s);
	} while (s.parks < before + CROWD);
	weft_waitgroup_add(&w.ended, 2);
	OK(weft_try_go(plain, &w) > 0);
	OK(weft_try_go(looker, &w) > 0);
	weft_waitgroup_wait(&w.ended);
	EQ(w.failed, 0);
	while (weft_goroutines() > 1) {
		if (receive)
			takes(w.c, TRY);
		else
			gives(w.c, TRY);
		weft_yield();
	}
	weft_chan_release(w.c);
}

static void
crowds(double seconds)
{
	static const struct {
		size_t cap;
		bool receive;
	} of[] = {
		{ 0, true }, { 1, true }, { 3, true }, { 1, true },
		{ 0, false }, { 1, true }, { 3, false }
	};
	double end = t_now() + t_share(seconds);

	for (int i = 0; i < t_scale(10) || t_more(0) || t_now() < end; i++)
		never_alone(of[i % 7].cap, of[i % 7].receive,
		    i % 4 ? TRY : (enum how)(i / 4 % HOWS));
}

GTEST(never_alone_on_1, 1) { crowds(0.2); }
GTEST(never_alone_on_2, 2) { crowds(1.2); }
GTEST(never_alone_on_4, 4) { crowds(0.3); }

/* ---- what was done before is seen ---- */

struct notice {
	weft_chan *c;
	bool done;
	int what;
};

static void
do_it(struct notice *n)
{
	if (n->what == 0)
		weft_chan_send(n->c, NULL);
	else if (n->what == 1)
		weft_chan_close(n->c);
	else
		weft_chan_recv(n->c, NULL);
	__atomic_store_n(&n->done, true, __ATOMIC_RELEASE);
}

GTEST(done_is_seen, 2)
{
	for (long i = t_scale(30000); i > 0; i--) {
		struct notice n = {
			.c = weft_chan_make(8, 1), .what = (int)i % 3
		};
		enum how how = (enum how)(i / 3 % HOWS);

		if (n.what == 2)
			weft_chan_send(n.c, NULL);
		OK(weft_try_go(do_it, &n) > 0);
		while (!__atomic_load_n(&n.done, __ATOMIC_ACQUIRE))
			weft_yield();
		OK(n.what == 2 ? gives(n.c, how) : takes(n.c, how));
		weft_chan_release(n.c);
	}
}

/* ---- two that act, and then look at what the other did ---- */

enum { BATCH = 64 };

struct pair {
	weft_chan *mine[2][BATCH];
	bool saw[2][BATCH];
	weft_waitgroup ended;
	int at;			/* both count it up: they go in step */
	int what;
	enum how how;
};

static void
act_and_look(struct pair *p, int me)
{
	for (int i = 0; i < BATCH; i++) {
		weft_chan *own = p->mine[me][i], *other = p->mine[!me][i];

		meet(&p->at, 2 * i + 2);
		if (p->what == 0)
			weft_chan_send(own, NULL);
		else if (p->what == 1)
			weft_chan_close(own);
		else
			weft_chan_recv(own, NULL);
		p->saw[me][i] = p->what == 2 ? gives(other, p->how) :
		    takes(other, p->how);
	}
	weft_waitgroup_done(&p->ended);
}

/*
 * Both act on their own channel before they look at the other's. Whoever acts
 * last has the other's act before it: at least one of them sees it.
 */
static void
someone_sees(int what, enum how how)
{
	struct pair *p = calloc(1, sizeof *p);

	p->what = what;
	p->how = how;
	for (int i = 0; i < BATCH; i++)
		for (int k = 0; k < 2; k++) {
			p->mine[k][i] = weft_chan_make(8, 1);
			if (what == 2)
				weft_chan_send(p->mine[k][i], NULL);
		}
	weft_waitgroup_add(&p->ended, 2);
	OK(weft_try_go(act_and_look, p, 0) > 0);
	OK(weft_try_go(act_and_look, p, 1) > 0);
	weft_waitgroup_wait(&p->ended);
	for (int i = 0; i < BATCH; i++) {
		OK(p->saw[0][i] || p->saw[1][i]);
		for (int k = 0; k < 2; k++)
			weft_chan_release(p->mine[k][i]);
	}
	free(p);
}

static void
pairs(double seconds)
{
	double end = t_now() + t_share(seconds);

	for (int i = 0; i < t_scale(12) || t_more(0) || t_now() < end; i++)
		someone_sees(i % 3, (enum how)(i % HOWS));
}

GTEST(one_of_two_sees_on_1, 1) { pairs(0.1); }
GTEST(one_of_two_sees_on_2, 2) { pairs(0.8); }

/* ---- closed, and then drained ---- */

/* One closes and drains; the other looks, a bit earlier or later. */
static void
drain_or_look(struct pair *p, int me)
{
	for (int i = 0; i < BATCH; i++) {
		weft_chan *c = p->mine[0][i];

		meet(&p->at, 2 * i + 2);
		if (me == 0) {
			weft_chan_close(c);
			weft_chan_recv(c, NULL);
			p->saw[0][i] = true;
		} else {
			for (int n = i * 3; n > 0; n--)
				__asm__ volatile ("");
			p->saw[1][i] = takes(c, p->how);
		}
	}
	weft_waitgroup_done(&p->ended);
}

/* First there is a value, then it is closed: a receive can always go on. */
static void
always_something(enum how how)
{
	struct pair *p = calloc(1, sizeof *p);

	p->how = how;
	for (int i = 0; i < BATCH; i++) {
		p->mine[0][i] = weft_chan_make(8, 1);
		weft_chan_send(p->mine[0][i], NULL);
	}
	weft_waitgroup_add(&p->ended, 2);
	OK(weft_try_go(drain_or_look, p, 0) > 0);
	OK(weft_try_go(drain_or_look, p, 1) > 0);
	weft_waitgroup_wait(&p->ended);
	for (int i = 0; i < BATCH; i++) {
		OK(p->saw[1][i]);
		weft_chan_release(p->mine[0][i]);
	}
	free(p);
}

static void
closings(double seconds)
{
	double end = t_now() + t_share(seconds);

	for (int i = 0; i < t_scale(8) || t_more(0) || t_now() < end; i++)
		always_something(i % 4 ? TRY : (enum how)(i / 4 % HOWS));
}

GTEST(closed_or_filled_on_2, 2) { closings(1.2); }
GTEST(closed_or_filled_on_4, 4) { closings(0.3); }

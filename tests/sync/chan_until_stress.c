/* SPDX-License-Identifier: MIT */
/*
 * Time limits that run out just when the other side comes. Either the value
 * went over, and both sides say so, or it did not, and neither does: nothing
 * is lost, nothing arrives twice. All limits are a few microseconds, so that
 * each outcome is common.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "both_outcomes.h"
#include "t.h"

enum { SIDES = 4, CHANS = 3, THREADS = 2 };

struct race {
	weft_chan *c[CHANS];
	weft_waitgroup senders, receivers;
	bool stop;
	int64_t sent, sent_sum, received, received_sum, late;
	int64_t next;
	int64_t some_sent, some_late;	/* not 0 once there were some */
};

static uint32_t
roll(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* From now on or a bit later, or a bit ago. */
static int64_t
soon(uint32_t *seed)
{
	return weft_deadline((int64_t)(roll(seed) % 6) * 3 * WEFT_US -
	    (int64_t)(roll(seed) % 2) * WEFT_US);
}

static int
choose_soon(weft_case k[CHANS], uint32_t *seed)
{
	int64_t when = soon(seed);
	int got = roll(seed) % 2 ? weft_select_until(k, CHANS, when) :
	    weft_select_ordered_until(k, CHANS, when);

	OK((got >= 0 && got < CHANS) || got == -ETIMEDOUT);
	return got;
}

/* One attempt; true if it was sent. */
static bool
try_to_send(struct race *r, int64_t v, uint32_t *seed)
{
	weft_chan *c = r->c[roll(seed) % CHANS];
	weft_case k[CHANS];
	int got;

	for (int i = 0; i < CHANS; i++)
		k[i] = WEFT_CASE_SEND_FROM(r->c[i], &v);
	switch (roll(seed) % 4) {
	case 0:
		return weft_chan_send_until(c, &v, soon(seed));
	case 1:
		return weft_chan_try_send(c, &v);
	}
	got = choose_soon(k, seed);
	return got >= 0;
}

/* 1 with a value, 0 closed, -1 (and v as it was) if there was none. */
static int
received(bool got, const int64_t *v)
{
	return got ? 1 : *v == 0 ? 0 : -1;
}

static int
try_to_receive(struct race *r, int64_t *v, uint32_t *seed)
{
	weft_chan *c = r->c[roll(seed) % CHANS];
	int64_t w[CHANS] = { -1, -1, -1 };
	weft_case k[CHANS];
	int got;

	for (int i = 0; i < CHANS; i++)
		k[i] = WEFT_CASE_RECV(r->c[i], &w[i]);
	*v = -1;
	switch (roll(seed) % 4) {
	case 0:
		return received(weft_chan_recv_until(c, v, soon(seed)), v);
	case 1:
		return received(weft_chan_try_recv(c, v), v);
	}
	got = choose_soon(k, seed);
	/* only the chosen place was written */
	for (int i = 0; i < CHANS; i++)
		if (i != got)
			EQ(w[i], -1);
	if (got < 0)
		return -1;
	*v = w[got];
	return k[got].ok;
}

static void
sender(struct race *r, uint32_t seed)
{
	int64_t sum = 0, n = 0, late = 0;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		int64_t v = __atomic_add_fetch(&r->next, 1, __ATOMIC_RELAXED);

		if (try_to_send(r, v, &seed)) {
			sum += v;
			n++;
			__atomic_store_n(&r->some_sent, 1, __ATOMIC_RELAXED);
		} else {
			late++;
			__atomic_store_n(&r->some_late, 1, __ATOMIC_RELAXED);
		}
		if (roll(&seed) % 16 == 0)
			weft_yield();
	}
	__atomic_add_fetch(&r->sent, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->sent_sum, sum, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->late, late, __ATOMIC_RELAXED);
	weft_waitgroup_done(&r->senders);
}

static void
receiver(struct race *r, uint32_t seed)
{
	int64_t sum = 0, n = 0, late = 0, v = 0;
	int got;

	while ((got = try_to_receive(r, &v, &seed)) != 0) {
		if (got == 1) {
			OK(v > 0);
			sum += v;
			n++;
		} else {
			late++;
		}
		if (roll(&seed) % 16 == 0)
			weft_yield();
	}
	__atomic_add_fetch(&r->received, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->received_sum, sum, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->late, late, __ATOMIC_RELAXED);
	weft_waitgroup_done(&r->receivers);
}

static void *send_plainly(void *r) { sender(r, 99); return NULL; }
static void *receive_plainly(void *r) { receiver(r, 98); return NULL; }

/* What is left when all have gone is counted as received. */
static void
sweep(struct race *r)
{
	int64_t v;

	for (int i = 0; i < CHANS; i++) {
		while (weft_chan_recv(r->c[i], &v)) {
			r->received++;
			r->received_sum += v;
		}
		weft_chan_release(r->c[i]);
	}
}

static void
race(size_t cap, int threads, double seconds)
{
	struct race r = {0};
	pthread_t t[2 * THREADS];

	for (int i = 0; i < CHANS; i++)
		r.c[i] = weft_chan_make(sizeof(int64_t), i ? cap : 0);
	weft_waitgroup_add(&r.senders, SIDES + threads);
	weft_waitgroup_add(&r.receivers, SIDES + threads);
	for (uint32_t i = 0; i < SIDES; i++) {
		OK(weft_try_go(receiver, &r, 2 * i) > 0);
		OK(weft_try_go(sender, &r, 2 * i + 1) > 0);
	}
	for (int i = 0; i < threads; i++) {
		EQ(pthread_create(&t[2 * i], NULL, send_plainly, &r), 0);
		EQ(pthread_create(&t[2 * i + 1], NULL, receive_plainly, &r), 0);
	}
	race_and_close(seconds, &r.some_sent, &r.some_late, &r.stop, &r.senders,
	    r.c, CHANS);
	weft_waitgroup_wait(&r.receivers);
	for (int i = 0; i < 2 * threads; i++)
		pthread_join(t[i], NULL);
	sweep(&r);
	EQ(r.received, r.sent);
	EQ(r.received_sum, r.sent_sum);
	OK(r.sent > 0 && r.late > 0);
}

static void
races(int threads)
{
	for (size_t cap = 0; cap < 3; cap++)
		race(cap, threads, 0.25);
}

GTEST(nothing_lost_on_1, 1) { races(0); }
GTEST(nothing_lost_on_2, 2) { races(0); }
GTEST(nothing_lost_on_4, 4) { races(0); }
GTEST(nothing_lost_on_8, 8) { races(0); }
GTEST(nothing_lost_with_threads, 2) { races(THREADS); }

/* ---- one value, one limit, the same moment ---- */

struct duel {
	weft_chan *c;
	int64_t when;
	int result, form;
	int64_t value;
	weft_waitgroup ended;
};

static void
wait_for_it(struct duel *d)
{
	weft_case k[] = {
		WEFT_CASE_RECV(NULL, NULL), WEFT_CASE_RECV(d->c, &d->value)
	};

	if (d->form) {
		d->result = weft_select_until(k, 2, d->when);
		if (d->result == 1)
			OK(k[1].ok);
	} else {
		d->result = weft_chan_recv_until(d->c, &d->value, d->when) ?
		    1 : -ETIMEDOUT;
	}
	if (d->result != 1) {
		EQ(d->result, -ETIMEDOUT);
		OK(weft_now() >= d->when);
	}
	weft_waitgroup_done(&d->ended);
}

/* The sender tries for as long as it takes, and a little longer. */
static void
duels(size_t cap)
{
	long n = t_scale(5000);

	for (long i = 0; i < n; i++) {
		struct duel d = {
			.c = weft_chan_make(sizeof(int64_t), cap),
			.when = weft_deadline(5 * WEFT_US), .form = (int)i % 2
		};
		int64_t v = i + 1, late = d.when + (i % 7 - 3) * WEFT_US;
		bool sent;

		weft_waitgroup_add(&d.ended, 1);
		OK(weft_try_go(wait_for_it, &d) > 0);
		weft_yield();
		while (weft_now() < late)
			weft_yield();
		sent = weft_chan_try_send(d.c, &v);
		weft_waitgroup_wait(&d.ended);
		if (d.result == 1)
			EQ(d.value, v);
		else
			EQ(d.value, 0);
		if (cap == 0)
			EQ(d.result == 1, sent);
		else
			EQ(weft_chan_len(d.c), d.result == 1 ? 0 : 1);
		weft_chan_release(d.c);
	}
}

GTEST(duels_on_1, 1) { duels(0); duels(1); }
GTEST(duels_on_2, 2) { duels(0); duels(1); }
GTEST(duels_on_4, 4) { duels(0); duels(1); }

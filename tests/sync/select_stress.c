/* SPDX-License-Identifier: MIT */
/*
 * Selects and plain operations on the same channels, in all combinations, for
 * many turns. No goroutine may be left waiting, nothing lost or doubled; each
 * test ends only if every goroutine does.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { CHANS = 4 };

static uint32_t
roll(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/*
 * ---- four channels, a plain sender and receiver for each, and a select for
 * all of the sends and one for all of the receives; all counts are known
 */

struct four {
	weft_chan *c[CHANS];
	weft_waitgroup ended;
	long n;
	int64_t in, out;
};

static void
send_plain(struct four *f, int i)
{
	for (int64_t v = 1; v <= f->n; v++) {
		weft_send(f->c[i], v);
		__atomic_add_fetch(&f->in, v, __ATOMIC_RELAXED);
	}
	weft_waitgroup_done(&f->ended);
}

static void
receive_plain(struct four *f, int i)
{
	for (long j = 0; j < f->n; j++)
		__atomic_add_fetch(&f->out, weft_recv(f->c[i], int64_t),
		    __ATOMIC_RELAXED);
	weft_waitgroup_done(&f->ended);
}

/* Each channel n times: one that is done is taken out. */
static void
select_all(struct four *f, bool sends, bool ordered)
{
	weft_case k[CHANS];
	int64_t v = 3, sum = 0;
	long left[CHANS];

	for (int i = 0; i < CHANS; i++) {
		left[i] = f->n;
		k[i] = sends ? WEFT_CASE_SEND_FROM(f->c[i], &v) :
		    WEFT_CASE_RECV(f->c[i], &v);
	}
	for (long j = 0; j < CHANS * f->n; j++) {
		int i = ordered ? weft_select_ordered(k, CHANS) :
		    weft_select(k, CHANS);

		OK(i >= 0 && i < CHANS && left[i] > 0);
		sum += v;
		if (--left[i] == 0)
			k[i].chan = NULL;
	}
	__atomic_add_fetch(sends ? &f->in : &f->out, sum, __ATOMIC_RELAXED);
	weft_waitgroup_done(&f->ended);
}

static void
four(bool ordered)
{
	static const size_t caps[CHANS] = { 0, 0, 2, 3 };
	struct four f = { .n = t_scale(30000) };

	for (int i = 0; i < CHANS; i++)
		f.c[i] = weft_chan_make(sizeof(int64_t), caps[i]);
	weft_waitgroup_add(&f.ended, 2 * CHANS + 2);
	for (int i = 0; i < CHANS; i++) {
		OK(weft_try_go(send_plain, &f, i) > 0);
		OK(weft_try_go(receive_plain, &f, i) > 0);
	}
	OK(weft_try_go(select_all, &f, true, ordered) > 0);
	OK(weft_try_go(select_all, &f, false, ordered) > 0);
	weft_waitgroup_wait(&f.ended);
	EQ(f.in, f.out);
	EQ(f.in, CHANS * (f.n * (f.n + 1) / 2 + 3 * f.n));
	for (int i = 0; i < CHANS; i++) {
		EQ(weft_chan_len(f.c[i]), 0);
		weft_chan_release(f.c[i]);
	}
}

GTEST(four_channels_on_1, 1) { four(false); four(true); }
GTEST(four_channels_on_2, 2) { four(false); four(true); }
GTEST(four_channels_on_4, 4) { four(false); four(true); }
GTEST(four_channels_on_8, 8) { four(false); four(true); }

/*
 * ---- selects only: which one sends is decided by the meeting
 *
 * Each select has sends and receives on the same channels, so it may meet any
 * other, in either role. Values are tokens: a sender gives one away if it has
 * one to give. In the end all tokens are there.
 */

struct dance {
	weft_chan *c[CHANS];
	weft_waitgroup ended;
	bool stop;
	int64_t given, taken;
};

static void
dancer(struct dance *d, uint32_t seed)
{
	int64_t given = 0, taken = 0, out = seed, in = 0;

	/* Once at least: the time may be over when the first one begins. */
	do {
		weft_case k[2 * CHANS];
		int i;

		for (int j = 0; j < CHANS; j++) {
			k[2 * j] = WEFT_CASE_SEND_FROM(d->c[j], &out);
			k[2 * j + 1] = WEFT_CASE_RECV(d->c[j], &in);
			if (roll(&seed) % 3 == 0)
				k[2 * j].chan = NULL;
			if (roll(&seed) % 3 == 0)
				k[2 * j + 1].chan = NULL;
		}
		i = weft_select_until(k, 2 * CHANS,
		    weft_deadline(100 * WEFT_US));
		if (i >= 0 && i % 2 == 0) {
			given += out++;
		} else if (i >= 0) {
			OK(k[i].ok);
			taken += in;
		} else {
			EQ(i, -ETIMEDOUT);
		}
		if (roll(&seed) % 64 == 0)
			weft_yield();
	} while (!__atomic_load_n(&d->stop, __ATOMIC_RELAXED));
	__atomic_add_fetch(&d->given, given, __ATOMIC_RELAXED);
	__atomic_add_fetch(&d->taken, taken, __ATOMIC_RELAXED);
	weft_waitgroup_done(&d->ended);
}

PLAIN_THREAD(dance_plainly, dancer(arg, 77))

static void
dance(int dancers, bool thread)
{
	struct dance d = {0};
	double end = t_now() + t_share(0.4);
	pthread_t t;
	int64_t v;

	for (int i = 0; i < CHANS; i++)
		d.c[i] = weft_chan_make(sizeof(int64_t), (size_t)i / 2);
	weft_waitgroup_add(&d.ended, dancers + thread);
	for (int i = 0; i < dancers; i++)
		OK(weft_try_go(dancer, &d, (uint32_t)i + 1) > 0);
	if (thread)
		EQ(pthread_create(&t, NULL, dance_plainly, &d), 0);
	while (t_more(0) || t_now() < end)
		weft_sleep(WEFT_MS);
	__atomic_store_n(&d.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&d.ended);
	if (thread)
		pthread_join(t, NULL);
	for (int i = 0; i < CHANS; i++) {
		while (weft_chan_try_recv(d.c[i], &v))
			d.taken += v;
		weft_chan_release(d.c[i]);
	}
	EQ(d.given, d.taken);
	OK(d.given > 0);
}

GTEST(dance_on_1, 1) { dance(10, false); }
GTEST(dance_on_2, 2) { dance(10, false); }
GTEST(dance_on_4, 4) { dance(50, true); }
GTEST(dance_on_8, 8) { dance(50, false); }

/*
 * ---- crossing: two selects that name two channels in opposite order, in
 * opposite roles. Whoever locks in the order of its list waits for ever.
 */

struct cross {
	weft_chan *a, *b;
	weft_waitgroup ended;
	long n;
	int64_t sum;
};

static void
cross(struct cross *x, bool swap)
{
	for (long i = 0; i < x->n; i++) {
		int64_t in = 0, out = 1;
		weft_chan *first = swap ? x->b : x->a;
		weft_chan *second = swap ? x->a : x->b;
		weft_case k[] = {
			WEFT_CASE_SEND_FROM(first, &out),
			WEFT_CASE_RECV(second, &in)
		};

		if (weft_select(k, 2) == 1)
			EQ(in, 1);
		__atomic_add_fetch(&x->sum, in ? 1 : -1, __ATOMIC_RELAXED);
	}
	weft_waitgroup_done(&x->ended);
}

/* a -> b meets b -> a on either channel; they pair off, two by two. */
static void
crossing(int pairs)
{
	struct cross x = {
		.a = weft_chan_make(8, 0), .b = weft_chan_make(8, 0),
		.n = t_scale(40000) / pairs
	};

	weft_waitgroup_add(&x.ended, 2 * pairs);
	for (int i = 0; i < pairs; i++) {
		OK(weft_try_go(cross, &x, false) > 0);
		OK(weft_try_go(cross, &x, true) > 0);
	}
	weft_waitgroup_wait(&x.ended);
	EQ(x.sum, 0);
	weft_chan_release(x.a);
	weft_chan_release(x.b);
}

GTEST(crossing_on_1, 1) { crossing(1); }
GTEST(crossing_on_2, 2) { crossing(1); crossing(4); }
GTEST(crossing_on_4, 4) { crossing(2); crossing(8); }

/* ---- close while selects and receives of all kinds wait ---- */

struct shutdown {
	weft_chan *c[CHANS];
	weft_waitgroup ended;
	long started;
};

static void
wait_for_close(struct shutdown *s, uint32_t seed)
{
	weft_case k[CHANS];
	int open = CHANS, i;

	for (int j = 0; j < CHANS; j++)
		k[j] = WEFT_CASE_RECV(s->c[j], NULL);
	__atomic_add_fetch(&s->started, 1, __ATOMIC_RELAXED);
	while (open > 0) {
		switch (roll(&seed) % 3) {
		case 0:
			i = weft_select(k, CHANS);
			break;
		case 1:
			i = weft_select_ordered(k, CHANS);
			break;
		default:
			i = weft_select_until(k, CHANS,
			    weft_deadline(50 * WEFT_US));
			break;
		}
		if (i == -ETIMEDOUT)
			continue;
		OK(i >= 0 && i < CHANS && !k[i].ok);
		k[i].chan = NULL;
		open--;
	}
	weft_waitgroup_done(&s->ended);
}

static void
shut_down(int waiters)
{
	struct shutdown s = {0};

	for (int i = 0; i < CHANS; i++)
		s.c[i] = weft_chan_make(8, (size_t)i);
	weft_waitgroup_add(&s.ended, waiters);
	for (int i = 0; i < waiters; i++)
		OK(weft_try_go(wait_for_close, &s, (uint32_t)i) > 0);
	while (__atomic_load_n(&s.started, __ATOMIC_RELAXED) < waiters / 2)
		weft_yield();
	for (int i = 0; i < CHANS; i++) {
		OK(weft_try_go(weft_chan_close, s.c[(i * 3 + 1) % CHANS]) > 0);
		if (waiters % 2)
			weft_yield();
	}
	weft_waitgroup_wait(&s.ended);
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i < CHANS; i++)
		weft_chan_release(s.c[i]);
}

static void
shut_downs(void)
{
	for (long i = t_scale(500); i > 0; i--)
		shut_down(10 + (int)i % 21);
}

GTEST(closed_under_all_on_1, 1) { shut_downs(); }
GTEST(closed_under_all_on_2, 2) { shut_downs(); }
GTEST(closed_under_all_on_4, 4) { shut_downs(); }

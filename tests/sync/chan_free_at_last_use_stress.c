/* SPDX-License-Identifier: MIT */
/*
 * Whoever has got the last value, or seen the close, frees the channel at
 * once, while the other side may still be on its way out of its call. So that
 * call must be done with the channel before the other one can know of it. A
 * sanitizer shows a touch too late; so does the channel that is made next, at
 * the same place, if it is not as new.
 *
 * Without that rule the usual program, a goroutine that sends its result to
 * one that then frees the channel, would need two references to it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum giver {
	SENDS, TRIES, UNTIL, CHOOSES, CHOOSES_TWICE, ORDERS, CHOOSES_UNTIL,
	CLOSES
};
enum taker {
	RECEIVES, POLLS, WAITS, SELECTS, SELECTS_MORE, SELECTS_TWICE, TAKERS
};

/* Others that a select waits for; two, so that one is locked after c. */
static weft_chan *never[2];

static void
prepare(void)
{
	for (int i = 0; i < 2; i++)
		never[i] = weft_chan_make(sizeof(int64_t), 0);
}

/* A short time, different each time, so that all orders happen. */
static void
linger(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	for (unsigned i = *seed >> 16 & 127; i > 0; i--)
		__asm__ volatile ("");
}

/* Returns as soon as the value is out of its hands. */
static void
give(weft_chan *c, enum giver how, int64_t value)
{
	weft_case k[] = {
		WEFT_CASE_RECV(never[0], NULL), WEFT_CASE_SEND_FROM(c, &value),
		WEFT_CASE_RECV(NULL, NULL), WEFT_CASE_RECV(never[1], NULL),
		WEFT_CASE_SEND_FROM(c, &value)
	};
	int got;
	unsigned seed = (unsigned)value;

	linger(&seed);
	switch (how) {
	case SENDS:
		weft_chan_send(c, &value);
		break;
	case TRIES:
		while (!weft_chan_try_send(c, &value))
			weft_yield();
		break;
	case UNTIL:
		EQ(weft_chan_send_until(c, &value,
		    weft_deadline(WEFT_SECOND * 50)),
		    true);
		break;
	case CHOOSES:
		EQ(weft_select(k, 4), 1);
		break;
	case CHOOSES_TWICE:
		got = weft_select(k, 5);
		OK(got == 1 || got == 4);
		break;
	case ORDERS:
		EQ(weft_select_ordered(k + 1, 1), 0);
		break;
	case CHOOSES_UNTIL:
		EQ(weft_select_until(k, 4, weft_deadline(WEFT_SECOND * 50)), 1);
		break;
	case CLOSES:
		weft_chan_close(c);
		break;
	}
}

/* Returns the value, 0 if it was closed. */
static int64_t
take(weft_chan *c, enum taker how)
{
	int64_t v = -1;
	weft_case k[] = {
		WEFT_CASE_RECV(c, &v), WEFT_CASE_RECV(never[0], NULL),
		WEFT_CASE_RECV(never[1], NULL), WEFT_CASE_RECV(c, &v)
	};
	int r;

	switch (how) {
	case RECEIVES:
		weft_chan_recv(c, &v);
		break;
	case POLLS:
		/* (v is 0 if it is closed.) */
		while (!weft_chan_try_recv(c, &v) && v != 0)
			weft_yield();
		break;
	case WAITS:
		OK(weft_chan_recv_until(c, &v,
		    weft_deadline(WEFT_SECOND * 50)) || v == 0);
		break;
	case SELECTS:
		EQ(weft_select(k, 1), 0);
		break;
	case SELECTS_MORE:
		EQ(weft_select(k, 3), 0);
		break;
	default:
		r = weft_select(k, 4);
		OK(r == 0 || r == 3);
		break;
	}
	return v;
}

/* In a new channel, which is likely to be where the last one was. */
static void
check_next(size_t cap)
{
	weft_chan *c = weft_chan_make(sizeof(int64_t), cap);

	EQ(weft_chan_len(c), 0);
	EQ(weft_chan_try_recv(c, NULL), false);
	EQ(weft_chan_try_send(c, NULL), cap > 0);
	weft_chan_release(c);
}

/* ---- the receiver frees ---- */

struct job {
	weft_chan *c;
	enum giver how;
	int64_t value;
};

static void *
give_plainly(void *arg)
{
	struct job j = *(struct job *)arg;

	free(arg);
	give(j.c, j.how, j.value);
	return NULL;
}

/* One that never waits needs one that does, or room. */
static bool
can_meet(enum giver giver, enum taker taker, size_t cap)
{
	return cap > 0 || giver != TRIES || taker != POLLS;
}

static void
taken(enum giver giver, enum taker taker, size_t cap, int64_t value,
    bool on_thread)
{
	weft_chan *c = weft_chan_make(sizeof(int64_t), cap);
	unsigned seed = (unsigned)value * 7;
	struct job *j;
	pthread_t t;

	if (on_thread) {
		j = malloc(sizeof *j);
		*j = (struct job){ c, giver, value };
		EQ(pthread_create(&t, NULL, give_plainly, j), 0);
	} else {
		OK(weft_try_go(give, c, giver, value) > 0);
	}
	if (value % 3)
		weft_yield();
	linger(&seed);
	EQ(take(c, taker), giver == CLOSES ? 0 : value);
	weft_chan_release(c);
	check_next(cap);
	if (on_thread)
		pthread_join(t, NULL);
}

static void
takers_free(enum giver giver)
{
	long n = t_scale(2000);

	prepare();
	for (enum taker taker = 0; taker < TAKERS; taker++)
		for (size_t cap = 0; cap < 2; cap++)
			for (long i = 1; i <= n; i++)
				if (can_meet(giver, taker, cap))
					taken(giver, taker, cap, i, false);
	while (weft_goroutines() > 1)
		weft_yield();
}

GTEST(after_send_on_1, 1) { takers_free(SENDS); }
GTEST(after_send_on_2, 2) { takers_free(SENDS); }
GTEST(after_send_on_4, 4) { takers_free(SENDS); }
GTEST(after_try, 2) { takers_free(TRIES); }
GTEST(after_until, 2) { takers_free(UNTIL); }
GTEST(after_select_on_1, 1) { takers_free(CHOOSES); }
GTEST(after_select_on_2, 2) { takers_free(CHOOSES); }
GTEST(after_select_on_4, 4) { takers_free(CHOOSES); }
GTEST(after_select_of_both, 2) { takers_free(CHOOSES_TWICE); }
GTEST(after_select_of_one, 2) { takers_free(ORDERS); }
GTEST(after_select_until, 2) { takers_free(CHOOSES_UNTIL); }
GTEST(after_close_on_2, 2) { takers_free(CLOSES); }
GTEST(after_close_on_4, 4) { takers_free(CLOSES); }

/* A thread gives, and may be anywhere on its way out. */
static void
threads_give(enum giver giver)
{
	long n = t_scale(100);

	prepare();
	for (enum taker taker = 0; taker < TAKERS; taker++)
		for (long i = 1; i <= n; i++)
			taken(giver, taker,
			    !can_meet(giver, taker, i % 2) || i % 2, i, true);
}

GTEST(after_send_of_thread, 2) { threads_give(SENDS); }
GTEST(after_try_of_thread, 2) { threads_give(TRIES); }
GTEST(after_until_of_thread, 2) { threads_give(UNTIL); }
GTEST(after_select_of_thread, 2) { threads_give(CHOOSES); }
GTEST(after_close_of_thread, 2) { threads_give(CLOSES); }

/* ---- the taker is the goroutine, main is on its way out ---- */

static void
take_and_free(weft_chan *c, enum taker how, int64_t want, weft_chan *ended)
{
	unsigned seed = (unsigned)want * 5;

	linger(&seed);
	EQ(take(c, how), want);
	weft_chan_release(c);
	weft_chan_send(ended, NULL);
}

static void
goroutines_free(enum giver giver)
{
	long n = t_scale(2000);
	weft_chan *ended = weft_chan_make(0, 1);

	prepare();
	for (enum taker taker = 0; taker < TAKERS; taker++)
		for (long i = 1; i <= n; i++) {
			size_t cap = (size_t)i % 2;
			weft_chan *c;

			if (!can_meet(giver, taker, cap))
				cap = 1;
			c = weft_chan_make(sizeof(int64_t), cap);
			OK(weft_try_go(take_and_free, c, taker,
			    giver == CLOSES ? 0 : (int64_t)i, ended) > 0);
			if (i % 3)
				weft_yield();
			give(c, giver, i);
			check_next(cap);
			weft_chan_recv(ended, NULL);
		}
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(ended);
}

GTEST(under_send_on_1, 1) { goroutines_free(SENDS); }
GTEST(under_send_on_2, 2) { goroutines_free(SENDS); }
GTEST(under_send_on_4, 4) { goroutines_free(SENDS); }
GTEST(under_try, 2) { goroutines_free(TRIES); }
GTEST(under_until, 2) { goroutines_free(UNTIL); }
GTEST(under_select, 2) { goroutines_free(CHOOSES); }
GTEST(under_select_of_both, 2) { goroutines_free(CHOOSES_TWICE); }
GTEST(under_close, 2) { goroutines_free(CLOSES); }

/* ---- the sender frees: without room it has been taken ---- */

static void
take_only(weft_chan *c, enum taker how, int64_t want, weft_chan *ended)
{
	unsigned seed = (unsigned)want * 5;

	linger(&seed);
	EQ(take(c, how), want);
	weft_chan_send(ended, NULL);
}

static void
givers_free(enum giver giver)
{
	long n = t_scale(2000);
	weft_chan *ended = weft_chan_make(0, 1);

	prepare();
	for (enum taker taker = 0; taker < TAKERS; taker++)
		for (long i = 1; i <= n; i++) {
			weft_chan *c = weft_chan_make(sizeof(int64_t), 0);

			if (!can_meet(giver, taker, 0)) {
				weft_chan_release(c);
				continue;
			}
			weft_go(take_only, c, taker, (int64_t)i, ended);
			if (i % 3)
				weft_yield();
			give(c, giver, i);
			weft_chan_release(c);
			check_next(0);
			weft_chan_recv(ended, NULL);
		}
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(ended);
}

GTEST(by_sender_on_1, 1) { givers_free(SENDS); }
GTEST(by_sender_on_2, 2) { givers_free(SENDS); }
GTEST(by_sender_on_4, 4) { givers_free(SENDS); }
GTEST(by_sender_until, 2) { givers_free(UNTIL); }
GTEST(by_selecting_sender, 2) { givers_free(CHOOSES); }

/* SPDX-License-Identifier: MIT */
/*
 * Among the cases that can go on the choice is random and fair: over n
 * trials each of k gets n / k, give or take ten times the deviation a fair
 * choice would have. It must not matter where in the list they stand, nor
 * what stands between them, nor whether the select had to wait.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum { TRIALS = 10000, MOST = 300 };

/* Ten times; sqrt without libm. */
static double
ten_sigma(double n, double p)
{
	double v = n * p * (1 - p), r = v;

	for (int i = 0; i < 100 && r > 0; i++)
		r = (r + v / r) / 2;
	return 10 * r;
}

static void
check_fair(const int *count, int k, int n)
{
	double p = 1.0 / k, off = ten_sigma(n, p);

	for (int i = 0; i < k; i++) {
		char text[100];

		if (count[i] >= n * p - off && count[i] <= n * p + off)
			continue;
		snprintf(text, sizeof text, "%d of %d got %d of %d, +-%.0f",
		    i, k, count[i], n, off);
		t_fail(__FILE__, __LINE__, text);
	}
}

/* ---- always ready ---- */

enum kind { CLOSED, FILLED, ROOM, KINDS };

/* A channel on which a case of this kind can go on for n times. */
static weft_chan *
ready_chan(enum kind kind, size_t n)
{
	weft_chan *c = weft_chan_make(kind == CLOSED ? 8 : 0, n);

	if (kind == CLOSED)
		weft_chan_close(c);
	for (size_t i = 0; kind == FILLED && i < n; i++)
		weft_chan_send(c, NULL);
	return c;
}

static weft_case
ready_case(enum kind kind, weft_chan *c)
{
	return kind == ROOM ? WEFT_CASE_SEND_FROM(c, NULL) :
	    WEFT_CASE_RECV(c, NULL);
}

/*
 * n cases, of which `ready` are, at the places in `at`; NULL channels stand
 * at every third of the others.
 */
static void
fair(int n, const int *at, int ready, enum kind kind)
{
	static weft_case k[MOST];
	static int count[MOST], place[MOST];
	weft_chan *never = weft_chan_make(8, 0);
	int trials = TRIALS;

	for (int i = 0; i < n; i++) {
		k[i] = WEFT_CASE_RECV(i % 3 ? never : NULL, NULL);
		place[i] = -1;
	}
	for (int i = 0; i < ready; i++) {
		k[at[i]] = ready_case(kind, ready_chan(kind, TRIALS));
		place[at[i]] = i;
		count[i] = 0;
	}
	for (int i = 0; i < trials; i++) {
		int r = weft_select(k, (size_t)n);

		OK(r >= 0 && r < n && place[r] >= 0);
		count[place[r]]++;
	}
	check_fair(count, ready, trials);
	for (int i = 0; i < ready; i++)
		weft_chan_release(k[at[i]].chan);
	weft_chan_release(never);
}

static void
all_ready(int n)
{
	int at[MOST];

	for (int i = 0; i < n; i++)
		at[i] = i;
	for (enum kind kind = 0; kind < KINDS; kind++)
		fair(n, at, n, kind);
}

GTEST(of_two, 1) { all_ready(2); }
GTEST(of_three, 1) { all_ready(3); }
GTEST(of_four, 1) { all_ready(4); }
GTEST(of_seven, 1) { all_ready(7); }
GTEST(of_sixteen, 1) { all_ready(16); }
GTEST(of_seventeen, 1) { all_ready(17); }
GTEST(of_sixty, 1) { all_ready(60); }

/*
 * A choice that begins at a random place and takes the next one that is ready
 * would favour a case that stands behind a gap.
 */
GTEST(behind_a_gap, 1)
{
	static const int pairs[][2] = {
		{ 0, 1 }, { 5, 6 }, { 0, 6 }, { 2, 3 }, { 3, 5 }, { 1, 2 }
	};

	for (int i = 0; i < 6; i++)
		for (enum kind kind = 0; kind < KINDS; kind++)
			fair(7, pairs[i], 2, kind);
}

GTEST(behind_a_gap_of_many, 1)
{
	static const int pairs[][2] = { { 0, 1 }, { 198, 199 }, { 0, 199 } };
	static const int triple[] = { 0, 1, 199 };

	for (int i = 0; i < 3; i++)
		fair(200, pairs[i], 2, CLOSED);
	fair(200, triple, 3, CLOSED);
}

/* Sends and receives, and the same channel in two places. */
GTEST(of_a_mixture, 1)
{
	weft_chan *a = ready_chan(CLOSED, 0), *b = ready_chan(ROOM, TRIALS);
	weft_chan *c = weft_chan_make(0, 10);
	weft_case k[] = {
		WEFT_CASE_RECV(a, NULL), WEFT_CASE_SEND_FROM(b, NULL),
		WEFT_CASE_RECV(a, NULL),
		WEFT_CASE_SEND_FROM(c, NULL), WEFT_CASE_RECV(c, NULL)
	};
	int count[5] = {0};

	for (int i = 0; i < 5; i++)
		weft_chan_send(c, NULL);
	for (int i = 0; i < TRIALS; i++) {
		int r = weft_select(k, 5);

		count[r]++;
		/* keep it half full */
		if (r == 3)
			weft_chan_recv(c, NULL);
		if (r == 4)
			weft_chan_send(c, NULL);
	}
	check_fair(count, 5, TRIALS);
	weft_chan_release(a);
	weft_chan_release(b);
	weft_chan_release(c);
}

/* Other forms choose the same way, also those that might not wait. */
GTEST(with_default_and_limit, 1)
{
	weft_chan *a = ready_chan(CLOSED, 0), *b = ready_chan(CLOSED, 0);
	weft_case k[] = {
		WEFT_CASE_DEFAULT, WEFT_CASE_RECV(a, NULL),
		WEFT_CASE_RECV(b, NULL)
	};
	int count[4][3] = {0};

	for (int i = 0; i < TRIALS; i++) {
		count[0][weft_select(k, 3)]++;
		count[1][weft_select_until(k + 1, 2, 1) + 1]++;
		count[2][weft_select_until(k + 1, 2, WEFT_NEVER) + 1]++;
		count[3][weft_select(k + 1, 2) + 1]++;
	}
	for (int i = 0; i < 4; i++) {
		EQ(count[i][0], 0);
		check_fair(count[i] + 1, 2, TRIALS);
	}
	weft_chan_release(a);
	weft_chan_release(b);
}

/* No two of a sequence of choices know of each other: pairs are fair too. */
GTEST(pairs_of_choices, 1)
{
	weft_chan *a = ready_chan(CLOSED, 0), *b = ready_chan(CLOSED, 0);
	weft_case k[] = { WEFT_CASE_RECV(a, NULL), WEFT_CASE_RECV(b, NULL) };
	int count[8] = {0};

	for (int i = 0; i < 4 * TRIALS; i++)
		count[weft_select(k, 2) * 4 + weft_select(k, 2) * 2 +
		    weft_select(k, 2)]++;
	check_fair(count, 8, 4 * TRIALS);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* On several Ps, each goroutine for itself. */
static void
fair_alone(void)
{
	weft_chan *a = ready_chan(CLOSED, 0), *b = ready_chan(CLOSED, 0);
	weft_case k[] = { WEFT_CASE_RECV(a, NULL), WEFT_CASE_RECV(b, NULL) };
	int count[2] = {0};

	for (int i = 0; i < TRIALS; i++) {
		count[weft_select(k, 2)]++;
		if (i % 100 == 0)
			weft_yield();
	}
	check_fair(count, 2, TRIALS);
	weft_chan_release(a);
	weft_chan_release(b);
}

GTEST(on_several, 4)
{
	weft_waitgroup ended = {0};

	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&ended, fair_alone);
	weft_waitgroup_wait(&ended);
}

TEST(on_a_thread) { fair_alone(); }

/* ---- having waited ---- */

struct sending {
	weft_chan *c;
	int values, n;
};

/* Sends any of 0 .. values - 1, n times. */
static void
send_any(struct sending *s)
{
	for (int i = 0; i < s->n; i++) {
		weft_case k[MOST];
		int v[MOST], r;

		for (int j = 0; j < s->values; j++) {
			v[j] = j;
			k[j] = WEFT_CASE_SEND_FROM(s->c, &v[j]);
		}
		r = weft_select(k, (size_t)s->values);
		OK(r >= 0 && r < s->values);
	}
	weft_chan_close(s->c);
}

/*
 * All cases are on one channel and become possible at once, when the receiver
 * comes. It comes last: the select waits each time.
 */
static void
any_value(size_t cap, int values, bool waits)
{
	struct sending s = {
		.c = weft_chan_make(sizeof(int), cap), .values = values,
		.n = TRIALS
	};
	int count[MOST] = {0}, v;

	OK(weft_try_go(send_any, &s) > 0);
	for (;;) {
		if (waits)
			weft_yield();
		if (!weft_recv_ok(s.c, &v))
			break;
		count[v]++;
	}
	check_fair(count, values, TRIALS);
	weft_chan_release(s.c);
}

GTEST(value_that_is_waited_for, 1) { any_value(0, 2, true); }
GTEST(value_on_a_meeting, 2) { any_value(0, 2, false); }
GTEST(value_with_room, 1) { any_value(100, 2, true); }
GTEST(seven_values_that_are_waited_for, 1) { any_value(0, 7, true); }
GTEST(twenty_values_that_are_waited_for, 1) { any_value(0, 20, true); }
GTEST(twenty_values_with_room, 1) { any_value(3, 20, true); }

static void
receive_any(weft_chan *c, int *count, weft_chan *ready)
{
	int v[2];

	for (int i = 0; i < TRIALS; i++) {
		weft_case k[] = {
			WEFT_CASE_RECV(c, &v[0]), WEFT_CASE_RECV(c, &v[1])
		};

		count[weft_select(k, 2)]++;
	}
	weft_chan_close(ready);
}

/* The same with two receives on one channel. */
GTEST(receive_that_is_waited_for, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	weft_chan *ready = weft_chan_make(0, 0);
	int count[2] = {0};

	OK(weft_try_go(receive_any, c, count, ready) > 0);
	for (int i = 0; i < TRIALS; i++) {
		weft_yield();
		weft_send(c, i);
	}
	weft_chan_recv(ready, NULL);
	check_fair(count, 2, TRIALS);
	weft_chan_release(c);
	weft_chan_release(ready);
}

/* ---- as one would use it ---- */

static void
send_for_ever(weft_chan *c, int v)
{
	for (;;)
		weft_send(c, v);
}

/*
 * Senders that always want to: each gets its turn, again and again. They are
 * not ready at every look, so how often is not a matter of chance alone; on
 * one P it is a tenth of its share at least.
 */
static void
none_starves(int senders, bool share)
{
	static weft_case k[MOST];
	static int count[MOST], v[MOST];
	int n = TRIALS, served = 0;

	for (int i = 0; i < senders; i++) {
		k[i] = WEFT_CASE_RECV(weft_chan_make(sizeof(int), 0), &v[i]);
		OK(weft_try_go(send_for_ever, k[i].chan, i) > 0);
	}
	for (int i = 0; share ? i < n : served < senders; i++) {
		int r = weft_select(k, (size_t)senders);

		EQ(v[r], r);
		if (++count[r] == 100)
			served++;
	}
	for (int i = 0; share && i < senders; i++)
		OK(count[i] > n / senders / 10);
}

GTEST(none_starves_on_1, 1) { none_starves(2, true); }
GTEST(none_of_seven_starves_on_1, 1) { none_starves(7, true); }
GTEST(none_starves_on_2, 2) { none_starves(2, false); }
GTEST(none_of_seven_starves_on_4, 4) { none_starves(7, false); }
GTEST(none_of_forty_starves_on_4, 4) { none_starves(40, false); }

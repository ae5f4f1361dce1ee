/* SPDX-License-Identifier: MIT */
/*
 * The ordered forms take the first case of the list that can go on, always.
 * That order holds in time too is tried in
 * tests/sync/select_ordered_causal_stress.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum { MOST = 40 };

static int
ordered(weft_case *k, size_t n, int form)
{
	switch (form) {
	case 0:		return weft_select_ordered(k, n);
	case 1:		return weft_select_ordered_until(k, n, 1);
	default:	return weft_select_ordered_until(k, n, WEFT_NEVER);
	}
}

/* Every subset of seven: the first of it is taken. */
GTEST(first_of_every_subset, 1)
{
	weft_chan *ready = weft_chan_make(8, 0), *never = weft_chan_make(8, 0);
	weft_case k[7];

	weft_chan_close(ready);
	for (int set = 1; set < 128; set++)
		for (int i = 0; i < 30; i++) {
			for (int j = 0; j < 7; j++)
				k[j] = WEFT_CASE_RECV(
				    set >> j & 1 ? ready : never, NULL);
			EQ(ordered(k, 7, i % 3), __builtin_ctz((unsigned)set));
		}
	weft_chan_release(ready);
	weft_chan_release(never);
}

/* Also when they are many, and of both kinds. */
GTEST(first_of_many, 1)
{
	weft_chan *full = weft_chan_make(4, 1), *room = weft_chan_make(4, 1000);
	weft_chan *never = weft_chan_make(4, 0);
	weft_case k[MOST];

	weft_send(full, 1);
	for (int first = 0; first < MOST; first++)
		for (int i = 0; i < 20; i++) {
			for (int j = 0; j < MOST; j++)
				k[j] = j < first ? j % 2 ?
				    WEFT_CASE_SEND_FROM(full, NULL) :
				    WEFT_CASE_RECV(never, NULL) : j % 2 ?
				    WEFT_CASE_SEND_FROM(room, NULL) :
				    WEFT_CASE_RECV(full, NULL);
			EQ(ordered(k, MOST, i % 3), first);
			if (first % 2 == 0)
				weft_send(full, 1);
		}
	EQ(weft_chan_len(full), 1);
	EQ(weft_chan_len(room), MOST / 2 * 20);
	weft_chan_release(full);
	weft_chan_release(room);
	weft_chan_release(never);
}

/* The channel's order decides what comes, the list's which place it gets. */
GTEST(drains_by_priority, 1)
{
	weft_chan *c[3];
	int v;
	weft_case k[3];

	for (int i = 0; i < 3; i++) {
		c[i] = weft_chan_make(sizeof(int), 100);
		for (int j = 0; j < 100; j++)
			weft_send(c[i], i * 100 + j);
		k[i] = WEFT_CASE_RECV(c[i], &v);
	}
	for (int j = 0; j < 300; j++) {
		EQ(ordered(k, 3, j % 3), j / 100);
		EQ(v, j);
	}
	EQ(weft_select_ordered_until(k, 3, 1), -ETIMEDOUT);
	for (int i = 0; i < 3; i++)
		weft_chan_release(c[i]);
}

/* A default stands last, wherever it stands. */
GTEST(default_is_last, 1)
{
	weft_chan *c = weft_chan_make(8, 0);
	weft_case k[] = {
		WEFT_CASE_DEFAULT, WEFT_CASE_RECV(NULL, NULL),
		WEFT_CASE_RECV(c, NULL)
	};

	EQ(ordered(k, 3, 0), 0);
	EQ(ordered(k, 3, 1), 0);
	EQ(ordered(k, 3, 2), 0);
	weft_chan_close(c);
	EQ(ordered(k, 3, 0), 2);
	EQ(ordered(k, 3, 1), 2);
	EQ(ordered(k, 3, 2), 2);
	weft_chan_release(c);
}

static void
wait_ordered(weft_case *k, int *result, weft_chan *ended)
{
	*result = weft_select_ordered(k, 3);
	weft_chan_close(ended);
}

/*
 * Several cases on one channel, waited for: all become possible at the same
 * moment, so the first of them is the one.
 */
GTEST(first_when_woken, 1)
{
	for (int i = 0; i < 100; i++) {
		weft_chan *c = weft_chan_make(sizeof(int), 0);
		weft_chan *ended = weft_chan_make(0, 0);
		int v[3] = {0}, result = -1;
		weft_case k[] = {
			WEFT_CASE_RECV(NULL, NULL), WEFT_CASE_RECV(c, &v[1]),
			WEFT_CASE_RECV(c, &v[2])
		};

		OK(weft_try_go(wait_ordered, k, &result, ended) > 0);
		for (int j = 0; j < 10; j++)
			weft_yield();
		if (i % 2)
			weft_send(c, 4);
		else
			weft_chan_close(c);
		weft_chan_recv(ended, NULL);
		EQ(result, 1);
		EQ(v[1], i % 2 ? 4 : 0);
		EQ(v[2], 0);
		weft_chan_release(c);
		weft_chan_release(ended);
	}
}

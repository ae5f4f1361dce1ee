/* SPDX-License-Identifier: MIT */
/*
 * A goroutine woken by the other side must not touch the channel again: that
 * side may have freed it at once. On one processor, of which no goroutine is
 * deprived, the order is certain: it waits, the partner ends the wait and frees
 * the channel, and all of that memory is overwritten before it runs again. A
 * touch is then seen without a sanitizer, too: a lock that is garbage is never
 * free, and a size that is garbage is enormous.
 */
#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { LARGEST = 1024, BLOCKS = LARGEST / 16 };

enum how { UNTIL, SELECT, ORDERED, SELECT_UNTIL, TWICE, BOTH_WAYS, HOWS };

static weft_chan *c, *other;
static int began, ended, value;

/* Otherwise, on a busy machine, two of them may run at the same time. */
__attribute__((constructor)) static void
set_limit(void)
{
	t_max_detached = -1;
}

/* A new block of each size, so also the one that was freed last. */
static void
overwrite(void *block[BLOCKS])
{
	for (int i = 0; i < BLOCKS; i++) {
		size_t bytes = ((size_t)i + 1) * 16;

		block[i] = malloc(bytes);
		memset(block[i], 0x5a, bytes);
	}
}

static void
give_back(void *block[BLOCKS])
{
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
}

/* The cases for c; others stand around them. Returns their number. */
static int
make_cases(weft_case *k, enum how how, bool send, int *v)
{
	static int none;
	int n = 0;

	k[n++] = (weft_case)WEFT_CASE_RECV(other, &none);
	k[n++] = send ? (weft_case)WEFT_CASE_SEND_FROM(c, v) :
	    (weft_case)WEFT_CASE_RECV(c, v);
	if (how == TWICE)
		k[n] = k[n - 1], n++;
	if (how == BOTH_WAYS)
		k[n++] = send ? (weft_case)WEFT_CASE_RECV(c, v) :
		    (weft_case)WEFT_CASE_SEND_FROM(c, v);
	k[n++] = (weft_case)WEFT_CASE_RECV(NULL, &none);
	return n;
}

/* 1 if it was sent or received, 0 if closed. */
static int
select_it(enum how how, bool send, int *v)
{
	int64_t when = weft_deadline(30 * WEFT_SECOND);
	weft_case k[4];
	int n = make_cases(k, how, send, v), i;

	if (how == ORDERED)
		i = weft_select_ordered(k, (size_t)n);
	else if (how == SELECT_UNTIL)
		i = weft_select_until(k, (size_t)n, when);
	else
		i = weft_select(k, (size_t)n);
	OK(i > 0 && i < n - 1);
	return send || k[i].ok;
}

static void
waits(enum how how, bool send, int expected)
{
	int64_t when = weft_deadline(30 * WEFT_SECOND);
	int v = send ? 42 : 7, r;

	began = 1;
	if (how != UNTIL)
		r = select_it(how, send, &v);
	else if (send)
		r = weft_chan_send_until(c, &v, when);
	else
		r = weft_chan_recv_until(c, &v, when);
	EQ(r, expected);
	value = v;
	ended = 1;
}

/* Lets one wait, ends that, and frees the channel. */
static void
once(enum how how, bool send, bool close)
{
	void *block[BLOCKS];
	int v = 9;

	c = weft_chan_make(sizeof v, 0);
	began = ended = 0;
	weft_go(waits, how, send, !close);
	while (!began)
		weft_yield();	/* it goes on until it waits */
	if (close)
		weft_chan_close(c);
	else if (send)
		OK(weft_chan_recv(c, &v));
	else
		weft_chan_send(c, &v);
	OK(!ended);
	weft_chan_release(c);
	overwrite(block);
	while (!ended)
		weft_yield();
	give_back(block);
	EQ(v, send ? 42 : 9);
	EQ(value, send ? 42 : close ? 0 : 9);
}

static void
each_way(bool send, bool close)
{
	other = weft_chan_make(sizeof(int), 0);
	for (int i = 0; i < 5; i++)
		for (enum how h = 0; h < HOWS; h++)
			if (!close || h != BOTH_WAYS)
				once(h, send, close);
	weft_chan_release(other);
}

GTEST(by_the_receiver, 1) { each_way(true, false); }
GTEST(by_the_sender, 1) { each_way(false, false); }
GTEST(by_the_closer, 1) { each_way(false, true); }

/* SPDX-License-Identifier: MIT */
/*
 * While a receive can go on at every instant a try never has to wait, though
 * it looks without a lock. What it must not see is a state between two others:
 * a ring without the element that was taken and the one of the sender that
 * waits, or a channel that is empty already and not closed yet.
 */
#include "t.h"

#include <limits.h>
#include <pthread.h>
#include <weft.h>

static weft_chan *c;
static int ready;

static void
meet(int both)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < both)
		;
}

/* ---- a full ring, and more senders than both will take ---- */

static long began;

static void
send_one(weft_waitgroup *wg)
{
	int v = 5;

	began++;
	weft_chan_send(c, &v);
	weft_waitgroup_done(wg);
}

static void *
take(void *n)
{
	int v;

	meet(2);
	for (long i = *(long *)n; i > 0; i--) {
		OK(weft_chan_recv(c, &v));
		EQ(v, 5);
	}
	return NULL;
}

static void *
try(void *n)
{
	long bad = 0;
	int v;

	meet(2);
	for (long i = *(long *)n; i > 0; i--)
		bad += !weft_chan_try_recv(c, &v);
	EQ(bad, 0);
	return NULL;
}

/* No goroutine loses its processor: else what is said next does not hold. */
__attribute__((constructor)) static void
set_limit(void)
{
	t_max_detached = -1;
}

/* On one processor: when all have begun all are waiting. */
static void
take_and_try(long n)
{
	weft_waitgroup wg = {0};
	long all = 2 * n + 2;
	pthread_t t[2];

	c = weft_chan_make(sizeof(int), 1);
	began = ready = 0;
	weft_waitgroup_add(&wg, (int)all);
	for (long i = 0; i < all; i++)
		weft_go(send_one, &wg);
	while (began < all)
		weft_yield();
	EQ(weft_chan_len(c), 1);
	EQ(pthread_create(&t[0], NULL, take, &n), 0);
	EQ(pthread_create(&t[1], NULL, try, &n), 0);
	for (int i = 0; i < 2; i++)
		EQ(pthread_join(t[i], NULL), 0);
	EQ(weft_chan_len(c), 1);
	while (weft_chan_try_recv(c, NULL))
		;
	weft_waitgroup_wait(&wg);
	weft_chan_release(c);
}

GTEST(full_ring_of_one, 1)
{
	while (t_more(0.4))
		take_and_try(t_scale(2000));
}

/* ---- it is closed before its last element is taken ---- */

enum { LAST = INT_MAX };
static int turn, seen;

static int
load(int *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void *
look(void *arg)
{
	int i = 1, now, v;

	while ((now = load(&turn)) != LAST) {
		if (now < i)
			continue;
		v = -1;		/* 0 if it is closed and drained */
		OK(weft_chan_try_recv(c, &v) || v == 0);
		__atomic_store_n(&seen, i++, __ATOMIC_RELEASE);
	}
	return arg;
}

TEST(closed_and_drained)
{
	int v = 1;
	pthread_t t;

	EQ(pthread_create(&t, NULL, look, NULL), 0);
	for (int i = 1; t_more(0.4); i++) {
		c = weft_chan_make(sizeof v, 1);
		v = 1;
		weft_chan_send(c, &v);
		v = -1;
		__atomic_store_n(&turn, i, __ATOMIC_RELEASE);
		for (volatile int k = 0; k < i % 200; k++)
			;
		weft_chan_close(c);
		OK(weft_chan_try_recv(c, &v) || v == 0);
		while (load(&seen) < i)
			;
		weft_chan_release(c);
	}
	__atomic_store_n(&turn, LAST, __ATOMIC_RELEASE);
	EQ(pthread_join(t, NULL), 0);
}

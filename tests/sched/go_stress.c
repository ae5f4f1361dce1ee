/* SPDX-License-Identifier: MIT */
/*
 * Spawn, yield, wait, exit, from goroutines and a plain thread, on 1 to 16
 * procs. Every goroutine is accounted for. T_SECONDS runs it for longer.
 */
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

static long started, ended;

static void
count(void *p)
{
	__atomic_add_fetch((long *)p, 1, __ATOMIC_RELAXED);
}

/* A tree of goroutines that end in different ways. */
static void
node(int depth, unsigned seed, weft_waitgroup *wg)
{
	weft_waitgroup inner = {0};

	__atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
	weft_defer(count, &ended);
	seed = seed * 1103515245 + 12345;
	for (unsigned i = 0; i < (seed >> 16 & 3); i++)
		weft_yield();
	for (int i = 0; depth > 0 && i < 3; i++) {
		weft_waitgroup_add(&inner, 1);
		weft_go(node, depth - 1, seed + (unsigned)i, &inner);
	}
	if (seed >> 20 & 1)
		weft_waitgroup_wait(&inner);
	else if (depth > 0)
		while (__atomic_load_n(&inner.state_, __ATOMIC_ACQUIRE))
			weft_yield();
	weft_waitgroup_done(wg);
	if (seed >> 21 & 1)
		weft_goexit();
}

static void *
from_thread(void *outer)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 20; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go(node, 2, (unsigned)i, &wg);
	}
	weft_waitgroup_wait(&wg);
	weft_waitgroup_done(outer);
	return NULL;
}

static void
churn(void)
{
	unsigned seed = 1;

	while (t_more(1.5)) {
		weft_waitgroup wg = {0};
		pthread_t t;

		weft_waitgroup_add(&wg, 1);
		pthread_create(&t, NULL, from_thread, &wg);
		for (int i = 0; i < 4; i++) {
			weft_waitgroup_add(&wg, 1);
			weft_go(node, 4, seed++, &wg);
		}
		weft_waitgroup_wait(&wg);
		pthread_join(t, NULL);
	}
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(started, ended);
	OK(started > 0);
}

GTEST(on_1, 1) { churn(); }
GTEST(on_2, 2) { churn(); }
GTEST(on_4, 4) { churn(); }
GTEST(on_8, 8) { churn(); }
GTEST(on_16, 16) { churn(); }

/* SPDX-License-Identifier: MIT */
/*
 * Everything runnable is running. As many goroutines as procs pass a token
 * around a ring, each spinning until it has it: if one of them is left on a
 * queue beside an idle P the ring stops for good.
 */
#include <sched.h>

#include <weft.h>

#include "t.h"

static int token;

/* Spins without calling weft; lets the kernel run others: few cores. */
static void
member(int nr, int n, int rounds, weft_waitgroup *wg)
{
	for (int r = 0; r < rounds; r++) {
		int mine = r * n + nr;

		while (__atomic_load_n(&token, __ATOMIC_ACQUIRE) != mine)
			sched_yield();
		__atomic_store_n(&token, mine + 1, __ATOMIC_RELEASE);
	}
	weft_waitgroup_done(wg);
}

static void
ring(int n)
{
	weft_waitgroup wg = {0};

	token = 0;
	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		weft_go(member, i, n, 20, &wg);
	weft_waitgroup_wait(&wg);
	EQ(token, n * 20);
}

static void
nothing(weft_waitgroup *wg)
{
	weft_yield();
	weft_waitgroup_done(wg);
}

static void
load(long n)
{
	weft_waitgroup wg = {0};

	for (long i = 0; i < n; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go(nothing, &wg);
	}
	weft_waitgroup_wait(&wg);
}

static void
rings(int n)
{
	for (long i = 0; i < t_scale(50); i++)
		ring(n);
	for (long i = 0; i < t_scale(20); i++) {
		load(t_scale(5000));
		ring(n);
	}
}

GTEST(on_1, 1) { rings(1); }
GTEST(on_2, 2) { rings(2); }
GTEST(on_4, 4) { rings(4); }
GTEST(on_16, 16) { rings(16); }

/* The ring starts from another P's queue, a thread's spawn, a wake-up. */
static weft_waitgroup gate;

static void
gated(int nr, int n, weft_waitgroup *wg)
{
	weft_waitgroup_wait(&gate);
	member(nr, n, 20, wg);
}

GTEST(woken_together, 8)
{
	for (long i = 0; i < t_scale(50); i++) {
		weft_waitgroup wg = {0};

		gate = (weft_waitgroup){0};
		token = 0;
		weft_waitgroup_add(&gate, 1);
		weft_waitgroup_add(&wg, 8);
		for (int k = 0; k < 8; k++)
			weft_go(gated, k, 8, &wg);
		weft_yield();
		weft_waitgroup_done(&gate);
		weft_waitgroup_wait(&wg);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * A thousand changes of procs while chains of goroutines respawn themselves:
 * nothing is lost and nothing gets stuck.
 */
#include <weft.h>

#include "t.h"

enum { CHAINS = 8 };
static int go_on = 1;
static long links[CHAINS];
static weft_waitgroup chains;

static void
chain(int nr)
{
	links[nr]++;
	if (__atomic_load_n(&go_on, __ATOMIC_RELAXED))
		OK(weft_try_go(chain, nr) > 0);
	else
		weft_waitgroup_done(&chains);
}

static void
resize(long times)
{
	static const int sizes[] = { 1, 2, 5, 16, 3, 64, 4 };

	weft_waitgroup_add(&chains, CHAINS);
	for (int i = 0; i < CHAINS; i++)
		weft_go(chain, i);
	for (long i = 0; i < times; i++) {
		int before = weft_procs(), n = sizes[i % 7];

		EQ(weft_set_procs(n), before);
		EQ(weft_procs(), n);
		weft_yield();
	}
	__atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&chains);
	for (int i = 0; i < CHAINS; i++)
		OK(links[i] > 0);
}

GTEST(a_thousand_times, 2) { resize(t_scale(1000)); }

static weft_waitgroup resizers;

static void
resizer(int seed)
{
	for (long i = 0; i < t_scale(200); i++)
		OK(weft_set_procs(1 + (int)(seed * 7 + i) % 9) > 0);
	weft_waitgroup_done(&resizers);
}

GTEST(by_several_at_once, 4)
{
	weft_waitgroup_add(&chains, CHAINS);
	for (int i = 0; i < CHAINS; i++)
		weft_go(chain, i);
	weft_waitgroup_add(&resizers, 3);
	for (int i = 0; i < 3; i++)
		weft_go(resizer, i);
	weft_waitgroup_wait(&resizers);
	__atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&chains);
}

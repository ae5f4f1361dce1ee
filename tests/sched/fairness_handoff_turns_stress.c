/* SPDX-License-Identifier: MIT */
/*
 * Two goroutines that hand over to each other, beside two that only yield. A
 * goroutine that was just woken goes first, but not for ever: the pair has some
 * 16 turns for each turn of a yielder, and must not have many more.
 */
#include "fairness.h"

enum { MOST = 32 };

static long yields;

static void
yielder(void)
{
	while (going_on()) {
		__atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
}

static void
turns(void)
{
	double pairs, others;

	for (int i = 0; i < weft_procs(); i++) {
		pair_start(0);
		weft_go(yielder);
		weft_go(yielder);
	}
	run_for(t_share(1));
	pairs = (double)pair_turns(0);
	others = (double)get(&yields);
	printf("# %d procs: %.1f turns of the pair for one of a yielder\n",
	    weft_procs(), pairs / others);
	OK(others > 0 && pairs / others <= allowed(MOST));
}

GTEST(on_1, 1) { turns(); }
GTEST(on_2, 2) { turns(); }
GTEST(on_8, 8) { turns(); }

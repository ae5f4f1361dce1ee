/* SPDX-License-Identifier: MIT */
/*
 * One P is stuck in a goroutine that does not come back while others are on
 * its queue; the other P only yields. They must run all the same.
 */
#include <sched.h>

#include <weft.h>

#include "t.h"

static int done;

static void
finish(void)
{
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void
hog(int n)
{
	for (int i = 0; i < n; i++)
		weft_go(finish);
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) < n)
		sched_yield();
}

GTEST(yielding_does_not_starve_them, 2)
{
	for (long i = 0; i < t_scale(500); i++) {
		done = 0;
		weft_go(hog, 3);
		while (__atomic_load_n(&done, __ATOMIC_RELAXED) < 3)
			weft_yield();
		while (weft_count() > 1)
			weft_yield();
	}
}

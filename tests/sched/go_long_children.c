/* SPDX-License-Identifier: MIT */
/*
 * A goroutine that spawns many lets them run now and then, which reuses warm
 * records and stacks. But it does not wait for children that take long: their
 * number would multiply the wait.
 */
#include <stdio.h>

#include "run_env.h"

#ifdef WEFT_HARD
TEST(all) { t_skip("in hard mode a spawner yields by the toss of a coin"); }
#else

enum { MANY = 2000, FEW = 100 };

static long begun, stop, ended;

static void
computes(void)
{
	bump(&begun);
	compute(&stop);
	bump(&ended);
}

/* One yield, of which the children learn that they are slow, and some slices
 * that end while the spawner is preempted by the kernel. */
GTEST(spawner_does_not_wait_for_each, 1)
{
	long seen;

	for (int i = 0; i < MANY; i++)
		weft_go(computes);
	seen = get(&begun);
	fprintf(stderr, "# %ld of %d had begun\n", seen, MANY);
	OK(seen <= FEW);
	bump(&stop);
	await(&ended, MANY);
}

static void
ends_at_once(void)
{
	bump(&ended);
}

/* Short ones run meanwhile, so that there are never many. */
GTEST(short_children_run_meanwhile, 1)
{
	for (int i = 0; i < MANY; i++)
		weft_go(ends_at_once);
	OK(get(&ended) > 0 || t_scale(100) < 100);
	await(&ended, MANY);
}
#endif

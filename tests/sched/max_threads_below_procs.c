/* SPDX-License-Identifier: MIT */
/*
 * Fewer threads than processors: a P without a thread is of no help, so a
 * goroutine that computes is stopped for others all the same.
 */
#include "run_env.h"

enum { TURNS = 20 };

static long stop;

static void
hog(void)
{
	compute(&stop);
}

static int
turns_beside_a_loop(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (!can_preempt())
		t_skip("one thread cannot run two goroutines that compute");
	weft_go(hog);
	for (int i = 0; i < TURNS; i++)
		weft_yield();
	for (int i = 0; i < TURNS; i++)
		weft_sleep(WEFT_MS);
	bump(&stop);
	return 0;
}

TEST(one_thread_for_two_processors)
{
	weft_config c = { .procs = 2, .max_threads = 1 };

	EQ(weft_run_config(&c, sizeof c, turns_beside_a_loop, 0, NULL), 0);
}

TEST(two_threads_for_four_processors)
{
	weft_config c = { .procs = 4, .max_threads = 2 };

	EQ(weft_run_config(&c, sizeof c, turns_beside_a_loop, 0, NULL), 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Goroutines of a program that fails the audit are paused at awkward moments:
 * in announced calls, and where no more threads are to be had.
 */
#include "run_env.h"

/* The program has state in its threads: it is not preempted, but paused. */
static __thread volatile long mine;

enum { LOOPS = 6, BEATS = 50 };

static weft_waitgroup all;
static long stop, turns[LOOPS];

static void *
quick(void *arg)
{
	mine++;
	return arg;
}

/* Computes for a while, and announces a call that returns at once. */
static void
computes_and_calls(void)
{
	while (!get(&stop)) {
		for (volatile int i = 0; i < 20000; i++)
			;
		for (int i = 0; i < 100; i++)
			weft_blocking(quick, NULL);
	}
	weft_waitgroup_done(&all);
}

static void
between_announced_calls(void)
{
	double end = t_now() + t_share(2);

	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(computes_and_calls);
	while (t_now() < end)
		weft_sleep(100 * WEFT_US);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

GTEST(between_announced_calls_on_1, 1) { between_announced_calls(); }
GTEST(between_announced_calls_on_2, 2) { between_announced_calls(); }

static void
loop(int i)
{
	mine = i;
	while (!get(&stop))
		__atomic_add_fetch(&turns[i], 1, __ATOMIC_RELAXED);
}

static int
beat_beside_loops(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int i = 0; i < LOOPS; i++)
		weft_go(loop, i);
	for (int i = 0; i < BEATS; i++)
		weft_sleep(WEFT_MS);
	for (int i = 0; i < LOOPS; i++)
		await(&turns[i], 1);
	bump(&stop);
	return 0;
}

/* Hardly more threads than loops: all take turns, and main, too. */
TEST(at_the_limit_of_threads)
{
	weft_config c = { .procs = 2, .max_threads = LOOPS + 2 };

	if (weft_run_config(&c, sizeof c, beat_beside_loops, 0, NULL) != 0)
		t_fail(__FILE__, __LINE__, "did not run");
}

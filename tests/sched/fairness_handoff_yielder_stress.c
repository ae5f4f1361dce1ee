/* SPDX-License-Identifier: MIT */
/*
 * Two goroutines hand over to each other after 8 ms of work each, and a third
 * only yields; as many of each as there are processors. The one that is handed
 * to goes first, yet the third must have a turn after some slices of 10 ms, and
 * not after some number of hand-overs.
 *
 * What counts is the median of its waits, in the time of a processor
 * (proc_time). A yield that returns before any other goroutine has worked is
 * not a wait.
 */
#include "fairness.h"

enum { WORK_MS = 8, MOST_MS = 60 };

static struct samples waits, wall;

static void
third(void)
{
	while (going_on()) {
		int64_t t = proc_time(), w = weft_now();

		weft_yield();
		t = proc_time() - t;
		w = weft_now() - w;
		if (t >= WEFT_MS && going_on()) {
			sample(&waits, t);
			sample(&wall, w);
		}
	}
}

static void
third_waits(void)
{
	calibrate();
	for (int i = 0; i < weft_procs(); i++) {
		pair_start(WORK_MS * WEFT_MS);
		weft_go(third);
	}
	run_for(t_share(1.5));
	print_waits(&waits, &wall);
	OK(sample_ms(&waits, 0.5) <= allowed(MOST_MS));
}

GTEST(on_1, 1) { third_waits(); }
GTEST(on_2, 2) { third_waits(); }
GTEST(on_8, 8) { third_waits(); }

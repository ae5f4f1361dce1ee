/* SPDX-License-Identifier: MIT */
/*
 * Two pairs for each processor: one works a millisecond before each hand-over,
 * one ten microseconds, which is more than a hand-over costs in any build. They
 * share the CPU by time, and not by turns, which would be a hundred to one.
 */
#include "fairness.h"

#define SHORT (10 * WEFT_US)

enum {
	MOST = 4,
	/* With more processors than CPUs a pair may be spread over two of
	 * them: handing over wakes a thread, which takes longer than the short
	 * turn. */
	MOST_SPREAD = 16
};

static inline void
share(int most)
{
	double longer, shorter;

	calibrate();
	for (int i = 0; i < weft_procs(); i++) {
		pair_start(WEFT_MS);
		pair_start(SHORT);
	}
	run_for(t_share(2));
	longer = (double)pair_turns(WEFT_MS) * WEFT_MS;
	shorter = (double)pair_turns(SHORT) * SHORT;
	printf("# %d procs: long turns %.0f ms, short turns %.0f ms of work, "
	    "%.1f to 1\n", weft_procs(), longer / WEFT_MS, shorter / WEFT_MS,
	    longer / shorter);
	OK(shorter > 0 && longer / shorter <= allowed(most));
	OK(longer > 0 && shorter / longer <= allowed(most));
}

#ifdef WEFT_HARD
TEST(all) { t_skip("hard mode picks the next goroutine at random"); }
#else
GTEST(on_1, 1) { share(MOST); }
GTEST(on_2, 2) { share(MOST); }
GTEST(on_8, 8) { share(MOST_SPREAD); }
#endif

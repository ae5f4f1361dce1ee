/* SPDX-License-Identifier: MIT */
/*
 * A goroutine that has changed the rounding mode and is preempted has it when
 * it goes on, and no other one has it meanwhile; the flags of what happened in
 * its computations too.
 */
#include <fenv.h>

#include "run_env.h"

static weft_waitgroup all;
static long stop, wrong, rounds;

static bool
divides_as(int mode)
{
	volatile double one = 1.0, three = 3.0, minus = -1.0;
	volatile double up = one / three, down = minus / three;

	return mode == FE_UPWARD ? up > -down :
	    mode == FE_DOWNWARD ? up < -down : up == -down;
}

/* No call of weft in between: such a call puts the mode back. */
static void
computes(int mode)
{
	while (!get(&stop)) {
		volatile double zero = 0.0, one = 1.0;

		fesetround(mode);
		feclearexcept(FE_ALL_EXCEPT);
		for (int i = 0; i < 2000; i++)
			if (!divides_as(mode))
				bump(&wrong);
		if (fegetround() != mode || fetestexcept(FE_DIVBYZERO))
			bump(&wrong);
		one = one / zero;
		for (volatile int i = 0; i < 2000; i++)
			;
		if (!fetestexcept(FE_DIVBYZERO))
			bump(&wrong);
		fesetround(FE_TONEAREST);
		bump(&rounds);
	}
	weft_waitgroup_done(&all);
}

static void
compute_all(void)
{
	weft_waitgroup_add(&all, 4);
	weft_go(computes, FE_UPWARD);
	weft_go(computes, FE_DOWNWARD);
	weft_go(computes, FE_TONEAREST);
	weft_go(computes, FE_TONEAREST);
	stop_after(2, &stop, &all);
	OK(rounds > 0);
	EQ(wrong, 0);
	if (can_preempt())
		OK(stalls_now().preempted > 0);
}

ETEST(on_one, 1, "WEFT_SLICE_US=50") { compute_all(); }
ETEST(on_two, 2, "WEFT_SLICE_US=50") { compute_all(); }

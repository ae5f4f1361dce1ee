/* SPDX-License-Identifier: MIT */
/* Endless loops, in a program that can be preempted by signals. */
#include "loops.h"

enum { SIGNALS = !T_SANITIZED };

static void
preempted_or_taken(bool signals)
{
	weft_preempt_stats s;

	both_advance();
	s = stalls_now();
	OK(s.asked > 0);
	if (signals) {
		OK(can_preempt());
		OK(s.preempted > 0);
		OK(s.signals >= s.preempted);
	} else {
		EQ(s.signals, 0);
		EQ(s.preempted, 0);
		OK(s.taken[WEFT_RETAKE_OFF] > 0);
		OK(s.detached > 0);
	}
}

GTEST(how_with_signals, 1) { preempted_or_taken(SIGNALS); }
ETEST(how_without, 1, "WEFT_PREEMPT_SIGNAL=-1") { preempted_or_taken(false); }

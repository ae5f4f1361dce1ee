/* SPDX-License-Identifier: MIT */
/* Endless loops, in a program whose code must stay on its thread. */
#include "loops.h"

static __thread volatile long mine;

GTEST(never_preempted, 1)
{
	weft_preempt_stats s;

	mine++;
	both_advance();
	s = stalls_now();
	OK(!can_preempt());
	EQ(s.preempted, 0);
	OK(s.paused[WEFT_RETAKE_OFF] > 0 || s.taken[WEFT_RETAKE_OFF] > 0);
}

/* What it has in its thread stays so while it makes no call. */
static void
keep_mine(long nr, long *stop, long *end)
{
	mine = nr;
	while (!get(stop))
		if (mine != nr)
			t_fail(__FILE__, __LINE__, "another thread");
	bump(end);
}

GTEST(thread_locals_stay, 2)
{
	static long stop, end;

	for (long i = 1; i <= LOOPS; i++)
		weft_go(keep_mine, i, &stop, &end);
	for (int i = 0; i < 30; i++)
		weft_sleep(2 * WEFT_MS);
	bump(&stop);
	await(&end, LOOPS);
}

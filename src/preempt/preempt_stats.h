/* SPDX-License-Identifier: MIT */
/*
 * What was done about goroutines that did not come back, counted. Written by
 * the monitor, and by Ms in the handler of the preemption signal.
 */
#ifndef STALL_H
#define STALL_H

#include "atomic.h"
#include "weft.h"

struct stalls {
	a64 asked, signals, preempted, interrupted, capped;
	a64 pauses;		/* of all kinds */
	a64 refused[WEFT_TAKEN_REASONS], taken[WEFT_TAKEN_REASONS];
	a64 paused[WEFT_TAKEN_REASONS];
};

extern struct stalls stalls;

static inline void
stall_count(a64 *counter)
{
	a_add_relaxed(counter, 1);
}

static inline void
stall_count_taken(int why)
{
	stall_count(&stalls.taken[why]);
}

#endif

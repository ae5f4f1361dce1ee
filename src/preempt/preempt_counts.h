/* SPDX-License-Identifier: MIT */
/*
 * Preemption statistics. Written by the monitor, and by Ms in the handler of
 * the preemption signal.
 */
#ifndef PREEMPT_COUNTS_H
#define PREEMPT_COUNTS_H

#include "atomic.h"
#include "weft.h"

struct preempt_stats {
	a64 asked, signals, preempted, interrupted, capped;
	a64 pauses;		/* of all kinds */
	a64 refused[WEFT_RETAKE_REASONS], taken[WEFT_RETAKE_REASONS];
	a64 paused[WEFT_RETAKE_REASONS];
};

extern struct preempt_stats preempt_stats;

static inline void
preempt_stats_inc(a64 *counter)
{
	a_add_relaxed(counter, 1);
}

static inline void
preempt_stats_inc_taken(int why)
{
	preempt_stats_inc(&preempt_stats.taken[why]);
}

#endif

/* SPDX-License-Identifier: MIT */
/* What was done about goroutines that did not yield: the counters. */
#include "defs.h"
#include "preempt_counts.h"
#include "sched.h"
#include "sized.h"

_Static_assert((int)WEFT_RETAKE_REASONS <= WEFT_RETAKE_REASONS_MAX,
    "threads.h");

public const char *
weft_retake_reason_name(enum weft_retake_reason why)
{
	static const char *const names[WEFT_RETAKE_REASONS] = {
		[WEFT_RETAKE_CALL] = "in an announced blocking call",
		[WEFT_RETAKE_ASLEEP] = "asleep in the kernel",
		[WEFT_RETAKE_OFF] = "preemption by signals is off",
		[WEFT_RETAKE_LATE] = "signal not handled in time",
		[WEFT_RETAKE_REGION] = "pinned or not to be preempted",
		[WEFT_RETAKE_RUNTIME] = "in the runtime",
		[WEFT_RETAKE_FOREIGN] = "in a library",
		[WEFT_RETAKE_FRAME] = "called back by a library",
		[WEFT_RETAKE_UNKNOWN] = "stack not unwound",
		[WEFT_RETAKE_TIED] = "has a pointer to its thread's memory",
		[WEFT_RETAKE_STACK] = "no room on its stack",
		[WEFT_RETAKE_LIBC] = "in libc, the loader or malloc",
		[WEFT_RETAKE_NO_THREAD] = "no other thread",
		[WEFT_RETAKE_REALTIME] = "real-time policy",
	};

	return why < WEFT_RETAKE_REASONS ? names[why] : "?";
}

public void
weft_preempt_stats_read(weft_preempt_stats *out, size_t bytes)
{
	int off = (int)a_load_relaxed(&sched.n_detached[DETACHED_NOT]);
	/* pairs with on_signal: read before those that were sent, so it is
	 * never more */
	uint64_t preempted = a_load_acq(&preempt_stats.preempted);
	weft_preempt_stats s = {
		.asked = a_load_relaxed(&preempt_stats.asked),
		.signals = a_load_relaxed(&preempt_stats.signals),
		.preempted = preempted,
		.interrupted = a_load_relaxed(&preempt_stats.interrupted),
		.capped = a_load_relaxed(&preempt_stats.capped),
		.paused_now = (int)a_load_relaxed(&sched.n_paused),
		.detached = (int)a_load_relaxed(
		    &sched.n_detached[DETACHED_RUNNING]),
	};

	s.blocked = off - s.detached;
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++) {
		s.refused[i] = a_load_relaxed(&preempt_stats.refused[i]);
		s.paused[i] = a_load_relaxed(&preempt_stats.paused[i]);
		s.taken[i] = a_load_relaxed(&preempt_stats.taken[i]);
	}
	sized_out(out, bytes, &s, sizeof s);
}

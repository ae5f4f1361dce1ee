/* SPDX-License-Identifier: MIT */
/* What was done about goroutines that did not come back, for all to see. */
#include "defs.h"
#include "preempt_stats.h"
#include "sched.h"

public const char *
weft_taken_name(enum weft_taken why)
{
	static const char *const names[WEFT_TAKEN_REASONS] = {
		[WEFT_TAKEN_CALL] = "in an announced call",
		[WEFT_TAKEN_ASLEEP] = "asleep in the kernel",
		[WEFT_TAKEN_OFF] = "preemption by signals is off",
		[WEFT_TAKEN_LATE] = "signal not handled in time",
		[WEFT_TAKEN_REGION] = "pinned or not to be preempted",
		[WEFT_TAKEN_RUNTIME] = "in the runtime",
		[WEFT_TAKEN_FOREIGN] = "in a library",
		[WEFT_TAKEN_FRAME] = "called back by a library",
		[WEFT_TAKEN_UNKNOWN] = "callers not made out",
		[WEFT_TAKEN_TIED] = "has a pointer to its thread's memory",
		[WEFT_TAKEN_STACK] = "no room on its stack",
		[WEFT_TAKEN_LIBC] = "in libc, the loader or malloc",
		[WEFT_TAKEN_NO_THREAD] = "no thread to go on with",
		[WEFT_TAKEN_REALTIME] = "real-time policy",
	};

	return why < WEFT_TAKEN_REASONS ? names[why] : "?";
}

public void
weft_stalls_read(weft_stalls *out)
{
	int off = (int)a_load_relaxed(&sched.n_detached[DETACHED_NOT]);
	/* pairs with on_signal: read before those that were sent, so it is
	 * never more */
	uint64_t preempted = a_load_acq(&preempt_stats.preempted);

	*out = (weft_stalls){
		.asked = a_load_relaxed(&preempt_stats.asked),
		.signals = a_load_relaxed(&preempt_stats.signals),
		.preempted = preempted,
		.interrupted = a_load_relaxed(&preempt_stats.interrupted),
		.capped = a_load_relaxed(&preempt_stats.capped),
		.paused_now = (int)a_load_relaxed(&sched.n_paused),
		.loose = (int)a_load_relaxed(&sched.n_detached[DETACHED_RUNNING]),
	};
	out->blocked = off - out->loose;
	for (int i = 0; i < WEFT_TAKEN_REASONS; i++) {
		out->refused[i] = a_load_relaxed(&preempt_stats.refused[i]);
		out->paused[i] = a_load_relaxed(&preempt_stats.paused[i]);
		out->taken[i] = a_load_relaxed(&preempt_stats.taken[i]);
	}
}

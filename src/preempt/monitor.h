/* SPDX-License-Identifier: MIT */
/*
 * The monitor, a thread without a P that sees to it that no P is stuck. See
 * monitor.c for what it does and when it sleeps.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "atomic.h"
#include "defs.h"

struct monitor_state {
	/* the monitor writes, any thread reads */
	a64 until;		/* it sleeps until then */
	a32 deep;		/* ... or until it is woken: all Ps are idle */
	a32 slow;		/* it sleeps longer than a hint can wait */
};

extern struct monitor_state monitor_state;

/* Starts the thread, once. 0 or -errno. */
int monitor_start(int64_t slice_us);
/* In the child of a fork: it has none. */
void monitor_forked(void);
void monitor_wake(void);

/* Is it in deep sleep? Under sched.lock, when a P leaves the idle list. */
static inline bool
monitor_asleep(void)
{
	/* sc: pairs with try_deep_sleep, which checks for Ps in use after */
	return a_load_sc(&monitor_state.deep) != 0;
}

/*
 * Work was queued that only the monitor may be able to have run: every P may
 * be with an M that does not yield. Shortens a long sleep.
 */
static inline void
monitor_hint(void)
{
	if (a_load_relaxed(&monitor_state.slow))
		monitor_wake();
}

/* No P is idle, and a timer was armed: the monitor must not sleep longer. */
static inline void
monitor_timer_set(int64_t when)
{
	/* sc: pairs with publish_wake_time, which checks the timers after */
	if (when < (int64_t)a_load_sc(&monitor_state.until))
		monitor_wake();
}

#endif

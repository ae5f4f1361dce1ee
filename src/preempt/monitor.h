/* SPDX-License-Identifier: MIT */
/*
 * The monitor, a thread without a P that sees to it that nobody is stuck. See
 * monitor.c for what it does and when it sleeps.
 */
#ifndef SYSMON_H
#define SYSMON_H

#include "atomic.h"
#include "defs.h"

struct sysmon_state {
	/* the monitor writes, any thread reads */
	a64 until;		/* it sleeps until then */
	a32 deep;		/* ... or until it is woken: all is idle */
	a32 slow;		/* it sleeps longer than a hint can wait */
};

extern struct sysmon_state sysmon;

/* Starts the thread, once. 0 or -errno. */
int sysmon_start(int64_t slice_us);
/* In the child of a fork: it has none. */
void sysmon_forked(void);
void sysmon_wake(void);

/* Is it in deep sleep? Asked under sched.lock, when a P begins to be used. */
static inline bool
sysmon_asleep(void)
{
	/* sc: pairs with fall_asleep, which looks for a P in use after */
	return a_load_sc(&sysmon.deep) != 0;
}

/*
 * Something waits that only the monitor may be able to help: work is queued
 * and every P may be with an M that does not come back.
 */
static inline void
sysmon_hint(void)
{
	if (a_load_relaxed(&sysmon.slow))
		sysmon_wake();
}

/* No P is idle, and a timer was set: it must not sleep longer than that. */
static inline void
sysmon_alarm(int64_t when)
{
	/* sc: pairs with nap, which looks at the timers after */
	if (when < (int64_t)a_load_sc(&sysmon.until))
		sysmon_wake();
}

#endif

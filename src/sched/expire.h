/* SPDX-License-Identifier: MIT */
/*
 * Arming timers, and which thread fires them. See expire.c.
 */
#ifndef EXPIRE_H
#define EXPIRE_H

#include "insn.h"
#include "os.h"
#include "p.h"
#include "timer_heap.h"

struct m;

extern struct timer_heap expire_common;	/* of threads without a P */

/*
 * Arms an idle timer on this P's heap (a common one for a thread without a P),
 * and makes sure that a thread looks in time. Fatal on allocation failure. No
 * lock of RANK_TIMER or after held.
 */
void expire_arm(struct timer *t, int64_t when);
/* The same for a caller that can do without: 0 or -ENOMEM. */
int expire_try_arm(struct timer *t, int64_t when);
/* The same for one that may be armed, as timer_heap_set. */
int expire_rearm(struct timer *t, int64_t when, int64_t period, bool *was);
/* The same for a goroutine that is parked and only sleeps. */
void expire_arm_g(struct g *gp, int64_t when);

/* Fires what is due in one heap. True if it woke a goroutine. No lock held. */
bool expire_run(struct timer_heap *h);
/* The same for all heaps. */
bool expire_run_all(void);

bool expire_due_slow(struct p *pp);

/* Is there a timer of this P, or of the common heap? */
static inline bool
expire_armed(struct p *pp)
{
	int64_t own = (int64_t)a_load_relaxed(&pp->timers.first);
	int64_t any = (int64_t)a_load_relaxed(&expire_common.first);

	return unlikely(own != NEVER_NS || any != NEVER_NS);
}

/*
 * Is one due? Called at every switch, so the clock is read only if there is a
 * timer, and not twice within a few microseconds.
 */
static inline bool
expire_due(struct p *pp)
{
	return expire_armed(pp) && expire_due_slow(pp);
}

/* The earliest time of all heaps, NEVER_NS if there is none. Any thread. */
int64_t expire_next(void);
bool expire_due_any(void);
/* Is any timer armed, or just being fired? No lock held. */
bool expire_pending(void);

/*
 * Makes sure that a thread looks at `when`: the watcher, if a P is idle, and
 * else the monitor. No lock held.
 */
void expire_notify(int64_t when);

/*
 * For goroutines that wait for descriptors: makes sure that there is a watcher
 * in the poller, if a P is idle. No lock held.
 */
void expire_need_watcher(void);
/* There is something new to watch: pokes the watcher, or an M that becomes
 * it. No lock held. */
void expire_poke_watcher(void);

/*
 * This M is on the idle list and about to sleep: true if it is the watcher,
 * and until when it sleeps. NEVER_NS if there is no timer to wait for, or
 * another M is the watcher.
 */
bool expire_watch(struct m *mp, int64_t *until);
/* sched.lock held: there is no watcher any more. */
void expire_unwatch(void);

#endif

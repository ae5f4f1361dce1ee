/* SPDX-License-Identifier: MIT */
/*
 * What the files of the monitor share: monitor.c (when it looks, and what else
 * it does) and stuck.c (goroutines that do not come back). All of it belongs
 * to the monitor's thread.
 */
#ifndef MONITOR_STATE_H
#define MONITOR_STATE_H

#include "retake.h"
#include "sched.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

#define ROUND_MIN (20 * US)		/* between two looks */
#define ROUND_MAX (10 * MS)
#define ROUND_WAITING (1 * MS)		/* ... at most, while others wait */

enum { TAKE_MAX = 64 };

struct monitor {
	int64_t slice;
	bool always;		/* slices end whether others wait or not */
	int64_t round;		/* how long it sleeps between two looks */
	int64_t busy_at;	/* when a P was last seen in use */
	int64_t recall_at;	/* when to look at those without a P */
	int64_t scavenge_at;
	bool scavenging;		/* there may be more to give back */
	uint64_t verified;	/* sched.idle_gen when descriptors were */
	uint64_t last_poll;	/* netpoll.last_poll when we last looked */
	uint64_t preempted;	/* how often somebody was, */
	int64_t hogs_seen_at;	/* ... and when that was last seen */
	bool was_stuck;		/* a P was, at the last look */
	int64_t slept_at;	/* when a thread was last found asleep */
	/* of this look */
	int64_t now, wake_by;	/* sleep no longer than until then */
	bool saturated;		/* no P is idle, and something is queued */
	bool waiting;		/* something is queued at a P in use */
	uint32_t n_stuck;	/* Ps that did not come to what they have */
	bool urgent, acted;
	bool listen;		/* sleeps in the poller */
	uint32_t n_asked, n_take;
	struct retake_try retakes[TAKE_MAX];
	struct p *oldest;	/* has run longest, for who is urgent */
};

extern struct monitor mon;

/* It sleeps no longer than until then. */
static inline void
wake_no_later(int64_t when)
{
	if (when < mon.wake_by)
		mon.wake_by = when;
}

/* ---- stuck.c ---- */

/* At a look, for each P in use; then what follows from all of them. */
void stuck_check(struct p *pp);
void stuck_preempt_oldest(void);
/* After the Ps that were planned to be taken have been. */
void stuck_retry_detached(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the files of the monitor share: monitor.c (when its rounds are, and
 * what it does beside) and stuck.c (goroutines that do not yield). All of it
 * belongs to the monitor's thread.
 */
#ifndef MONITOR_STATE_H
#define MONITOR_STATE_H

#include "retake.h"
#include "sched.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

#define ROUND_MIN (20 * US)		/* from round to round */
#define ROUND_MAX (10 * MS)
#define ROUND_WAITING (1 * MS)		/* ... at most, if goroutines wait */

enum { TAKE_MAX = 64 };

struct monitor {
	int64_t slice;
	bool always;		/* slices end whether others wait or not */
	int64_t round;		/* how long it sleeps between two rounds */
	int64_t busy_at;	/* when a P was last seen in use */
	int64_t recall_at;	/* when to signal detached Ms again */
	int64_t scavenge_at;
	bool scavenging;	/* there may be more to give back */
	uint64_t verified;	/* sched.idle_gen when descriptors were */
	uint64_t last_poll;	/* netpoll.last_poll in the last round */
	uint64_t preempted;	/* preemptions and pauses counted so far, */
	int64_t hogs_seen_at;	/* ... and when that last changed */
	bool was_stuck;		/* n_stuck > 0 in the last round */
	int64_t slept_at;	/* when a thread was last found blocked */
	int64_t last;		/* when the last round began */
	uint32_t fast_rounds;	/* in a row, with all Ps switching: slack */
	/* of this round */
	int64_t now, wake_by;	/* sleep no longer than until wake_by */
	bool saturated;		/* no P is idle, and work is queued */
	bool waiting;		/* work is queued at a P in use */
	uint32_t n_stuck;	/* Ps with work and no switch for a slice */
	bool urgent, acted;
	bool listen;		/* sleeps in the poller */
	uint32_t n_asked, n_take;
	struct retake_try retakes[TAKE_MAX];
	struct p *oldest;	/* has run longest, if an urgent one waits */
};

extern struct monitor mon;

/* The monitor sleeps no longer than until `when`. */
static inline void
wake_no_later(int64_t when)
{
	if (when < mon.wake_by)
		mon.wake_by = when;
}

/* ---- stuck.c ---- */

/* In each round, for each P in use; then for the one that has run longest. */
void stuck_check(struct p *pp);
void stuck_preempt_oldest(void);
/* Once the Ps in mon.retakes have been retaken. */
void stuck_retry_detached(void);

#endif

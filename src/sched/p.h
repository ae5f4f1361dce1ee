/* SPDX-License-Identifier: MIT */
/*
 * P, a processor: the right to run goroutines, with a queue of them and the
 * caches that make spawning cheap. There are exactly `procs` of them in use.
 * A record is never freed: shrinking leaves it DEAD, growing revives it.
 */
#ifndef P_H
#define P_H

#include "fair.h"
#include "g.h"
#include "rand.h"
#include "runq.h"
#include "stack.h"
#include "timer_heap.h"

struct m;

/*
 *	         idle_get, under sched.lock
 *	IDLE <------------------------------> RUNNING	an M has it
 *	  |     p_idle_put, under sched.lock     |
 *	  |                                      | who has it, at a
 *	  | world_stop                           | safe point
 *	  +--------------> STOPPED <-------------+
 *	                      |  ^
 *	         world_resize |  | world_resize (grow)
 *	                      v  |
 *	                      DEAD
 *
 * STOPPED goes back to IDLE or RUNNING in world_start. All under sched.lock.
 */
enum pstate { P_DEAD, P_IDLE, P_RUNNING, P_STOPPED };

/* What a P counts; its owner writes, anybody reads. */
struct pstats {
	a64 spawned, ended, switches, parks, yields;
	a64 steals, stolen, overflows, wakes;
};

/* What the monitor noticed when it last looked at a P. See monitor.c. */
struct p_snapshot {
	struct m *mp;		/* who had it */
	uint64_t tick, calls;	/* how often that switched, and called */
	int64_t since;		/* it has run the same goroutine */
	int64_t call_since;	/* it has been in the same call */
	int64_t at;		/* when the last step was taken */
	int64_t cpu;		/* ... and how much its thread had run then */
	int64_t still_cpu;	/* how much it had run at the last look, */
	uint32_t still;		/* ... and so often it had run no further */
	uint8_t step;		/* enum step */
	uint8_t tries;
};

struct p {
	/* constant */
	uint32_t id;

	/* under sched.lock */
	enum pstate state;
	struct p *link;		/* list of Ps to start */

	/* the M that has it, which writes it; the monitor reads it */
	APTR(struct m) mp;

	/* the monitor */
	struct p_snapshot snapshot;

	/* whose turn it is: see there */
	struct fairness fair cache_aligned;

	/* the M that has it */
	uint64_t spawn_at;	/* stats.switches at the last spawn */
	uint32_t spawn_run;	/* spawns since the last switch */
	uint32_t lone_yields;		/* yields that found nobody else */
	uint32_t timers_in_row;	/* times timers came before them: next.c */
	uint32_t polls_in_row;	/* ... and those from the network */
	bool steal_first;		/* look at other Ps before own queue */
	bool poll_first;		/* ... and at the network: netpoll_poll_soon */
	bool has_pinned_m;		/* its M is pinned: never switch directly */
	uint64_t clock_read_at;	/* at the clock, in cycles */
	struct rand rand;
	struct gcache gs;
	struct stack_cache stacks;
	struct pstats stats;

	/* thieves, atomic: stats.switches when one last looked */
	a64 thief_saw cache_aligned;

	struct runq q;		/* see there */
	struct timer_heap timers;	/* see there */
} cache_aligned;

#endif

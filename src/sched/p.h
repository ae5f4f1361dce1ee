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
#include "trace_ring.h"

struct backtrace;
struct m;

/*
 *	         idle_get, under sched.lock
 *	IDLE <------------------------------> RUNNING	an M has it
 *	  |     p_idle_put, under sched.lock     |
 *	  |                                      | its M, at a
 *	  | world_stop                           | safepoint
 *	  +--------------> STOPPED <-------------+
 *	                      |  ^
 *	         world_resize |  | world_resize (grow)
 *	                      v  |
 *	                      DEAD
 *
 * STOPPED goes back to IDLE or RUNNING in world_start. All under sched.lock.
 */
enum pstate { P_DEAD, P_IDLE, P_RUNNING, P_STOPPED };

/* Counters of a P; its owner writes, any thread reads. */
struct pstats {
	a64 spawned, ended, switches, parks, yields;
	a64 steals, stolen, overflows, wakes;
};

/* Which goroutine is timed next; the M that has the P. See latency.h. */
struct p_latency {
	int64_t last;		/* when the last one became runnable */
	uint64_t at;		/* stats.switches at the last choice, */
	uint32_t skip;		/* ... and how many more are let pass, */
	uint8_t mark;		/* ... until one is marked with this */
	uint32_t rate;		/* one is chosen from 4 ^ rate of these */
};

/* What the monitor saw of a P in its last round. See stuck.c. */
struct p_snapshot {
	struct m *mp;		/* the M that had it */
	uint64_t tick, calls;	/* switches of the P, calls of that M */
	int64_t since;		/* it has run the same goroutine since then */
	int64_t call_since;	/* ... and been in the same call */
	int64_t at;		/* when the last step was taken, */
	int64_t cpu;		/* ... and the CPU time of its thread then */
	int64_t still_cpu;	/* that CPU time in the last round, */
	uint32_t still;		/* ... and for how many it has not changed */
	uint8_t step;		/* FINE, REQUESTED or SIGNALLED: stuck.c */
	uint8_t tries;		/* signals sent */
};

struct p {
	/* constant */
	uint32_t id;

	/* under sched.lock */
	enum pstate state;
	struct p *link;		/* list of Ps to start */

	/* the M that has the P writes it; the monitor reads it */
	APTR(struct m) mp;

	/* the monitor */
	struct p_snapshot snapshot;

	/* whose turn it is; fair.h has the writers of each field */
	struct fairness fair cache_aligned;

	/* the M that has the P */
	uint64_t spawn_at;	/* stats.switches at the last spawn */
	int32_t spawn_run;	/* spawns since the last switch, or less */
	uint32_t lone_yields;	/* yields that found no other goroutine */
	uint32_t timers_in_row;	/* picks in a row led by timers: next.c */
	uint32_t polls_in_row;	/* ... and by the network */
	bool steal_first;	/* search other Ps before the own queue */
	bool poll_first;	/* ... and the network: netpoll_poll_soon */
	bool has_pinned_m;	/* its M is pinned: never switch directly */
	a32 spawners_wait;	/* how many, for children: the monitor reads
				 * it; a spawner, wherever it runs by then,
				 * uncounts itself */
	uint64_t clock_read_at;	/* by expire_due_slow, in cycles */
	struct rand rand;
	struct gcache gs;
	struct stack_cache stacks;
	struct p_latency latency;
	struct pstats stats;
	struct trace_ring trace;	/* but for `chunk`: see there */

	/* thieves, atomic: stats.switches when one last searched it */
	a64 thief_saw cache_aligned;

	struct runq q;		/* see runq.h */
	struct timer_heap timers;	/* see timer_heap.h */

	/* the M that has the P, while it takes a stack for a trace; NULL until
	 * the first. Too large for a small stack */
	struct backtrace *walk;
} cache_aligned;

#endif

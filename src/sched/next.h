/* SPDX-License-Identifier: MIT */
/*
 * Which goroutine a P runs next. next_local decides on the path of every
 * switch; if it returns NULL, next_runnable searches on g0 (next.c). Both are
 * for the M that has the P, inside.
 *
 * Usually it is runnext and then the newest newborn: what they need is in the
 * cache. The other rows of this table see to it that these starve no source. A
 * pick takes the first row that applies and gives a goroutine.
 *
 *    source       comes first when             that is reset by    bound
 *    ------------ ---------------------------- ------------------- ----------
 *  1 network,     a goroutine of the P is      this turn; at most  the
 *    poll_first   about to wait for a          16 polls in a row   monitor
 *                 descriptor, hogs are seen    that find some      polls
 *  2 urgent ones  one waits; on a P that       taking it; if more  0.5 ms,
 *    in the       shares, once others had as   wait, the next pick then the
 *    global queue long as the last one took    comes here again    monitor
 *                                                                  preempts
 *  3 a source     the monitor marked it: it    the pick; newborns  6 slices
 *    that is due  gave out none for a slice;   have 0.7 ms;
 *                 not before the runnext of    several are served
 *                 an urgent chain              in rotation
 *  4 timers: own  one is due; what it wakes    the 5th time in a   a switch;
 *    heap, common is in 10 or 12 (in 2 on a P  row, or if it wakes watcher or
 *                 that shares), and 5 and 6    none                monitor
 *                 are left out                                     run them
 *  5 network      turn of 6, and no P has      any poll            as 1
 *                 polled for some 50 us
 *  6 global queue 61 switches after the last   this turn;          as 3
 *                 turn; or at once             a share of up to 32
 *                 (fair.global_at = 0)         goes to the ring
 *  7 all timers   as 8                         as 8                as 4
 *  8 other Ps,    every 16th turn of 6, or if  this turn; it       as 3 if P
 *    steal_first  the last was 10 ms ago, or   steals if the ring  is stuck
 *                 every 61st yield of a lone   is not over half
 *                 goroutine                    full, the M may spin
 *  9 the line:    picks reach 64: one from 10  a pick from 1 to 9
 *                 adds 4, one from 11 adds 1   or 12; on a timed P
 *                 and half the ring's length   after the quantum
 *    - oldest     every 4th time, if the last  this turn           as 3
 *      newborn    was 2.5 ms ago
 *    - ring       every other time; always if  fair.line_turns     as 3
 *                 longer than 16
 *    - newest     otherwise                                        as 3
 *      newborn
 * 10 runnext      it is not empty              9                   as 3
 * 11 newest       10 is empty                  9                   as 3
 *    newborn
 * 12 ring         10 and 11 are empty                              as 3
 * 13 global queue nothing in 1 to 12: a batch of up to 128
 * 14 network      nothing in 13
 * 15 all timers,  nothing in 14, and the M may spin
 *    other Ps
 *
 * Rows 1 to 8 and 13 to 15 need g0. next_local returns NULL if 3 or 4 applies,
 * or if the turn of 6 has come and 1, 2, 5, 6 or 8 may give a goroutine.
 *
 * fair.global_at is 0 while urgent ones wait; after more than 32 were readied
 * at once; every other time that a goroutine was preempted or paused; when a
 * goroutine yields, the own queue is empty, and 6 or 8 may give one; on a P
 * whose M is pinned; and for 1, which restores it. 8 is there since a P may be
 * stuck in a goroutine that does not yield, with others and timers behind it.
 *
 * Counts are right for short turns. Time is a ceiling (row 3): a source that
 * has goroutines is due after one slice, six sources are due at most, so the
 * k-th in its source waits for at most 6 k slices. See fair.h.
 */
#ifndef NEXT_H
#define NEXT_H

#include "expire.h"
#include "insn.h"
#include "latency.h"
#include "netpoll.h"
#include "sched.h"

enum {
	GLOBAL_EVERY = 61,		/* switches */
	STEAL_FIRST_EVERY = 16,		/* turns of the global queue, or */
	STEAL_FIRST_FEW_US = FAIR_SLICE_FEW_US,	/* ... a slice */
	NEXT_RUN_MAX = 64,		/* picks of newborns in a row; one */
	NEXT_RUN_STEP = 4,		/* ... from runnext counts as four */
	NEWBORN_TURN_FEW_US = 1024	/* some 2.5 ms */
};

static inline bool
stop_requested(void)
{
	return a_load_relaxed(&sched.stopping) != 0;
}

/* Row 8 by time, too: goroutines may run long between two switches. */
static inline bool
steal_first_due(struct p *pp)
{
	uint64_t now = cpu_cycles();

	if (now - pp->fair.visited_at <
	    STEAL_FIRST_FEW_US * cpu_cycles_few_us())
		return false;
	pp->fair.visited_at = now;
	return true;
}

/* Has the global queue's turn come? And the turn is over. */
static inline bool
next_global_turn(struct p *pp)
{
	return a_load_relaxed(&pp->stats.switches) >= pp->fair.global_at;
}

static inline void
next_global_done(struct p *pp)
{
	pp->fair.global_at = a_load_relaxed(&pp->stats.switches) + GLOBAL_EVERY;
}

/* The global queue's turn comes next, or after the P's own, by turns. */
static inline void
next_alternate(struct p *pp)
{
	pp->fair.global_first = !pp->fair.global_first;
	if (pp->fair.global_first)
		pp->fair.global_at = 0;
	else
		next_global_done(pp);
}

/*
 * Is a source due? A goroutine that an urgent one has just woken comes first:
 * it might have to wait for a whole slice.
 */
static inline bool
due(struct p *pp)
{
	return unlikely(a_load_relaxed(&pp->fair.due)) &&
	    !(a_load_relaxed(&pp->fair.urgent_chain) &&
	    pp->fair.picks < NEXT_RUN_MAX && runq_peek_next(&pp->q));
}

/* Is it the oldest newborn's turn, by time? */
static inline bool
newborn_turn(struct p *pp)
{
	uint64_t now = cpu_cycles();

	if (now - pp->fair.newborn_at <
	    NEWBORN_TURN_FEW_US * cpu_cycles_few_us())
		return false;
	pp->fair.newborn_at = now;
	return true;
}

/*
 * Row 9. After many picks in a row from runnext and the deque: the oldest of
 * the ring, or, every other time if the ring is short, a newborn; and now and
 * then the oldest newborn. That is rare, since the oldest newborn is the root
 * of a large part of a tree of goroutines, and each part that is begun adds a
 * chain of stacks.
 */
static inline struct g *
next_oldest(struct p *pp)
{
	uint32_t turn = ++pp->fair.line_turns;
	struct g *gp = NULL;

	fair_chain(&pp->fair);
	/* By count, too: with slow goroutines the time is always over. */
	if (turn % 4 == 0 && deque_len(&pp->q.deque) && newborn_turn(pp))
		gp = deque_steal(&pp->q.deque);
	if (!gp && (turn % 2 || runq_len(&pp->q) > RUNQ_LONG))
		gp = runq_get(&pp->q);
	/* Goroutines that keep waking each other must not starve newborns. */
	if (!gp)
		gp = deque_pop(&pp->q.deque);
	if (!gp)
		gp = runq_get(&pp->q);
	return gp ? gp : runq_take_next(&pp->q);
}

/*
 * The next of this P's own queues, or NULL if they are empty. The longer the
 * ring, the sooner its turn comes: otherwise goroutines that enter it at more
 * than one in 64 picks, for example spawners that yield, would accumulate.
 */
static always_inline struct g *
next_queued(struct p *pp)
{
	struct g *gp;

	if (unlikely(pp->fair.picks >= NEXT_RUN_MAX)) {
		if (!fair_goes_on(&pp->fair))
			return next_oldest(pp);
		pp->fair.picks /= 2;
	}
	gp = runq_take_next(&pp->q);
	if (gp) {
		pp->fair.picks += NEXT_RUN_STEP;
		return gp;
	}
	gp = deque_pop(&pp->q.deque);
	if (gp) {
		pp->fair.picks += 1 + runq_len(&pp->q) / 2;
		return gp;
	}
	fair_chain(&pp->fair);
	return runq_get(&pp->q);
}

/*
 * The next goroutine of the own queues; NULL if g0 must search: the queues are
 * empty, another source has its turn, or the world stops.
 */
static always_inline struct g *
next_local(struct p *pp)
{
	if (unlikely(stop_requested() || expire_due(pp) || due(pp)))
		return NULL;
	if (unlikely(next_global_turn(pp))) {
		latency_choose(pp);
		if (pp->has_pinned_m)
			return NULL;	/* always its turn: see m_acquire */
		if (++pp->fair.global_turns % STEAL_FIRST_EVERY == 0 ||
		    steal_first_due(pp))
			pp->steal_first = true;
		if (pp->poll_first || pp->steal_first ||
		    globq_len(&sched.globq) || netpoll_due())
			return NULL;	/* g0 serves it */
		next_global_done(pp);
	}
	return next_queued(pp);
}

/*
 * The common case of next_local alone, short enough to need no stack: runnext,
 * if no other row can apply. NULL: ask next_local.
 */
static always_inline struct g *
next_is_runnext(struct p *pp)
{
	struct g *gp;

	if (unlikely(stop_requested() || expire_armed(pp) ||
	    a_load_relaxed(&pp->fair.due) || next_global_turn(pp) ||
	    pp->fair.picks >= NEXT_RUN_MAX))
		return NULL;
	gp = runq_take_next(&pp->q);
	if (likely(gp))
		pp->fair.picks += NEXT_RUN_STEP;
	return gp;
}

/* ---- next.c ---- */

/*
 * The next goroutine for this M, which sleeps until there is one. On g0, with
 * a P on return, maybe another one than on entry. NULL: the M shall end.
 */
struct g *next_runnable(struct m *mp);

#endif

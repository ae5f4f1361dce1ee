/* SPDX-License-Identifier: MIT */
/*
 * Which of a P's own goroutines is next. All of it for who has the P, and on
 * the path of every switch.
 *
 * runnext, the one woken last, and then the deque, newest first: what they need
 * is hot. But nobody is starved by those that keep coming:
 *
 *	the ring	its turn comes after 16 from runnext or 64 from the
 *			deque in a row, and sooner the longer it is
 *	the deque	every other of these turns, if the ring is short
 *	its oldest	one of four, every few milliseconds at most
 *	the global	every 61st switch, with a share for the ring, and the
 *			network then, if nobody has looked there for a while
 *	other Ps	every 16th time of that, or ten milliseconds: one may
 *			be stuck in a goroutine that does not come back, with
 *			others and timers behind it. A P that looks there
 *			before its own queue *roams*.
 *
 * These are counts, right for short turns. Time is a ceiling: see fair.h.
 */
#ifndef NEXT_H
#define NEXT_H

#include "expire.h"
#include "insn.h"
#include "netpoll.h"
#include "sched.h"

enum {
	GLOBAL_EVERY = 61,
	STEAL_FIRST_EVERY = 16,		/* turns of the global queue, or */
	STEAL_FIRST_FEW_US = FAIR_SLICE_FEW_US,	/* ... a slice */
	NEXT_RUN_MAX = 64,		/* newest in a row, but of those that */
	NEXT_RUN_STEP = 4,		/* ... were woken a quarter */
	NEWBORN_TURN_FEW_US = 1024		/* some milliseconds */
};

static inline bool
stop_requested(void)
{
	return a_load_relaxed(&sched.stopping) != 0;
}

/* Roaming is due by time, too: goroutines may run long between switches. */
static inline bool
steal_first_due(struct p *pp)
{
	uint64_t now = cpu_cycles();

	if (now - pp->fair.visited_at < STEAL_FIRST_FEW_US * cpu_cycles_few_us())
		return false;
	pp->fair.visited_at = now;
	return true;
}

/* Is it the global queue's turn? And it had its turn. */
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

/*
 * Is a source due? One that an urgent goroutine has just woken comes before:
 * it would have to wait for a whole slice, maybe.
 */
static inline bool
due(struct p *pp)
{
	return unlikely(a_load_relaxed(&pp->fair.due)) &&
	    !(pp->fair.urgent_chain && pp->fair.picks < NEXT_RUN_MAX &&
	    runq_peek_next(&pp->q));
}

static inline bool
newborn_turn(struct p *pp)
{
	uint64_t now = cpu_cycles();

	if (now - pp->fair.newborn_at < NEWBORN_TURN_FEW_US * cpu_cycles_few_us())
		return false;
	pp->fair.newborn_at = now;
	return true;
}

/*
 * Many in a row from runnext and the deque: now the ring's oldest, or, every
 * other time if that is short, a newborn; and now and then the oldest of
 * these. Seldom, since it stands for a large part of a tree of goroutines, and
 * each such part that is begun is a chain of stacks more.
 */
static inline struct g *
next_oldest(struct p *pp)
{
	uint32_t turn = ++pp->fair.line_turns;
	struct g *gp = NULL;

	fair_chain(&pp->fair);
	/* By count, too: with slow goroutines its time has always come. */
	if (turn % 4 == 0 && deque_len(&pp->q.deque) && newborn_turn(pp))
		gp = deque_steal(&pp->q.deque);
	if (!gp && (turn % 2 || runq_len(&pp->q) > RUNQ_LONG))
		gp = runq_get(&pp->q);
	/* Some that keep waking each other must not keep out a newborn. */
	if (!gp)
		gp = deque_pop(&pp->q.deque);
	if (!gp)
		gp = runq_get(&pp->q);
	return gp ? gp : runq_take_next(&pp->q);
}

/*
 * The next of this P's own queues, or NULL if they are empty. The longer the
 * ring, the sooner is its turn: else those that come to it faster than one in
 * 64, spawners that yield say, would pile up there.
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
 * The next goroutine this P has at hand, without searching further; NULL if
 * g0 must look: nothing here, the global queue's turn, or a stop asked for.
 */
static always_inline struct g *
next_local(struct p *pp)
{
	if (unlikely(stop_requested() || expire_due(pp) || due(pp)))
		return NULL;
	if (unlikely(next_global_turn(pp))) {
		if (pp->has_pinned_m)
			return NULL;	/* always its turn: see m_acquire */
		if (++pp->fair.global_turns % STEAL_FIRST_EVERY == 0 || steal_first_due(pp))
			pp->steal_first = true;
		if (pp->poll_first || pp->steal_first || globq_len(&sched.globq) ||
		    netpoll_due())
			return NULL;	/* g0 takes it from there */
		next_global_done(pp);
	}
	return next_queued(pp);
}

/* ---- next.c ---- */

/*
 * The next goroutine for this M, which sleeps until there is one. On g0, with
 * a P on entry and on return, maybe another one. NULL: the M shall end.
 */
struct g *next_runnable(struct m *mp);

#endif

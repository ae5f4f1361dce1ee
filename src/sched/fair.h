/* SPDX-License-Identifier: MIT */
/*
 * Fairness: counts decide as long as turns are short, and time is a ceiling.
 *
 * A *chain* is a goroutine taken from the line and all those that follow it
 * from runnext and the newborn deque, because they wake or spawn each other.
 * Counts end a chain after some picks (next.h). There are six *sources*; all
 * but the first two are the line:
 *
 *	next		runnext: if every turn is as long as a slice, other
 *			sources are due each time, and it would never be
 *	newest		of those that have not begun; the same
 *	ring		the P's own queue, oldest first
 *	oldest		of those that have not begun
 *	global		the global queue
 *	others		the queues of other Ps
 *
 * Time is the monitor's business: no clock is read on the path of a switch.
 * The monitor remembers for each source how far it had come and since when. A
 * source that has goroutines and has given out none for one slice is *due*:
 * the monitor sets its bit in a word that the next pick reads, and that pick
 * serves it, whatever the counts say. If several are due they are served in
 * turn. So each source is served at least once in six turns, and the k-th
 * goroutine in its source waits for at most 6 k slices, and for stretches that
 * cannot be stopped. Where turns are short it waits for far less.
 *
 * Counting picks shares the processor badly between chains whose turns differ
 * in length: of two pairs that wake each other, one that computes a thousand
 * times as long gets a thousand times as much. So while the monitor sees a
 * chain that computes for over a millisecond with others in the ring, the P is
 * *timed*: a chain whose count is used up goes on until it has had as much
 * time as the chains before it had on average. Only then the owner reads the
 * clock.
 *
 * Urgent goroutines (globq_put_urgent) come before the line, and with them
 * those that they wake next. If a source gave out none for some milliseconds
 * because of them all Ps *share* for a while: after an urgent turn others have
 * as much time as it took.
 */
#ifndef FAIR_H
#define FAIR_H

#include "atomic.h"
#include "defs.h"
#include "insn.h"

struct p;

enum fair_source {
	FAIR_NEXT, FAIR_NEWEST, FAIR_RING, FAIR_OLDEST, FAIR_GLOBAL,
	FAIR_OTHERS,
	FAIR_SOURCES
};

struct fairness {
	/* the monitor sets bits, 1 << source; the owner clears them */
	a32 due;

	/* the monitor writes, the owner reads */
	abool timed;
	abool share;

	/* the owner writes, the monitor reads */
	a32 visits;		/* times it looked at other Ps */
	a64 urgent_next;	/* share: no urgent one has a turn before */

	/* the owner */
	uint32_t served;	/* the source that was due and served last */
	uint32_t picks;		/* runnext and newborns taken in a row */
	uint32_t line_turns;	/* see next_oldest */
	uint32_t global_turns;
	uint64_t global_at;	/* value of stats.switches at which it is the
				 * global queue's turn */
	uint64_t global_kept;	/* the same, while p->poll_first */
	uint64_t newborn_at;	/* last turn of the oldest newborn, cycles */
	uint64_t visited_at;	/* last look at other Ps by time, cycles */
	uint64_t chain_at;	/* timed: when the chain began, cycles */
	uint64_t quantum;	/* timed: what a chain may use, cycles */
	int64_t urgent_at;	/* share: when the last urgent turn began */
	bool urgent_turn;	/* share: the last turn was one */
	bool urgent_chain;	/* the chain began with an urgent one */
	bool global_first;		/* whose turn it is: see alternate_sources */

	/* the monitor */
	struct {
		uint32_t mark;	/* how far the source had come */
		int64_t since;	/* ... since then, or it was empty then */
	} seen[FAIR_SOURCES];
	int64_t timed_until;
	int ring_tid;		/* the thread that had the P then, */
	int64_t ring_cpu;	/* ... and how long it had computed */
};

enum {
	FAIR_SLICE_FEW_US = 4096	/* a slice in units of
					 * cpu_cycles_few_us: some 10 ms */
};

/* The owner: a goroutine was taken from the line, and a chain begins. */
void fair_chain_timed(struct fairness *f);

static always_inline void
fair_chain(struct fairness *f)
{
	f->picks = 0;
	f->urgent_chain = false;
	if (unlikely(a_load_relaxed(&f->timed)))
		fair_chain_timed(f);
}

/* The owner: the chain's count is used up. May it go on all the same? */
static inline bool
fair_goes_on(struct fairness *f)
{
	return a_load_relaxed(&f->timed) &&
	    cpu_cycles() - f->chain_at < f->quantum;
}

/* The owner: the next source that is due, no longer so; or -1. */
int fair_next_due(struct fairness *f);

/*
 * The owner, when an urgent goroutine waits: has it this turn? To be asked
 * once for each turn.
 */
bool fair_urgent(struct fairness *f, bool waits);

/*
 * The monitor, at each look: which sources of P pp are due? `stuck`: another P
 * has goroutines and does not come to them. tid: the thread that has pp. True
 * if any source has one.
 */
bool fair_watch(struct p *pp, int tid, bool stuck, int64_t now,
    int64_t slice);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Fairness: counts decide as long as turns are short, and time is a ceiling.
 *
 * A *chain* is a goroutine taken from the line and all those that follow it
 * from runnext and the newborn deque, because they wake or spawn each other.
 * Counts end a chain after some picks (next.h). There are six *sources*; all
 * but the first two are the *line*:
 *
 *	next		runnext. It is a source, too: if every turn is as long
 *			as a slice, other sources are due each time
 *	newest		the newest newborn; for the same reason
 *	ring		the P's own queue, oldest first
 *	oldest		the oldest newborn
 *	global		the global queue
 *	others		the queues of other Ps
 *
 * The monitor measures time: no clock is read on the path of a switch. It
 * remembers for each source how many goroutines that had given out and since
 * when. A source that has goroutines and has given out none for one slice (the
 * ring: half a slice, since what is there has yielded or was woken) is *due*:
 * the monitor sets its bit in a word that the next pick reads, and that pick
 * serves it, whatever the counts say. If several are due they are served in
 * rotation. So each source is served at least once in six turns, and the k-th
 * goroutine in its source waits for at most 6 k slices, plus stretches that
 * cannot be preempted. Where turns are short it waits for far less. For a turn
 * is a goroutine or, if these are short, as many as run in some millisecond:
 * beside loops that compute for whole slices, thousands that end at once would
 * otherwise have one slice each. (That is so for newborns. Goroutines in the
 * ring begin chains, which have their own time: see below.)
 *
 * Counting picks shares the processor badly between chains whose turns differ
 * in length: of two pairs that wake each other, one that computes a thousand
 * times as long gets a thousand times as much. So while the monitor sees a
 * chain that computes for over a millisecond with others in the ring, the P is
 * *timed*: a chain whose count is used up goes on until it has had as much
 * time as the longest of the last ones took for theirs. Only then does the
 * owner read the clock.
 *
 * Urgent goroutines (globq_put_urgent) come before the line, and so do those
 * that they wake next. If a source gave out none for 8 ms while urgent ones
 * waited, all Ps *share* for 100 ms: after an urgent turn the others have as
 * much time as it took, at most 10 ms. No urgent goroutine is preempted for the
 * next one then: what is preempted goes to the line, where it takes time from
 * the others.
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
	a32 visits;		/* searches of other Ps, by steal_first */
	a64 urgent_next;	/* share: no urgent turn before this time */
	abool urgent_turn;	/* share: the last turn was an urgent one */
	abool urgent_chain;	/* the chain began with an urgent goroutine */

	/* the owner */
	uint32_t served;	/* the due source that was served last, ... */
	uint64_t served_at;	/* ... and since when, cycles */
	bool serves;		/* ... it may give out more */
	uint32_t picks;		/* picks in a row from runnext and newborns,
				 * weighted: next_queued */
	uint32_t line_turns;	/* see next_oldest */
	uint32_t global_turns;	/* see next_local */
	uint64_t global_at;	/* value of stats.switches at which it is the
				 * global queue's turn */
	uint64_t global_kept;	/* the same, while p->poll_first */
	uint64_t newborn_at;	/* last turn of the oldest newborn, cycles */
	uint64_t visited_at;	/* last search of other Ps by time, cycles */
	uint64_t chain_at;	/* timed: when the chain began, cycles */
	uint64_t quantum;	/* timed: what a chain may use, cycles */
	bool extended;		/* timed: its count is used up, it goes on */
	int64_t urgent_at;	/* share: when the last urgent turn began */
	bool global_first;	/* toggles: see next_alternate */

	/* the monitor */
	struct {
		uint32_t mark;	/* how many the source had given out */
		int64_t since;	/* ... since when, or when it was empty */
		int64_t marked;	/* when it was last marked as due */
	} seen[FAIR_SOURCES];
	int64_t timed_until;
	int ring_tid;		/* the thread that had the P, when the ring */
	int64_t ring_cpu;	/* ... last moved, and its CPU time then */
};

enum {
	FAIR_SLICE_FEW_US = 4096	/* a slice in units of
					 * cpu_cycles_few_us: some 10 ms */
};

/* The owner: a goroutine was taken from the line, and a chain begins. */
void fair_chain_timed(struct fairness *f);
/* ... and the one before it was urgent. */
void fair_urgent_over(struct fairness *f);

static always_inline void
fair_chain(struct fairness *f)
{
	f->picks = 0;
	if (unlikely(a_load_relaxed(&f->urgent_chain)))
		fair_urgent_over(f);
	if (unlikely(a_load_relaxed(&f->timed)))
		fair_chain_timed(f);
}

/* The owner: the same, and the goroutine is an urgent one. */
void fair_chain_urgent(struct fairness *f);

/* The owner: the chain's count is used up. May it go on all the same? */
bool fair_goes_on_timed(struct fairness *f);

static inline bool
fair_goes_on(struct fairness *f)
{
	return unlikely(a_load_relaxed(&f->timed)) && fair_goes_on_timed(f);
}

/*
 * The owner: the next source that is due, or -1. It is due no longer after one
 * pick; newborns after some 0.7 ms, unless `more` is false.
 * empty: it had none, or the last one.
 */
int fair_next_due(struct fairness *f, bool more);
void fair_due_empty(struct fairness *f);

/* The monitor: is an urgent goroutine running, on a P that shares? */
static inline bool
fair_runs_urgent(struct fairness *f)
{
	return a_load_relaxed(&f->share) && a_load_relaxed(&f->urgent_turn) &&
	    a_load_relaxed(&f->urgent_chain);
}

/*
 * The owner, once for each search: is this the turn of the urgent goroutine,
 * if one waits?
 */
bool fair_urgent(struct fairness *f, bool waits);

/* The monitor: this source is due. */
static inline void
fair_set_due(struct fairness *f, enum fair_source source)
{
	a_or_relaxed(&f->due, UINT32_C(1) << source);
}

/*
 * The monitor, in each round: marks the sources of P pp that are due. `stuck`:
 * some P has goroutines queued and has not switched for a slice. tid: the
 * thread that has pp. True if any source but runnext has a goroutine.
 */
bool fair_watch(struct p *pp, int tid, bool stuck, int64_t now,
    int64_t slice);

#endif

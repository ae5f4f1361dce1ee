/* SPDX-License-Identifier: MIT */
/*
 * Places in a program where a call of this library is followed by a call that
 * blocks in the kernel, unannounced. They are learned: see place.c.
 */
#ifndef PLACE_H
#define PLACE_H

#include "m.h"
#include "sched.h"

/*
 * On a goroutine, outside, no lock held; only while ATTEND_SLEEPERS is set. A
 * call that will return to this address begins; may give up the P.
 */
void place_enter(struct m *mp, const void *address);
/* Inside, with a P or without: the goroutine is resumed after a wait, or
 * begins at its function. May give up the P. */
void place_resumed(struct m *mp);
void place_begun(struct m *mp, struct g *gp);
/* The same after a yield that returns to this address. */
void place_yielded(struct m *mp, const void *address);

/* sched.lock held: this M, which gave up its P at a place, is no longer
 * detached. */
void place_back(struct m *mp);

/* The monitor: the goroutine of this M was found blocked, outside; or it
 * computed although it gave its P up. */
void place_slept(struct m *mp);
void place_computed(struct m *mp);

/* Were blocked threads found? Called where a goroutine is resumed. */
static always_inline bool
place_watched(void)
{
	return unlikely(a_load_relaxed(&attention) & ATTEND_SLEEPERS);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * How a P is taken from an M that does not come back.
 *
 * An M is *inside* while it runs the runtime's code and may use its P; user
 * code runs outside. Only the monitor thread takes Ps, and only from an M that
 * is outside. Two words of the M decide:
 *
 *	inside	0 or 1, written by the M itself, with plain stores
 *	retake	NONE, ASKED, TAKEN
 *
 *	            the monitor             the monitor, inside seen 0
 *	NONE ---------------------> ASKED ---------------------> TAKEN
 *	  ^                           |                            |
 *	  +---------------------------+                            |
 *	  |  the M (it keeps its P), or the monitor (inside seen 1)|
 *	  +--------------------------------------------------------+
 *	     the M: its P is gone
 *
 *	the M goes inside		the monitor
 *	1. inside = 1			1. retake: NONE -> ASKED
 *	2. looks at retake; if it	2. membarrier: every thread has
 *	   is not NONE: ASKED -> NONE,	   executed a full barrier since 1
 *	   or else the P is gone	3. looks at inside; if 0:
 *					   ASKED -> TAKEN, or else -> NONE
 *
 * The M has no barrier between 1 and 2: the monitor's membarrier puts one
 * there. If the M's look misses ASKED, its store came before that barrier and
 * the monitor sees inside 1. If the monitor sees 0, an M that goes inside
 * later sees ASKED, and one compare-and-swap decides who wins. So a P is never
 * used by two.
 *
 * What the M did to its P before it went outside (release) is visible to the
 * monitor that saw it outside (acquire), and so to who gets the P next.
 *
 * After it lost its P the M is *loose*: it goes on with its goroutine. Inside
 * it does as a plain thread does, and if the goroutine parks it becomes idle.
 * Every other call first gets it a P again (weft_checkpoint_ in preempt.c).
 * Nobody waits for a P inside, or with a lock held.
 */
#ifndef RETAKE_H
#define RETAKE_H

#include "m.h"

enum retake { RETAKE_NONE, RETAKE_ASKED, RETAKE_TAKEN };

void rt_enter_slow(struct m *mp);

/*
 * Goes inside. Returns what inside was before, for rt_leave: they nest. The M
 * may have lost its P, m_p(mp) says so.
 */
static always_inline uint32_t
rt_enter(struct m *mp)
{
	uint32_t was = a_load_relaxed(&mp->inside);

	a_store_relaxed(&mp->inside, 1);
	/* The processor's order is the monitor's concern: see above. */
	__asm__ volatile("" ::: "memory");
	if (unlikely(a_load_relaxed(&mp->retake) != RETAKE_NONE))
		rt_enter_slow(mp);
	return was;
}

/* mp is the M the goroutine is on *now*. */
static always_inline void
rt_leave(struct m *mp, uint32_t was)
{
	a_store_rel(&mp->inside, was);	/* pairs with retake_try */
}

/* For those who know that they were outside. */
static always_inline void
rt_leave_out(struct m *mp)
{
	a_store_rel(&mp->inside, 0);	/* pairs with retake_try */
}

/* ---- the monitor ---- */

/* A P that shall be taken from M mp, and why. */
struct retake_try {
	struct p *pp;
	struct m *mp;
	int why;		/* enum weft_retake_reason */
};

/* Tries all n of them; one barrier for all. How many were taken. */
uint32_t retake_try(struct retake_try *t, uint32_t n);

/*
 * P pp, RUNNING and nobody's, goes to another M if there is work, and else to
 * the idle ones. No lock held.
 */
void p_hand_off(struct p *pp);

/* ---- an M without a P: on its goroutine, inside ---- */

/* sched.lock held: an M is without a P in that way; and this one no longer. */
void rt_count_detached(enum detached how);
void rt_uncount_detached(struct m *mp);
/* An idle P for this M, its old one if possible. False if there is none. */
bool rt_take_idle_p(struct m *mp);

#endif

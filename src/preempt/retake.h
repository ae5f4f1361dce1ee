/* SPDX-License-Identifier: MIT */
/*
 * How a P is retaken from an M that does not give it up.
 *
 * An M is *inside* while it runs the runtime's code and may use its P; user
 * code runs outside. Only the monitor retakes Ps, and only from an M that is
 * outside. Two words of the M decide:
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
 *	2. reads retake; if it is	2. membarrier: every thread has
 *	   not NONE: ASKED -> NONE,	   executed a full barrier since 1
 *	   or else the P is gone	3. reads inside; if 0:
 *					   ASKED -> TAKEN, or else -> NONE
 *
 * The M has no barrier between 1 and 2: the monitor's membarrier puts one
 * there. If the M's read misses ASKED, its store came before that barrier and
 * the monitor sees inside 1. If the monitor sees 0, an M that goes inside
 * later sees ASKED, and one compare-and-swap decides which of the two wins. So
 * a P is never used by two.
 *
 * What the M did to its P before it went outside (release) is visible to the
 * monitor that saw it outside (acquire), and so to the M that gets the P next.
 *
 * After it lost its P the M is *detached*: it goes on with its goroutine.
 * Inside it does as a plain thread does, and if the goroutine parks it becomes
 * idle. Every other call first gets it a P again (weft_checkpoint_ in
 * preempt.c). No thread waits for a P inside, or with a lock held.
 */
#ifndef RETAKE_H
#define RETAKE_H

#include "m.h"

enum retake { RETAKE_NONE, RETAKE_ASKED, RETAKE_TAKEN };

void rt_enter_slow(struct m *mp);

/*
 * Goes inside. Returns what inside was before, for rt_leave: calls nest. If
 * the M has lost its P, m_p(mp) is NULL.
 */
static always_inline uint32_t
rt_enter(struct m *mp)
{
	uint32_t was = a_load_relaxed(&mp->inside);

	a_store_relaxed(&mp->inside, 1);
	/* The order of the CPU is enforced by the monitor: see above. */
	__asm__ volatile("" ::: "memory");
	if (unlikely(a_load_relaxed(&mp->retake) != RETAKE_NONE))
		rt_enter_slow(mp);
	return was;
}

/* mp is the M the goroutine is on *now*. */
static always_inline void
rt_leave(struct m *mp, uint32_t was)
{
	a_store_rel(&mp->inside, was);	/* pairs with retake_one */
}

/* For callers that know that they were outside. */
static always_inline void
rt_leave_out(struct m *mp)
{
	a_store_rel(&mp->inside, 0);	/* pairs with retake_one */
}

/* ---- the monitor ---- */

/* A P that shall be retaken from M mp, and why. */
struct retake_try {
	struct p *pp;
	struct m *mp;
	int why;		/* enum weft_retake_reason */
};

/* Tries all n of them; one barrier for all. How many were retaken. */
uint32_t retake_try(struct retake_try *t, uint32_t n);

/*
 * P pp, RUNNING and with no M, goes to another M if there is work, and else
 * becomes idle. No lock held.
 */
void p_hand_off(struct p *pp);

/* ---- an M without a P: on its goroutine, inside ---- */

/* sched.lock held: counts an M as detached in that way; and uncounts mp. */
void rt_count_detached(enum detached how);
void rt_uncount_detached(struct m *mp);
/* An idle P for this M, its old one if possible. False if there is none. */
bool rt_take_idle_p(struct m *mp);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Stopping a goroutine that computes, by a signal. See preempt.c.
 */
#ifndef PREEMPT_H
#define PREEMPT_H

#include "m.h"
#include "sched.h"

/*
 * m->verdict, one round trip of the signal:
 *
 *	        the monitor          the M's handler
 *	IDLE -------------> SENT --------------------> IDLE	preempted
 *	  ^                  |
 *	  |                  +-----> REFUSED + why
 *	  +---------------------------------+  the monitor
 */
enum { VERDICT_IDLE, VERDICT_SENT, VERDICT_REFUSED };

/* Is it in a region without preemption, or in fork? */
static inline bool
preempt_disabled(const struct g *gp)
{
	return gp->regions || gp->forks;
}

/*
 * At boot, after the settings are known: 0 or -errno. sig < 0: never. pause:
 * goroutines that cannot be moved are paused.
 */
int preempt_init(int sig, bool pause);
/* The signal in use, 0 if none is. */
int preempt_signal(void);
/* Can any goroutine be moved to another thread by a signal? */
bool preempt_moves(void);
/* Can any goroutine be preempted by a signal, or paused? */
bool preempt_possible(void);
/* The monitor: sends the signal. False if that cannot be done now. */
bool preempt_send(struct m *mp);

/* ---- safepoints that goroutines pass by themselves ---- */

void checkpoint_at(const void *address);

/*
 * At the start of every call that a goroutine may make again and again without
 * waiting: yields if requested, and gets it a P again if it has lost it.
 * Outside, no lock held. May return on another M.
 */
static always_inline void
checkpoint(void)
{
	if (unlikely(a_load_relaxed(&attention) != 0))
		checkpoint_at(__builtin_return_address(0));
}

/*
 * The same in a function that the user's code does not call directly: its
 * return address is not a place (place.c) in that code.
 */
static always_inline void
checkpoint_within(void)
{
	if (unlikely(a_load_relaxed(&attention) != 0))
		weft_checkpoint_();
}

#endif

/* SPDX-License-Identifier: MIT */
/* Idle Ps and Ms, and how they are woken. The protocol is in idle.c. */
#ifndef IDLE_H
#define IDLE_H

#include "sched.h"

/* After work was queued: starts an M with an idle P, if no M spins. */
void idle_wake_slow(void);
/* Is a goroutine on any queue? And idle_wake, if so. */
bool idle_any_work(void);
void idle_wake_if_work(void);
/* A P became idle again since no M was available for it: the monitor tries
 * again. sched.lock held. */
void idle_want_thread(void);

static inline void
idle_wake(void)
{
	/* sc: pairs with idle_park; the work was queued with sc before */
	if (a_load_sc(&sched.n_idle_p) && !a_load_sc(&sched.n_spinning))
		idle_wake_slow();
}

/* May this M search other Ps' queues? Then it is spinning. */
bool idle_start_spinning(struct m *mp);
/* It found a goroutine. */
void idle_stop_spinning(struct m *mp);
/*
 * This M found no work: gives its P up, checks all queues once more, sleeps.
 * True with a P again (and maybe still no work), false if the M shall end. On
 * g0 with a P.
 */
bool idle_park(struct m *mp);
/*
 * There is work after all: this M, on the idle list, gets a P again and spins.
 * False if no P is idle, or another thread has given it one already.
 */
bool idle_reacquire(struct m *mp);

/* On g0, without a P: parks as above. */
bool idle_park_detached(struct m *mp);
/* The same for an M that has just been made. */
bool idle_park_new(struct m *mp);

/* sched.lock held. */
void p_idle_put(struct p *pp);
struct p *p_idle_get(void);
/* `near` if it is idle, else any. */
struct p *p_idle_get_near(struct p *near);
/* One that was last seen near that position, if there is such a one. */
struct p *p_idle_get_at(uint32_t position);
bool p_is_idle(uint32_t id);

#endif

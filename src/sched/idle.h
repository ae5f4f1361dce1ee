/* SPDX-License-Identifier: MIT */
/* Idle Ps and Ms, and how they are woken. The protocol is in idle.c. */
#ifndef IDLE_H
#define IDLE_H

#include "sched.h"

/* After work was queued: wakes a P for it if one sleeps and nobody looks. */
void idle_wake_slow(void);
/* Is anything on any queue? And the same if so. */
bool idle_any_work(void);
void idle_wake_if_work(void);
/* A P was put back since no thread was to be had: the monitor tries again.
 * sched.lock held. */
void idle_want_thread(void);

static inline void
idle_wake(void)
{
	/* sc: pairs with idle_park; the work was queued with sc before */
	if (a_load_sc(&sched.n_idle_p) && !a_load_sc(&sched.n_spinning))
		idle_wake_slow();
}

/* May this M start to look in other Ps' queues? Then it is spinning. */
bool idle_start_spinning(struct m *mp);
/* It found something. */
void idle_stop_spinning(struct m *mp);
/*
 * This M's P has nothing to do: gives it up, looks once more, sleeps. True
 * with a P again (and maybe nothing to do), false if the M shall end.
 */
bool idle_park(struct m *mp);
/*
 * There is work after all: this M, on the idle list, gets a P again and spins.
 * False if none is idle, or another one is on its way.
 */
bool idle_reacquire(struct m *mp);

/* On g0, without a P: rests as above. */
bool idle_park_detached(struct m *mp);
/* The same for an M that has just been made. */
bool idle_park_new(struct m *mp);

/* sched.lock held. */
void p_idle_put(struct p *pp);
struct p *p_idle_get(void);
/* This one if it is idle, else any. */
struct p *p_idle_get_near(struct p *near);
bool p_is_idle(uint32_t id);

#endif

/* SPDX-License-Identifier: MIT */
/* Stopping the world, and the number of Ps. See world.c. */
#ifndef WORLD_H
#define WORLD_H

#include "sched.h"

/*
 * Stops all goroutines but the caller and returns when no M runs one. Only one
 * caller at a time may do this (sync/procs.c has a semaphore). world_start
 * undoes it. The caller is a goroutine, inside, which keeps its P, or a plain
 * thread. False if the runtime has ended: then there is nothing to undo.
 */
bool world_stop(void);
/* The main goroutine returns: stops the world for good, without waiting. */
void world_end(void);
/* sched.lock held, a stop requested: P is stopped. True if it is the last,
 * and stop_note must be woken. */
bool world_stopped(struct p *pp);
void world_start(void);
/* Starts it for the first time: queues gp and returns a P for the first M. In
 * one step: other threads may arm timers already, and must find either work
 * or no idle P. */
struct p *world_boot(struct g *gp);
/* World stopped: `procs` Ps are in use from now. May change the caller's P. */
void world_resize(uint32_t procs);
/* Makes sure that `procs` P records exist. 0 or -ENOMEM. Not concurrently. */
int world_make_ps(uint32_t procs);
/* On g0, with a P, a stop requested: gives the P up and sleeps. True with a P
 * (or if the stop is over), false if the M shall end. */
bool world_park(struct m *mp);
/* P pp has work and no M is available to run it: other Ps get the work. */
void world_no_thread(struct p *pp);

#endif

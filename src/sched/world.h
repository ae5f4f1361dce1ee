/* SPDX-License-Identifier: MIT */
/* Stopping the world, and the number of Ps. See world.c. */
#ifndef WORLD_H
#define WORLD_H

#include "sched.h"

/*
 * Stops all goroutines but the caller and returns when nobody runs one. Only
 * one at a time may do this (sync/procs.c sees to that). world_start undoes
 * it. The caller is a goroutine, inside, which keeps its P, or a plain thread.
 * False if the runtime has ended: then there is nothing to undo.
 */
bool world_stop(void);
/* The main goroutine returns: stops the world for good, without waiting. */
void world_end(void);
/* sched.lock held, a stop asked for: P is stopped. True if it is the last,
 * and stop_note must be woken. */
bool world_stopped(struct p *pp);
void world_start(void);
/* Starts it for the first time: queues gp and returns a P for the first M. In
 * one step: others may set timers already, and find work or no P. */
struct p *world_boot(struct g *gp);
/* World stopped: makes procs Ps the ones in use. May change the caller's P. */
void world_resize(uint32_t procs);
/* Makes sure that so many P records exist. 0 or -ENOMEM. One at a time. */
int world_make_ps(uint32_t procs);
/* On g0, with a P, sched.stopping seen: gives the P up and sleeps. */
bool world_park(struct m *mp);
/* P pp has work and no thread is to be had for it: others take the work. */
void world_no_thread(struct p *pp);

#endif

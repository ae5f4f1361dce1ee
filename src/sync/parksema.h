/* SPDX-License-Identifier: MIT */
/*
 * Semaphores keyed by the address of their count, so that what users embed
 * needs only 4 bytes and its zero value works. First come, first served: a
 * release hands its unit to the waiter that has waited longest.
 */
#ifndef PARKSEMA_H
#define PARKSEMA_H

#include "atomic.h"
#include "g.h"

struct limit;

/* Takes one unit if there is one. */
bool parksema_try(a32 *count);
/* Takes one unit; waits until there is one. */
void parksema_acquire(a32 *count, enum wait_reason reason);
/*
 * The same, but false if the limit (NULL: none) was over before that; then no
 * unit was taken, and the one of a release that comes later stays in the count.
 */
bool parksema_acquire_limit(a32 *count, enum wait_reason reason,
    struct limit *l);
/* Gives n units: to waiters first, the rest to the count. */
void parksema_release(a32 *count, uint32_t n);

#endif

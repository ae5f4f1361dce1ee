/* SPDX-License-Identifier: MIT */
/* When there is a collection, and the thread that makes it: cycle.c. */
#ifndef WEFT_CYCLE_H
#define WEFT_CYCLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Before an allocation, no lock held: may wait for a collection. `again`: one
 * was refused, so there is to be a collection first. False if the limit does
 * not allow it.
 */
bool cycle_allows(size_t bytes, bool again);

/* Is there to be a collection every so many allocations? Then no object is
 * cached. */
extern bool cycle_stress;

/* Wakes the collector's thread. */
void cycle_kick(void);
/* Is the caller that thread? Then it gives what is owed: see lock.h. */
bool cycle_is_collector(void);
/* Has that thread begun? It never ends, but the child of a fork has none. */
bool cycle_has_collector(void);
void cycle_wake_owed(void);

/* In the child of a fork: the collector's thread is gone. If there was a
 * runtime there are no collections any more. */
void cycle_forked(void);

#endif

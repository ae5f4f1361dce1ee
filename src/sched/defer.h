/* SPDX-License-Identifier: MIT */
/* Calls deferred to the end of a goroutine. */
#ifndef DEFER_H
#define DEFER_H

#include "sched.h"

struct slab;

/* The records, for a collector. */
extern struct slab defer_slab;

/* On the goroutine: makes the calls that were deferred after `last`, newest
 * first; NULL: all. */
void defer_run_until(struct g *gp, const struct defer *last);
/* In the child of a fork: another thread may have held the lock. */
void defer_forked(void);

#endif

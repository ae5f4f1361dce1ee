/* SPDX-License-Identifier: MIT */
/*
 * The number of Ps follows the affinity mask and the cgroup quota, unless the
 * user has said how many there shall be. See follow.c.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "defs.h"

/* Boot: is the number the default one? */
void follow_boot(bool is_default);
/* The user has set the number: it is never changed any more. Any thread. */
void follow_end(void);
/* Not ended yet. */
bool follow_on(void);

/* The monitor, about once a second while goroutines run. */
void follow_poke(void);
/* The thread in weft_run, when it is poked: makes the helper, if asked to. */
void follow_make_requested(void);

/* Changes the number, on the helper: sync/procs.c, by a constructor. */
extern void (*follow_change)(uint32_t procs);

#endif

/* SPDX-License-Identifier: MIT */
/* What other files of this room need of the mutex. */
#ifndef MUTEX_H
#define MUTEX_H

#include "defs.h"
#include "g.h"
#include "weft.h"

/* The word; see mutex.c. Here for tests. */
enum {
	MUTEX_LOCKED = 1,
	MUTEX_WOKEN = 2,
	MUTEX_STARVING = 4,
	MUTEX_ONE = 8		/* one in the queue */
};

struct limit;

/*
 * Locks; the reason is what a dump says of a goroutine that has to wait. False
 * if the limit (NULL: none) was over before that.
 */
bool mutex_lock(weft_mutex *m, enum wait_reason reason, struct limit *l);

/* Unlocks and never yields: for callers that are not a goroutine's own
 * context. */
void mutex_unlock_no_yield(weft_mutex *m);
/* It is held. A guess, unless the caller is the holder. */
bool mutex_is_locked(weft_mutex *m);

#endif

/* SPDX-License-Identifier: MIT */
/* What other rooms need of the mutex. */
#ifndef MUTEX_H
#define MUTEX_H

#include "defs.h"
#include "g.h"
#include "weft.h"

/* The word; see there. Here for tests. */
enum {
	MUTEX_LOCKED = 1,
	MUTEX_WOKEN = 2,
	MUTEX_STARVING = 4,
	MUTEX_ONE = 8		/* of the queue */
};

/* Locks, and says what for if it has to wait. */
void mutex_lock(weft_mutex *m, enum wait_reason reason);

/* Unlocks and never yields: for who is no goroutine's own context. */
void mutex_unlock_no_yield(weft_mutex *m);
/* Somebody has it. A guess, unless that is the caller. */
bool mutex_is_locked(weft_mutex *m);

#endif

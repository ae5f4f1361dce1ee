/* SPDX-License-Identifier: MIT */
/*
 * pthread locks, on goroutines.
 *
 * They are not replaced but counted. A goroutine that parks with one held comes
 * back on its thread, which runs no other goroutine meanwhile (weft_thread_hold
 * says how): so thread and goroutine are the same for a lock that knows its
 * owner. Counted is before a lock is taken, so that there is no moment at which
 * a goroutine has a lock and could be moved.
 *
 * A lock that is taken by another is waited for by its address, in a table:
 *
 *	waiter					holder
 *	counts itself in the bucket (sc)	unlocks (a read-modify-write)
 *	tries the lock				reads the count (sc)
 *	parks					0: done; else wakes the first
 *						that waits for this address
 *
 * Either the waiter's try comes after the unlock and succeeds, or the holder
 * sees its count. An unlock that no hook sees (in a condition wait, or by a
 * process that shares the lock) wakes none, nor does one in an announced call:
 * so waits end after a while, and the lock is tried again. models/lock.pml
 * checks that none is lost.
 */
#ifndef LOCK_H
#define LOCK_H

#include <pthread.h>

#include "core.h"
#include "wait.h"

/* One lock: how to try it, 0 or an error, EBUSY: it is taken. */
typedef int lock_try(void *lock);

/*
 * Waits until fn returns another result than EBUSY, which is returned; or until
 * `when` (ETIMEDOUT). The goroutine holds its thread once for this lock, and
 * still does so if the result is 0 or EOWNERDEAD. Only after lock_may_park.
 */
int lock_park(void *lock, lock_try *fn, int64_t when);

/* After an unlock, by any thread. */
void lock_wake(void *lock, bool all);

/* How to wait for a lock: by parking? Else by a call of the system. */
bool lock_may_park(const void *caller);

/* The result of a call that locks: keeps the count if it has the lock. */
static inline int
lock_counted(int err)
{
	if (unlikely(err && err != EOWNERDEAD))
		weft_thread_release();
	return err;
}

/* On a goroutine: counts. False elsewhere. */
static always_inline bool
lock_count(void)
{
	return weft_thread_hold && weft_thread_hold();
}

/* The end of a limit in time of that clock; 0 if it is invalid. */
int64_t lock_when(clockid_t clock, const struct timespec *ts);

#endif

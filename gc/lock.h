/* SPDX-License-Identifier: MIT */
/*
 * A lock for goroutines, plain threads and announced calls alike. The word:
 *
 *	FREE	no thread has it
 *	HELD	one has it, and no goroutine waits
 *	WAITED	one has it, and goroutines may wait in the semaphore
 *
 * A goroutine that finds it held, and still held after a moment, makes it
 * WAITED and waits for a unit of the semaphore; one that releases a WAITED lock
 * gives a unit, which stays there if the other does not wait yet. The one that
 * is woken tries again, and if it gets the lock leaves it WAITED, for there may
 * be more.
 *
 * A goroutine that has it is in a region without preemption: when the runtime
 * ends, goroutines that have no processor never run again, and plain threads
 * may still need the lock. For the same reason plain threads do not wait in the
 * semaphore, where a goroutine could be before them that will never run: they
 * look now and then.
 *
 * In an announced call nothing of weft may be used. There a waiter looks now
 * and then, too, and the unit is given by the collector's thread
 * (lock_wake_owed), which is counted as a reason against a deadlock from the
 * release on.
 */
#ifndef WEFT_GC_LOCK_H
#define WEFT_GC_LOCK_H

#include <stdint.h>

struct lock {
	uint32_t word;
	uint32_t sema;
	uint32_t owed;		/* units the collector's thread is to give */
};

void lock_take(struct lock *l);
/* The same for a caller that must not wait in the semaphore. */
void lock_take_polling(struct lock *l);
void lock_drop(struct lock *l);
/* Sleeps, whoever calls it. */
void lock_nap(long ns);
/* The collector's thread. */
void lock_wake_owed(struct lock *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where those wait who wait on a word in the user's memory: a queue for any
 * address, in a table of our own, so that what users embed stays small and its
 * zero value works. (A parking lot: you find your car by what it stands for.)
 *
 * Who wants to wait locks the bucket of its address, looks at its word once
 * more, queues itself and sleeps, which drops the lock. Who changes the word
 * in favour of waiters takes them off under the same lock and wakes them
 * after it. What is said in the word about waiters (a bit, a count) changes
 * under the lock, too, so that it is true for who holds it.
 *
 * The user may free his memory as soon as his calls' *effects* allow it, not
 * only when they have returned: who was let in by an unlock may free the lock
 * while the unlocker is still in here. So nobody touches the user's word after
 * the step that lets another one go on. Buckets may be touched; a waiter that
 * still stands in its queue proves that its word is still there. Who looks
 * for waiters without such a proof may find those of something else that was
 * put at the same address meanwhile: keys of different kinds differ (parking_lot_key).
 */
#ifndef PARKING_LOT_H
#define PARKING_LOT_H

#include "fatal.h"
#include "list.h"
#include "lock.h"
#include "waitq.h"

struct bucket {
	struct lock lock;
	struct list waiters;	/* under lock; next is NULL before first use */
} cache_aligned;

/*
 * What waits on a word at p, 4-aligned: nobody else has that key. PLAIN is
 * for all who look for waiters only while they know that there are some.
 */
enum parking_lot_use { PARKING_PLAIN, PARKING_SEM, PARKING_COND, PARKING_MUTEX };

static inline const void *
parking_lot_key(const void *p, enum parking_lot_use use)
{
	return (const char *)p + use;
}

/* Takes the lock of a key's bucket; and drops it. */
struct bucket *parking_lot_lock(const void *key);
static inline void
parking_lot_unlock(struct bucket *b)
{
	lock_drop(&b->lock);
}

/* ---- bucket locked ---- */

static inline void
parking_lot_push(struct bucket *b, struct waiter *w)
{
	check(lock_held(&b->lock));
	list_push(&b->waiters, &w->link);
}

/* Before all others. */
static inline void
parking_lot_push_front(struct bucket *b, struct waiter *w)
{
	check(lock_held(&b->lock));
	list_push(b->waiters.next, &w->link);
}

/* Who waits longest with that key; it stays where it is. NULL: nobody. */
struct waiter *parking_lot_first(struct bucket *b, const void *key);
/*
 * Takes off and claims who waits longest; the caller wakes it when the lock
 * is dropped. NULL: nobody. Those that something else woke are taken off on
 * the way.
 */
struct waiter *parking_lot_claim(struct bucket *b, const void *key);
/* The same for at most n, into a list. How many. */
uint32_t parking_lot_claim_many(struct bucket *b, const void *key, uint32_t n,
    struct list *out);

/* A waiter whose sleep ended otherwise leaves; true if nobody else had taken
 * it off. */
static inline bool
parking_lot_remove(struct bucket *b, struct waiter *w)
{
	bool there = w->link.next != NULL;

	check(lock_held(&b->lock));
	if (there)
		list_remove(&w->link);
	return there;
}

#endif

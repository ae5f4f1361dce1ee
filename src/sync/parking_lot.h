/* SPDX-License-Identifier: MIT */
/*
 * The parking lot: wait queues for words in the user's memory, keyed by
 * address, in a table of our own. So what users embed stays small and its zero
 * value works.
 *
 * A caller that has to wait locks the bucket of the address, looks at the word
 * once more, queues itself and sleeps, which drops the lock. A caller that
 * changes the word in favour of waiters takes them off the list under the same
 * lock and wakes them after it is dropped. What the word says about waiters (a
 * bit, a count) changes under the lock, too, so that it is true for its holder.
 * A waiter whose sleep a limit ended (limit.h) takes the lock, too, before it
 * returns, also if it was taken off the list already.
 *
 * The user may free the memory as soon as the *effects* of calls allow it, not
 * only when they have returned: a locker that was let in by an unlock may free
 * the lock while the unlocker is still in here. So a caller does not touch the
 * user's word after the step that lets another one go on. Buckets may be
 * touched. A waiter that is on the list, or was taken off it in vain (it could
 * not be claimed) by the present holder of the bucket's lock, proves that its
 * word is still there. A caller that looks for waiters without such a proof may
 * find those of another object that was put at the same address meanwhile: keys
 * of different kinds differ (parking_lot_key).
 */
#ifndef PARKING_LOT_H
#define PARKING_LOT_H

#include "fatal.h"
#include "hard.h"
#include "list.h"
#include "lock.h"
#include "waitq.h"

struct bucket {
	struct lock lock;
	struct list waiters;	/* under lock; next is NULL before first use */
} cache_aligned;

/*
 * The key of those that wait on a word at p, 4-aligned, for this use of it.
 * PLAIN is for all kinds that look for waiters only while they know that the
 * word is still there.
 */
enum parking_lot_use {
	PARKING_PLAIN,
	PARKING_SEM,
	PARKING_COND,
	PARKING_MUTEX
};

static inline const void *
parking_lot_key(const void *p, enum parking_lot_use use)
{
	return (const char *)p + use;
}

/* Takes the lock of a key's bucket; and drops it. No lock is held. */
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

/* At the front: before all others. */
static inline void
parking_lot_push_front(struct bucket *b, struct waiter *w)
{
	check(lock_held(&b->lock));
	list_push(b->waiters.next, &w->link);
}

/* The first waiter with that key, which stays on the list; or NULL. */
struct waiter *parking_lot_first(struct bucket *b, const void *key);
/*
 * Takes the first waiter off the list that can be claimed; the caller wakes it
 * when the lock is dropped. NULL if there is none. Those that cannot be claimed
 * are taken off on the way.
 */
struct waiter *parking_lot_claim(struct bucket *b, const void *key);
/* The same for at most n, into a list; returns how many. */
uint32_t parking_lot_claim_many(struct bucket *b, const void *key, uint32_t n,
    struct list *out);

/*
 * A waiter that was not claimed leaves; true if it was still on the list.
 */
static inline bool
parking_lot_remove(struct bucket *b, struct waiter *w)
{
	bool there = w->link.next != NULL;

	check(lock_held(&b->lock));
	if (there)
		list_remove(&w->link);
	return there;
}

/* ---- no lock held ---- */

/* The same for a waiter of which its word says nothing. */
static inline void
parking_lot_leave(struct bucket *b, struct waiter *w)
{
	hard_pause();
	lock_take(&b->lock);
	parking_lot_remove(b, w);
	lock_drop(&b->lock);
}

#endif

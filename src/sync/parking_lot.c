/* SPDX-License-Identifier: MIT */
/*
 * A table of queues. An address hashes to a bucket; a bucket has one lock and
 * one list of waiters for all addresses that fall into it, in order of
 * arrival.
 *
 * Not the tree per bucket that Go has: 4096 buckets make collisions rare
 * enough, and a bucket without waiters costs nothing.
 */
#include "parking_lot.h"

enum { BUCKETS = 4096 };

static struct bucket table[BUCKETS];

/* With a rank of 0 the lock of an untouched bucket is ready; not its list. */
_Static_assert(RANK_PARKING_LOT == 0 && BUCKETS == 1 << 12,
    "see parking_lot_lock");

struct bucket *
parking_lot_lock(const void *key)
{
	uint64_t h = (uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
	struct bucket *b = &table[h >> 52];	/* the top 12 bits */

	lock_take(&b->lock);
	if (unlikely(!b->waiters.next))
		list_init(&b->waiters);
	return b;
}

struct waiter *
parking_lot_first(struct bucket *b, const void *key)
{
	check(lock_held(&b->lock));
	list_each(it, &b->waiters) {
		struct waiter *w = container_of(it, struct waiter, link);

		if (w->key == key)
			return w;
	}
	return NULL;
}

uint32_t
parking_lot_claim_many(struct bucket *b, const void *key, uint32_t n,
    struct list *out)
{
	struct list *it, *next;
	uint32_t found = 0;

	check(lock_held(&b->lock));
	for (it = b->waiters.next; it != &b->waiters && found < n; it = next) {
		struct waiter *w = container_of(it, struct waiter, link);

		next = it->next;
		if (w->key != key)
			continue;
		list_remove(it);
		/* A limit was first: it finds itself off the list. */
		if (!sleeper_claim(w->who))
			continue;
		list_push(out, it);
		found++;
	}
	return found;
}

struct waiter *
parking_lot_claim(struct bucket *b, const void *key)
{
	struct list one;
	struct waiter *w = NULL;

	list_init(&one);
	if (parking_lot_claim_many(b, key, 1, &one)) {
		w = container_of(one.next, struct waiter, link);
		list_remove(&w->link);
	}
	return w;
}

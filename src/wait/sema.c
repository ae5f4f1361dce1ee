/* SPDX-License-Identifier: MIT */
/*
 * A table of queues. An address hashes to a bucket; a bucket has one lock and
 * one list of waiters for all addresses that fall into it, in order of
 * arrival.
 *
 * Who waits has seen a count of 0 under the lock; who releases adds to the
 * count under the lock only when nobody waits for that address. So a count
 * above 0 and a waiter never exist together, and no unit is lost.
 *
 * Not the tree per bucket that Go has: 4096 buckets make collisions rare
 * enough, and a bucket that nobody waits in costs nothing.
 */
#include "sema.h"

#include "fatal.h"
#include "list.h"
#include "lock.h"
#include "waiter.h"

enum { BUCKETS = 4096 };

struct bucket {
	struct lock lock;
	struct list waiters;	/* under lock; next is NULL before first use */
} cache_aligned;

static struct bucket table[BUCKETS];

static struct bucket *
bucket_of(const a32 *count)
{
	uint64_t h = (uintptr_t)count * UINT64_C(0x9e3779b97f4a7c15);

	return &table[h >> 52];		/* the top 12 bits */
}

/* RANK_SEMA is 0, so an untouched bucket's lock is ready; not its list. */
_Static_assert(RANK_SEMA == 0 && BUCKETS == 1 << 12, "see above");

static void
bucket_lock(struct bucket *b)
{
	lock_take(&b->lock);
	if (!b->waiters.next)
		list_init(&b->waiters);
}

static bool
try_take(a32 *count)
{
	uint32_t n = a_load_relaxed(count);

	/* pairs with sema_release */
	while (n > 0 && !a_cas_acq(count, n, n - 1))
		n = a_load_relaxed(count);
	return n > 0;
}

void
sema_acquire(a32 *count, enum wait_reason reason)
{
	struct bucket *b = bucket_of(count);
	struct waiter w;

	if (try_take(count))
		return;
	bucket_lock(b);
	if (try_take(count)) {
		lock_drop(&b->lock);
		return;
	}
	waiter_init(&w, count);
	list_push(&b->waiters, &w.link);
	waiter_sleep(&w, &b->lock, reason);
}

/* Bucket locked. Moves up to n waiters for this count to a list. */
static uint32_t
take_waiters(struct bucket *b, const a32 *count, uint32_t n, struct list *out)
{
	struct list *it, *next;
	uint32_t found = 0;

	for (it = b->waiters.next; it != &b->waiters && found < n; it = next) {
		struct waiter *w = container_of(it, struct waiter, link);

		next = it->next;
		if (w->key != count)
			continue;
		list_remove(it);
		list_push(out, it);
		found++;
	}
	return found;
}

void
sema_release(a32 *count, uint32_t n)
{
	struct bucket *b = bucket_of(count);
	struct list woken;
	uint32_t found;

	list_init(&woken);
	bucket_lock(b);
	found = take_waiters(b, count, n, &woken);
	/* pairs with try_take */
	if (found < n)
		a_add_acqrel(count, n - found);
	lock_drop(&b->lock);
	waiter_wake_all(&woken);
}

/* SPDX-License-Identifier: MIT */
/*
 * A waiter queues after it has seen a count of 0 under the lock of the bucket.
 * A release hands units to waiters under that lock, and adds to the count only
 * those for which there is no waiter. So a count above 0 and a waiter that can
 * be claimed never exist together, and no unit is lost.
 *
 * A waiter whose limit ends its sleep cannot be claimed any more: a release
 * that finds it on the list drops it and gives the unit to the next one, or to
 * the count. So it leaves without a unit and has nothing to pass on. If it
 * wants one after all it begins anew.
 */
#include "parksema.h"

#include "limit.h"
#include "parking_lot.h"

bool
parksema_try(a32 *count)
{
	uint32_t n = a_load_relaxed(count);

	/* pairs with parksema_release */
	while (n > 0 && !a_cas_acq(count, n, n - 1))
		n = a_load_relaxed(count);
	return n > 0;
}

bool
parksema_acquire_limit(a32 *count, enum wait_reason reason, struct limit *l)
{
	bool got = true;
	struct bucket *b;
	struct sleeper s;
	struct waiter w;

	if (parksema_try(count))
		return true;
	sleeper_init(&s);
	limit_arm(l, &s);
	b = parking_lot_lock(count);
	if (parksema_try(count)) {
		parking_lot_unlock(b);
	} else {
		waiter_init(&w, &s, count);
		parking_lot_push(b, &w);
		got = sleeper_sleep(&s, &b->lock, reason) == RACE_CLAIMED;
		if (!got)
			parking_lot_leave(b, &w);
	}
	limit_disarm(l, &s);
	return got;
}

void
parksema_acquire(a32 *count, enum wait_reason reason)
{
	parksema_acquire_limit(count, reason, NULL);
}

void
parksema_release(a32 *count, uint32_t n)
{
	struct bucket *b = parking_lot_lock(count);
	struct list woken;
	uint32_t found;

	list_init(&woken);
	found = parking_lot_claim_many(b, count, n, &woken);
	/* pairs with parksema_try */
	if (found < n)
		a_add_acqrel(count, n - found);
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

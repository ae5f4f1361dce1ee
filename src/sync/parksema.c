/* SPDX-License-Identifier: MIT */
/*
 * Who waits has seen a count of 0 under the lock of the bucket; who releases
 * adds to the count under the lock only when nobody waits for that address.
 * So a count above 0 and a waiter never exist together, and no unit is lost.
 */
#include "parksema.h"

#include "parking_lot.h"

static bool
try_take(a32 *count)
{
	uint32_t n = a_load_relaxed(count);

	/* pairs with parksema_release */
	while (n > 0 && !a_cas_acq(count, n, n - 1))
		n = a_load_relaxed(count);
	return n > 0;
}

void
parksema_acquire(a32 *count, enum wait_reason reason)
{
	struct bucket *b;
	struct sleeper s;
	struct waiter w;

	if (try_take(count))
		return;
	b = parking_lot_lock(count);
	if (try_take(count)) {
		parking_lot_unlock(b);
		return;
	}
	sleeper_init(&s);
	waiter_init(&w, &s, count);
	parking_lot_push(b, &w);
	sleeper_sleep(&s, &b->lock, reason);
}

void
parksema_release(a32 *count, uint32_t n)
{
	struct bucket *b = parking_lot_lock(count);
	struct list woken;
	uint32_t found;

	list_init(&woken);
	found = parking_lot_claim_many(b, count, n, &woken);
	/* pairs with try_take */
	if (found < n)
		a_add_acqrel(count, n - found);
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

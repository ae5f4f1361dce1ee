/* SPDX-License-Identifier: MIT */
/*
 * The manual-reset event: one word with two bits.
 *
 *	SET		it is set
 *	AWAITED		there may be waiters in the queue; never with SET
 *
 * AWAITED changes under the lock of the bucket. While it is set, so does SET:
 * so each waiter is woken by a set that comes after it began to wait, and by
 * the first such one, whatever resets there are. A set does not touch the word
 * after that step: a caller that sees SET may free it.
 *
 * A waiter whose limit ended its sleep leaves the queue and need not say so in
 * the word: AWAITED may stay set without waiters, and then costs the next set
 * one look at the bucket.
 */
#include "fatal.h"
#include "limit.h"
#include "parking_lot.h"
#include "preempt.h"
#include "weft.h"

enum { SET = 1, AWAITED = 2 };

struct event {
	a32 state;
};
_Static_assert(sizeof(struct event) == sizeof(weft_event), "weft.h");
_Static_assert(_Alignof(struct event) == _Alignof(weft_event), "weft.h");

static struct event *
inner(weft_event *e)
{
	return (struct event *)(void *)e;
}

static bool
is_set(struct event *e)
{
	return a_load_acq(&e->state) & SET;	/* pairs with weft_event_set */
}

/* ---- setting ---- */

/* There may be waiters. */
static cold void
set_slow(struct event *e)
{
	struct bucket *b = parking_lot_lock(e);
	struct list woken;

	list_init(&woken);
	/* pairs with is_set */
	if (a_xchg_acqrel(&e->state, SET) & AWAITED)
		parking_lot_claim_many(b, e, UINT32_MAX, &woken);
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

public void
weft_event_set(weft_event *e)
{
	checkpoint();
	/* pairs with is_set */
	while (!a_cas_rel(&inner(e)->state, 0, SET)) {
		uint32_t s = a_load_relaxed(&inner(e)->state);

		/*
		 * Set already: but a caller that resets it must see what we
		 * did before, so it is written all the same. pairs with
		 * weft_event_reset
		 */
		if (s & SET && a_cas_acqrel(&inner(e)->state, s, s))
			return;
		if (s & AWAITED) {
			set_slow(inner(e));
			return;
		}
	}
}

public void
weft_event_reset(weft_event *e)
{
	/* pairs with weft_event_set: what came before a set is seen now */
	a_and_acqrel(&inner(e)->state, ~(uint32_t)SET);
}

public bool
weft_event_is_set(weft_event *e)
{
	checkpoint();
	return is_set(inner(e));
}

/* ---- waiting ---- */

/* Bucket locked. True if it is set; else AWAITED is set. */
static bool
is_set_or_await(struct event *e)
{
	uint32_t s;

	do {
		/* pairs with weft_event_set */
		s = a_load_acq(&e->state);
		if (s & SET)
			return true;
	} while (!a_cas_relaxed(&e->state, s, AWAITED));
	return false;
}

/* True if it was set. */
static bool
queue(struct event *e, struct sleeper *s)
{
	struct bucket *b = parking_lot_lock(e);
	struct waiter w;

	if (is_set_or_await(e)) {
		parking_lot_unlock(b);
		return true;
	}
	waiter_init(&w, s, e);
	parking_lot_push(b, &w);
	if (sleeper_sleep(s, &b->lock, WAIT_EVENT) == RACE_CLAIMED)
		return true;
	parking_lot_leave(b, &w);
	return false;
}

static bool
wait(struct event *e, struct limit *l)
{
	struct sleeper s;
	bool was_set;

	checkpoint();
	if (likely(is_set(e)))
		return true;
	sleeper_init(&s);
	was_set = limit_arm(l, &s) && queue(e, &s);
	limit_disarm(l, &s);
	return was_set;
}

public void
weft_event_wait(weft_event *e)
{
	wait(inner(e), NULL);
}

public bool
weft_event_wait_until(weft_event *e, int64_t when)
{
	struct limit l = { .when = when };

	return wait(inner(e), &l);
}

public bool
weft_event_wait_context(weft_event *e, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return wait(inner(e), &l);
}

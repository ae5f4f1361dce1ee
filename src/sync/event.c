/* SPDX-License-Identifier: MIT */
/*
 * The event: one word with two bits.
 *
 *	SET		it has happened
 *	AWAITED		somebody may stand in the queue; never with SET
 *
 * AWAITED changes under the lock of the bucket. While it is set, so does SET:
 * so each waiter is woken by a set that comes after it began to wait, and by
 * the first such one, whatever resets there are. Who sets does not touch the
 * word after that step: who sees SET may free it.
 */
#include <errno.h>

#include "context.h"
#include "fatal.h"
#include "hard.h"
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

/* Somebody seems to wait. */
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
		 * Set already: but who resets it must see what we did before,
		 * so it is written all the same. pairs with weft_event_reset
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

/* Bucket locked. True if it is set; else it says that somebody waits. */
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

static enum race
wait(struct event *e, struct sleeper *s)
{
	struct bucket *b = parking_lot_lock(e);
	struct waiter w;
	enum race how;

	if (is_set_or_await(e)) {
		parking_lot_unlock(b);
		return RACE_CLAIMED;
	}
	waiter_init(&w, s, e);
	parking_lot_push(b, &w);
	how = sleeper_sleep(s, &b->lock, WAIT_EVENT);
	if (how == RACE_CLAIMED)
		return how;
	parking_lot_lock(e);
	parking_lot_remove(b, &w);	/* AWAITED may stay */
	parking_lot_unlock(b);
	return how;
}

public void
weft_event_wait(weft_event *e)
{
	struct sleeper s;

	checkpoint();
	if (likely(is_set(inner(e))))
		return;
	sleeper_init(&s);
	wait(inner(e), &s);
}

public int
weft_event_wait_until(weft_event *e, int64_t when)
{
	struct sleeper s;
	enum race how;

	checkpoint();
	if (likely(is_set(inner(e))))
		return 0;
	sleeper_init(&s);
	sleeper_arm(&s, when);
	how = wait(inner(e), &s);
	sleeper_disarm(&s);
	return how == RACE_CLAIMED ? 0 : -ETIMEDOUT;
}

public int
weft_event_wait_context(weft_event *e, weft_context *ctx)
{
	struct sleeper s;
	struct watch watch;
	enum race how;
	int err;

	checkpoint();
	if (likely(is_set(inner(e))))
		return 0;
	sleeper_init(&s);
	err = context_watch(ctx, &watch, &s);
	if (err)
		return err;
	how = wait(inner(e), &s);
	context_unwatch(ctx, &watch);
	return how == RACE_CLAIMED ? 0 : weft_context_error(ctx);
}

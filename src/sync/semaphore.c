/* SPDX-License-Identifier: MIT */
/*
 * The weighted semaphore: one word, the units that are free, with a bit
 *
 *	QUEUED		somebody stands in the queue
 *
 * that changes under the lock of the bucket. While it is set nobody takes
 * units but by the queue, in its order: units then only become more, until
 * the first in the queue has enough. Whoever adds units, or leaves the queue
 * without any, lets in all who have enough now, in order (`admit`).
 *
 * A grant is a claim: it wins against a time or a context, or it is none. The
 * units are taken away after the claim, under the lock: they are granted once
 * or not at all.
 *
 * Adding units may be the step that lets somebody free the semaphore. So who
 * adds touches it again only if he finds, under the lock, one who still waits
 * for it.
 */
#include <errno.h>

#include "context.h"
#include "fatal.h"
#include "hard.h"
#include "parking_lot.h"
#include "preempt.h"
#include "weft.h"

#define QUEUED (UINT64_C(1) << 63)
#define UNITS_MAX (QUEUED - 1)

struct sem {
	a64 units;
};
_Static_assert(sizeof(struct sem) == sizeof(weft_sem), "weft.h");
_Static_assert(_Alignof(struct sem) == _Alignof(weft_sem), "weft.h");

static struct sem *
inner(weft_sem *s)
{
	return (struct sem *)(void *)s;
}

static bool
try_take(struct sem *s, uint64_t n)
{
	uint64_t u;

	do {
		u = a_load_relaxed(&s->units);
		if (u & QUEUED || u < n)
			return false;
		/* pairs with weft_sem_release */
	} while (!a_cas_acq(&s->units, u, u - n));
	return true;
}

/*
 * Bucket locked: lets in those at the front of the queue that have enough.
 * The caller wakes them.
 */
static void
admit(struct bucket *b, struct sem *s, struct list *woken)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct waiter *w;

	while ((w = parking_lot_first(b, key))) {
		uint64_t want = *(const uint64_t *)w->elem;

		/* pairs with weft_sem_release; who is let in sees it by us */
		if ((a_load_acq(&s->units) & ~QUEUED) < want)
			return;
		list_remove(&w->link);
		if (sleeper_claim(w->who)) {
			a_add_relaxed(&s->units, -want);
			list_push(woken, &w->link);
		}
		if (!parking_lot_first(b, key))
			a_and_relaxed(&s->units, ~QUEUED);
	}
}

/* ---- acquiring ---- */

/* Bucket locked. True if it took n units; else it says that one queues. */
static bool
take_or_queue(struct sem *s, uint64_t n)
{
	uint64_t u;

	for (;;) {
		if (try_take(s, n))
			return true;
		u = a_load_relaxed(&s->units);
		if (u & QUEUED)
			return false;
		if (u < n && a_cas_relaxed(&s->units, u, u | QUEUED))
			return false;
	}
}

/* The waiter's sleep ended otherwise: those behind it may have enough. */
static void
leave(struct bucket *b, struct sem *s, struct waiter *w)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct list woken;

	list_init(&woken);
	parking_lot_lock(key);
	if (parking_lot_remove(b, w)) {
		if (parking_lot_first(b, key))
			admit(b, s, &woken);
		else
			a_and_relaxed(&s->units, ~QUEUED);
	}
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

static enum race
acquire(struct sem *s, uint64_t n, struct sleeper *who)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct bucket *b = parking_lot_lock(key);
	struct waiter w;
	enum race how;

	if (take_or_queue(s, n)) {
		parking_lot_unlock(b);
		return RACE_CLAIMED;
	}
	waiter_init(&w, who, key);
	w.elem = &n;
	parking_lot_push(b, &w);
	how = sleeper_sleep(who, &b->lock, WAIT_SEMA);
	if (how != RACE_CLAIMED)
		leave(b, s, &w);
	return how;
}

public void
weft_sem_acquire(weft_sem *s, uint64_t n)
{
	struct sleeper who;

	checkpoint();
	if (likely(try_take(inner(s), n)))
		return;
	sleeper_init(&who);
	acquire(inner(s), n, &who);
}

public bool
weft_sem_try_acquire(weft_sem *s, uint64_t n)
{
	checkpoint();
	return try_take(inner(s), n);
}

public int
weft_sem_acquire_until(weft_sem *s, uint64_t n, int64_t when)
{
	struct sleeper who;
	enum race how;

	checkpoint();
	if (likely(try_take(inner(s), n)))
		return 0;
	sleeper_init(&who);
	sleeper_arm(&who, when);
	how = acquire(inner(s), n, &who);
	sleeper_disarm(&who);
	return how == RACE_CLAIMED ? 0 : -ETIMEDOUT;
}

/* Who need not go on does not get what is there, either. */
public int
weft_sem_acquire_context(weft_sem *s, uint64_t n, weft_context *ctx)
{
	struct sleeper who;
	struct watch watch;
	enum race how;
	int err = weft_context_error(ctx);

	checkpoint();
	if (err || likely(try_take(inner(s), n)))
		return err;
	sleeper_init(&who);
	err = context_watch(ctx, &watch, &who);
	if (err)
		return err;
	how = acquire(inner(s), n, &who);
	context_unwatch(ctx, &watch);
	return how == RACE_CLAIMED ? 0 : weft_context_error(ctx);
}

/* ---- releasing ---- */

static cold void
release_slow(struct sem *s)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct bucket *b;
	struct list woken;

	hard_pause();
	list_init(&woken);
	b = parking_lot_lock(key);
	if (parking_lot_first(b, key))
		admit(b, s, &woken);
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

public void
weft_sem_release(weft_sem *s, uint64_t n)
{
	uint64_t u;

	/* pairs with try_take and admit */
	u = n <= UNITS_MAX ? a_add_acqrel(&inner(s)->units, n) : 0;
	if (unlikely(n > UNITS_MAX || (u & ~QUEUED) > UNITS_MAX - n))
		fatal("sem: release of %llu units to %llu: too many",
		    (unsigned long long)n, (unsigned long long)(u & ~QUEUED));
	if (unlikely(u & QUEUED))
		release_slow(inner(s));
}

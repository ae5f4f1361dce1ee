/* SPDX-License-Identifier: MIT */
/*
 * The weighted semaphore: one word, the units that are free, with a bit
 *
 *	QUEUED		the queue in the parking lot is not empty
 *
 * that changes under the lock of the bucket. While it is set units are taken
 * only by way of the queue, in its order: so they only become more until there
 * are enough for the first in the queue. A caller that adds units, or leaves
 * the queue without any, admits all those at its front for which there are
 * enough now (`admit`).
 *
 * A grant is a claim: it wins against the limit of the waiter, or there is no
 * grant. The units are subtracted after the claim, under the lock: they are
 * granted once or not at all.
 *
 * Adding units may be the step that lets another caller free the semaphore. So
 * the caller that adds touches it again only if it finds, under the lock, a
 * waiter that still queues for it.
 */
#include "fatal.h"
#include "hard.h"
#include "limit.h"
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
 * Bucket locked: admits those at the front of the queue for which there are
 * enough units. The caller wakes them.
 */
static void
admit(struct bucket *b, struct sem *s, struct list *woken)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct waiter *w;

	while ((w = parking_lot_first(b, key))) {
		uint64_t want = *(const uint64_t *)w->elem;

		/* pairs with weft_sem_release, for those that we admit */
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

/* Bucket locked. True if it took n units; else QUEUED is set. */
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

/* A waiter gives up: there may be enough for those behind it. */
static void
leave(struct bucket *b, struct sem *s, struct waiter *w)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct list woken;

	hard_pause();
	list_init(&woken);
	lock_take(&b->lock);
	if (parking_lot_remove(b, w)) {
		if (parking_lot_first(b, key))
			admit(b, s, &woken);
		else
			a_and_relaxed(&s->units, ~QUEUED);
	}
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

/* True if it has got n units. */
static bool
queue(struct sem *s, uint64_t n, struct sleeper *who)
{
	const void *key = parking_lot_key(s, PARKING_SEM);
	struct bucket *b = parking_lot_lock(key);
	struct waiter w;

	if (take_or_queue(s, n)) {
		parking_lot_unlock(b);
		return true;
	}
	waiter_init(&w, who, key);
	w.elem = &n;
	parking_lot_push(b, &w);
	if (sleeper_sleep(who, &b->lock, WAIT_SEMA) == RACE_CLAIMED)
		return true;
	leave(b, s, &w);
	return false;
}

static bool
acquire(struct sem *s, uint64_t n, struct limit *l)
{
	struct sleeper who;
	bool got;

	checkpoint();
	if (likely(try_take(s, n)))
		return true;
	sleeper_init(&who);
	got = limit_arm(l, &who) && queue(s, n, &who);
	limit_disarm(l, &who);
	return got;
}

public void
weft_sem_acquire(weft_sem *s, uint64_t n)
{
	acquire(inner(s), n, NULL);
}

public bool
weft_sem_try_acquire(weft_sem *s, uint64_t n)
{
	checkpoint();
	return try_take(inner(s), n);
}

public bool
weft_sem_acquire_until(weft_sem *s, uint64_t n, int64_t when)
{
	struct limit l = { .when = when };

	return acquire(inner(s), n, &l);
}

/* Work that is cancelled is not begun, even if there are units for it. */
public bool
weft_sem_acquire_context(weft_sem *s, uint64_t n, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return !weft_context_error(ctx) && acquire(inner(s), n, &l);
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

/* SPDX-License-Identifier: MIT */
/*
 * The condition variable: a queue in the parking lot, and its length, so that
 * a signal without waiters costs one load.
 *
 * A waiter is in the queue before it unlocks the mutex: a caller that locks the
 * mutex afterwards, changes something and signals finds it there. The waiter
 * cannot unlock the mutex while it holds the bucket's lock, nor be woken before
 * it is parked; so the context that follows it on its P does both, first the
 * bucket, then the mutex (see sched_park). If a signal comes in between, the
 * waiter wakes up and waits for the mutex like any locker; the mutex is still
 * locked on the waiter's own behalf.
 *
 * The length changes under the bucket's lock. A signal needs no order to read
 * it: if it has to see the waiter, it knows of it by the mutex.
 *
 * A signal takes the first in the queue that it can claim. So a waiter whose
 * limit ended its sleep has not used up a signal, and one that was claimed at
 * the last moment was signalled, and says so, however late it is. The waiter
 * that cannot be claimed is taken off the list but stays counted: it counts
 * itself out when it leaves. A length that is too large for a moment costs a
 * signal one look at the bucket.
 *
 * A wait with a limit that is over before it begins unlocks the mutex and locks
 * it again, too: others that wait for the mutex get a turn in a loop that only
 * waits.
 */
#include "fatal.h"
#include "hard.h"
#include "limit.h"
#include "mutex.h"
#include "os.h"
#include "parking_lot.h"
#include "preempt.h"

struct cond {
	a32 waiters;
};
_Static_assert(sizeof(struct cond) == sizeof(weft_cond), "weft.h");
_Static_assert(_Alignof(struct cond) == _Alignof(weft_cond), "weft.h");

static struct cond *
inner(weft_cond *c)
{
	return (struct cond *)(void *)c;
}

/* Bucket locked, and the memory known to be there: n came or left. */
static void
count(struct cond *c, uint32_t n)
{
	a_store_relaxed(&c->waiters, a_load_relaxed(&c->waiters) + n);
}

struct held {
	struct bucket *b;
	weft_mutex *m;
};

/* The waiter is parked. After the first line its record may be gone. */
static void
release_locks(void *arg)
{
	struct held h = *(struct held *)arg;

	parking_lot_unlock(h.b);
	hard_pause();
	mutex_unlock_no_yield(h.m);
}

/* True if it was signalled. */
static bool
park(struct cond *c, weft_mutex *m, struct sleeper *s)
{
	const void *key = parking_lot_key(c, PARKING_COND);
	struct held h = { parking_lot_lock(key), m };
	struct waiter w;

	waiter_init(&w, s, key);
	parking_lot_push(h.b, &w);
	count(c, 1);
	if (sleeper_sleep_with(s, release_locks, &h, WAIT_COND) == RACE_CLAIMED)
		return true;
	hard_pause();
	lock_take(&h.b->lock);
	parking_lot_remove(h.b, &w);
	count(c, -1u);
	parking_lot_unlock(h.b);
	return false;
}

static void
check_locked(weft_mutex *m)
{
	if (unlikely(!mutex_is_locked(m)))
		fatal("cond: wait with an unlocked mutex");
}

/* The mutex is held by the caller, also on return. */
static bool
wait(struct cond *c, weft_mutex *m, struct limit *l)
{
	struct sleeper s;
	bool signalled;

	check_locked(m);
	sleeper_init(&s);
	limit_arm(l, &s);
	signalled = park(c, m, &s);
	limit_disarm(l, &s);
	weft_mutex_lock(m);
	return signalled;
}

public void
weft_cond_wait(weft_cond *c, weft_mutex *m)
{
	wait(inner(c), m, NULL);
}

public bool
weft_cond_wait_until(weft_cond *c, weft_mutex *m, int64_t when)
{
	struct limit l = { .when = when };

	return wait(inner(c), m, &l);
}

public bool
weft_cond_wait_context(weft_cond *c, weft_mutex *m, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return wait(inner(c), m, &l);
}

/* Wakes at most n of them. */
static void
wake(struct cond *c, uint32_t n)
{
	const void *key = parking_lot_key(c, PARKING_COND);
	struct bucket *b;
	struct list woken;
	uint32_t found;

	if (a_load_relaxed(&c->waiters) == 0)
		return;
	hard_pause();
	list_init(&woken);
	b = parking_lot_lock(key);
	found = parking_lot_claim_many(b, key, n, &woken);
	if (found)
		count(c, -found);
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

public void
weft_cond_signal(weft_cond *c)
{
	checkpoint();
	wake(inner(c), 1);
}

public void
weft_cond_broadcast(weft_cond *c)
{
	checkpoint();
	wake(inner(c), UINT32_MAX);
}

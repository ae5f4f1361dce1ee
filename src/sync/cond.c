/* SPDX-License-Identifier: MIT */
/*
 * The condition: a queue in the lot, and the number of those in it, so that a
 * signal to nobody costs one load.
 *
 * Who waits is in the queue before the mutex is unlocked: whoever locks it
 * afterwards, changes something and signals finds it there. It cannot unlock
 * while it holds the bucket, nor be woken before it is parked; so what follows
 * it on its processor does both, first the bucket, then the mutex (see
 * sched_park). If a signal comes in between, the waiter wakes up and waits for
 * the mutex like everybody else, which is still locked in its own name.
 *
 * The number changes under the bucket's lock. Who signals needs no order to
 * read it: if it has to see the waiter, it got to know of it by the mutex.
 *
 * A signal takes the first in the queue that nothing else has woken. So one
 * that is late by a hair and has been signalled was signalled (0), and one
 * that was not has not used up a signal.
 */
#include <errno.h>

#include "fatal.h"
#include "hard.h"
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

/* Bucket locked, and the condition known to be there: n came or left. */
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

static int
wait(struct cond *c, weft_mutex *m, struct sleeper *s)
{
	const void *key = parking_lot_key(c, PARKING_COND);
	struct held h = { parking_lot_lock(key), m };
	struct waiter w;
	enum race how;

	waiter_init(&w, s, key);
	parking_lot_push(h.b, &w);
	count(c, 1);
	how = sleeper_sleep_with(s, release_locks, &h, WAIT_COND);
	if (how != RACE_CLAIMED) {
		parking_lot_lock(key);
		/* Who takes off one that it cannot claim leaves it counted. */
		parking_lot_remove(h.b, &w);
		count(c, -1u);
		parking_lot_unlock(h.b);
	}
	return how == RACE_CLAIMED ? 0 : -ETIMEDOUT;
}

static void
check_locked(weft_mutex *m)
{
	if (unlikely(!mutex_is_locked(m)))
		fatal("cond: wait with an unlocked mutex");
}

public void
weft_cond_wait(weft_cond *c, weft_mutex *m)
{
	struct sleeper s;

	check_locked(m);
	sleeper_init(&s);
	wait(inner(c), m, &s);
	weft_mutex_lock(m);
}

public int
weft_cond_wait_until(weft_cond *c, weft_mutex *m, int64_t when)
{
	struct sleeper s;
	int err;

	check_locked(m);
	sleeper_init(&s);
	sleeper_arm(&s, when);
	err = wait(inner(c), m, &s);
	sleeper_disarm(&s);
	weft_mutex_lock(m);
	return err;
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

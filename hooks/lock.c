/* SPDX-License-Identifier: MIT */
/* See lock.h. */
#define _GNU_SOURCE 1
#include "lock.h"

#include <time.h>

#include "counts.h"
#include "list.h"
#include "module.h"
#include "timespan.h"

enum { BUCKETS = 256 };
/* How long a wait lasts at least, and at most, before the lock is tried
 * unasked. */
#define SHORT_NS (1 * WEFT_MS)
#define LONG_NS (16 * WEFT_MS)

struct waiter {
	struct list link;	/* under the bucket's lock */
	/* constant */
	const void *lock;
	/* any thread */
	weft_event woken;
};

struct bucket {
	weft_mutex lock;
	a32 n;			/* any thread, atomic: that wait, or are about
				 * to */
	struct list waiters;	/* under lock; next is NULL before first use */
} cache_aligned;

static struct bucket buckets[BUCKETS];

static struct bucket *
bucket_of(const void *lock)
{
	uint64_t x = (uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[x >> 56];
}

bool
lock_may_park(const void *caller)
{
	return wait_how() == WAIT_PARK && !module_keeps_thread(caller);
}

/* ---- waiting ---- */

static void
enqueue(struct bucket *b, struct waiter *w)
{
	weft_mutex_lock(&b->lock);
	if (!b->waiters.next)
		list_init(&b->waiters);
	weft_event_reset(&w->woken);
	list_push(&b->waiters, &w->link);
	weft_mutex_unlock(&b->lock);
}

/* It may have been woken meanwhile: so the caller tries once more. */
static void
dequeue(struct bucket *b, struct waiter *w)
{
	weft_mutex_lock(&b->lock);
	if (w->link.next)
		list_remove(&w->link);
	weft_mutex_unlock(&b->lock);
}

/*
 * The goroutine may come back on any thread: the lock is not held, and not
 * counted while it waits.
 */
static int
wait_and_try(struct bucket *b, struct waiter *w, lock_try *fn, int64_t when)
{
	int err;

	enqueue(b, w);
	weft_thread_hold();
	err = fn((void *)w->lock);
	if (err == EBUSY) {
		weft_thread_release();
		count(lock_parks);
		weft_event_wait_until(&w->woken, when);
		weft_thread_hold();
	}
	dequeue(b, w);
	return err == EBUSY ? fn((void *)w->lock) : err;
}

int
lock_park(void *lock, lock_try *fn, int64_t when)
{
	struct bucket *b = bucket_of(lock);
	struct waiter w = { .lock = lock };
	int64_t ns = SHORT_NS;
	int err;

	/* sc: pairs with lock_wake */
	a_add_sc(&b->n, 1);
	do {
		int64_t until = weft_deadline(ns);

		weft_thread_release();
		err = wait_and_try(b, &w, fn, until < when ? until : when);
		ns = ns < LONG_NS ? ns * 2 : ns;
		if (err == EBUSY && when != WEFT_NEVER && weft_now() >= when)
			err = ETIMEDOUT;
	} while (err == EBUSY);
	a_add_sc(&b->n, -1u);
	return err;
}

/* ---- waking ---- */

static bool
wake_first(struct bucket *b, const void *lock)
{
	struct list *node;

	for (node = b->waiters.next; node != &b->waiters; node = node->next) {
		struct waiter *w = container_of(node, struct waiter, link);

		if (w->lock != lock)
			continue;
		list_remove(&w->link);
		weft_event_set(&w->woken);
		return true;
	}
	return false;
}

/* The caller may be in code that needs its thread: so it keeps it. */
static cold void
wake(struct bucket *b, const void *lock, bool all)
{
	bool held = weft_thread_hold();

	weft_mutex_lock(&b->lock);
	while (b->waiters.next && wake_first(b, lock) && all)
		;
	weft_mutex_unlock(&b->lock);
	if (held)
		weft_thread_release();
}

void
lock_wake(void *lock, bool all)
{
	struct bucket *b = bucket_of(lock);

	/* sc: pairs with lock_park. The unlock before it is a
	 * read-modify-write of libc's. */
	if (unlikely(a_load_sc(&b->n)))
		wake(b, lock, all);
}

/* ---- limits ---- */

int64_t
lock_when(clockid_t clock, const struct timespec *ts)
{
	struct timespec now;
	int64_t left;

	if (!is_time(ts) || clock_gettime(clock, &now))
		return 0;
	if (ts->tv_sec - now.tv_sec > INT64_MAX / WEFT_SECOND / 2)
		return WEFT_NEVER;
	left = (ts->tv_sec - now.tv_sec) * WEFT_SECOND + ts->tv_nsec -
	    now.tv_nsec;
	return left <= 0 ? 1 : weft_deadline(left);
}

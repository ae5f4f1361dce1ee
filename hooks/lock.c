/* SPDX-License-Identifier: MIT */
/* See lock.h. */
#define _GNU_SOURCE 1
#include "lock.h"

#include <time.h>

#include "counts.h"
#include "guard.h"
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
	/* any thread: set by the one that has taken it off the list */
	weft_event woken;
};

struct bucket {
	pthread_mutex_t lock;
	a32 n;			/* any thread, atomic: that wait, or are about
				 * to */
	struct list waiters;	/* under lock; next is NULL before first use */
} cache_aligned;

static struct bucket buckets[BUCKETS] = {
	[0 ... BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER }
};

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
	weft_event_reset(&w->woken);
	guard_take(&b->lock);
	if (!b->waiters.next)
		list_init(&b->waiters);
	list_push(&b->waiters, &w->link);
	guard_drop(&b->lock);
}

/*
 * It may have been taken off the list meanwhile: then its event is set, or will
 * be in a moment, until when it must not be freed. The caller tries once more.
 */
static void
dequeue(struct bucket *b, struct waiter *w)
{
	bool there;

	guard_take(&b->lock);
	there = w->link.next != NULL;
	if (there)
		list_remove(&w->link);
	guard_drop(&b->lock);
	if (!there)
		weft_event_wait(&w->woken);
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
		dequeue(b, w);
		weft_thread_hold();
		return fn((void *)w->lock);
	}
	dequeue(b, w);
	return err;
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

/* Lock held. Takes the first that waits for it off the list; or NULL. */
static struct waiter *
take_first(struct bucket *b, const void *lock)
{
	struct list *node = b->waiters.next;

	for (; node && node != &b->waiters; node = node->next) {
		struct waiter *w = container_of(node, struct waiter, link);

		if (w->lock == lock) {
			list_remove(&w->link);
			return w;
		}
	}
	return NULL;
}

/*
 * libweft must not be used in an announced call, nor in a signal handler: then
 * the waiters find out for themselves. Nor may the caller leave its thread.
 */
static cold void
wake(struct bucket *b, const void *lock, bool all)
{
	struct waiter *w;
	bool held = weft_thread_hold();

	do {
		if (held && !weft_can_park())
			break;
		guard_take(&b->lock);
		w = take_first(b, lock);
		guard_drop(&b->lock);
		if (w)
			weft_event_set(&w->woken);
	} while (w && all);
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

/* The goroutines that wait are not in the child of a fork. */
static void
forked(void)
{
	for (struct bucket *b = buckets; b < buckets + BUCKETS; b++)
		*b = (struct bucket){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

__attribute__((__constructor__)) static void
watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
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

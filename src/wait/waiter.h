/* SPDX-License-Identifier: MIT */
/*
 * Who waits: a goroutine, which parks, or a plain thread, which sleeps on a
 * note. The record lives on the waiter's own stack; stacks never move.
 */
#ifndef WAITER_H
#define WAITER_H

#include "g.h"
#include "list.h"
#include "lock.h"

struct waiter {
	struct list link;	/* under the lock of what it waits on */
	const void *key;	/* what it waits on; constant while linked */
	struct g *gp;		/* the goroutine, or NULL: a plain thread */
	struct note note;	/* for a plain thread */
};

/* Fills in a record for the caller. */
void waiter_init(struct waiter *w, const void *key);

/*
 * Sleeps until woken. The lock, under which the caller queued itself, is held
 * on entry and released when the waiter may be woken.
 */
void waiter_sleep(struct waiter *w, struct lock *l, enum wait_reason reason);

/*
 * Wakes waiters that were taken off their queue; no lock held. A waiter must
 * not be touched after it: its record is gone when it runs.
 */
void waiter_wake(struct waiter *w);
/* All of a list, in order. */
void waiter_wake_all(struct list *l);

#endif

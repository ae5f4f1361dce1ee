/* SPDX-License-Identifier: MIT */
/*
 * Locks and notes that block the thread, not the goroutine. They guard the
 * runtime's own short critical sections; no user code runs under one.
 *
 * A lock may be released by other code than took it, on the same thread: a
 * parking goroutine takes it, whatever the thread runs next releases it.
 */
#ifndef LOCK_H
#define LOCK_H

#include "atomic.h"
#include "defs.h"
#include "lockrank.h"

/*
 * Word of a lock:
 *	0	free
 *	1	held, nobody sleeps
 *	2	held, somebody may sleep on the word
 */
struct lock {
	a32 word;
	uint8_t rank;		/* constant after init */
};

#define LOCK_INIT(r) { .rank = (r) }

void lock_take(struct lock *l);
void lock_drop(struct lock *l);

/* For checks: true if this thread holds a lock of that rank (or no debug). */
bool lock_held(const struct lock *l);

/*
 * A note: one thread sleeps until another wakes it, once. The waker may come
 * first. A poke ends the sleep too, but is no wake. Word:
 *	0	not yet
 *	1	woken
 *	2	poked: the sleeper shall look around and sleep again
 */
struct note {
	a32 word;
};

enum note_end { NOTE_WOKEN, NOTE_POKED, NOTE_TIMEOUT };

void note_clear(struct note *n);
void note_wake(struct note *n);
void note_poke(struct note *n);
/* Sleeps until woken, poked, or timeout_ns passed (FOREVER). */
enum note_end note_wait(struct note *n, int64_t timeout_ns);
/* The same for one that is never poked: false if timed out. */
bool note_sleep(struct note *n, int64_t timeout_ns);

#endif

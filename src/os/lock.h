/* SPDX-License-Identifier: MIT */
/*
 * Locks and notes that block the thread, not the goroutine. They guard the
 * runtime's own short critical sections; no user code runs under one.
 *
 * A lock may be released by other code than took it, on the same thread: a
 * parking goroutine takes it, the context that follows releases it.
 */
#ifndef LOCK_H
#define LOCK_H

#include "atomic.h"
#include "defs.h"
#include "lockrank.h"
#include "tls_self.h"

/*
 * Word of a lock:
 *	0	free
 *	1	held, no thread sleeps
 *	2	held, threads may sleep on the word
 */
struct lock {
	a32 word;
	uint8_t rank;		/* constant after init */
};

#define LOCK_INIT(r) { .rank = (r) }

/*
 * Debug builds check that the rank of a lock that is taken is higher than that
 * of any held; `peer` locks have one rank, in the order of their addresses.
 */
#ifdef WEFT_DEBUG
void lock_rank_enter(const struct lock *l, bool peer);
void lock_rank_leave(const struct lock *l, bool peer);
#else
static inline void
lock_rank_enter(const struct lock *l, bool peer)
{
	(void)l, (void)peer;
}

static inline void
lock_rank_leave(const struct lock *l, bool peer)
{
	(void)l, (void)peer;
}
#endif

enum { LOCK_FREE, LOCK_HELD, LOCK_SLEEPERS };

void lock_take_slow(struct lock *l);
void lock_wake(struct lock *l);

/*
 * A thread that holds a lock is not paused (preempt/pause.c): the lock is
 * counted before it is taken, and until after it is released. A signal handler
 * on the thread itself reads the count, so the compiler's order is enough.
 */
static always_inline void
lock_count(uint32_t by)
{
	__asm__ volatile("" ::: "memory");
	self()->locks += by;
	__asm__ volatile("" ::: "memory");
}

static always_inline void
lock_take_word(struct lock *l)
{
	/* pairs with lock_drop_word */
	if (unlikely(!a_cas_acq(&l->word, LOCK_FREE, LOCK_HELD)))
		lock_take_slow(l);
}

/* After the exchange the lock may be gone: its next holder may free it. */
static always_inline void
lock_drop_word(struct lock *l)
{
	/* pairs with lock_take_word */
	if (unlikely(a_xchg_rel(&l->word, LOCK_FREE) == LOCK_SLEEPERS))
		lock_wake(l);
	lock_count(-1u);
}

/* The process dies on this thread, which takes the lock if it is free, for
 * good: whatever it holds already. */
static inline bool
lock_seize(struct lock *l)
{
	lock_count(1);
	self()->ranks |= 1u << l->rank;		/* for lock_held */
	/* pairs with lock_drop_word */
	return a_cas_acq(&l->word, LOCK_FREE, LOCK_HELD);
}

/* For a thread that must not wait: false if it is held. */
static inline bool
lock_try(struct lock *l)
{
	lock_count(1);
	/* pairs with lock_drop_word */
	if (!a_cas_acq(&l->word, LOCK_FREE, LOCK_HELD)) {
		lock_count(-1u);
		return false;
	}
	lock_rank_enter(l, false);
	return true;
}

static inline void
lock_take(struct lock *l)
{
	lock_count(1);
	lock_rank_enter(l, false);
	lock_take_word(l);
}

static inline void
lock_drop(struct lock *l)
{
	lock_rank_leave(l, false);
	lock_drop_word(l);
}

/*
 * A further lock of a rank that is held already; it may be dropped before or
 * after the first of them, which is dropped with lock_drop.
 */
static inline void
lock_take_peer(struct lock *l)
{
	lock_count(1);
	lock_rank_enter(l, true);
	lock_take_word(l);
}

static inline void
lock_drop_peer(struct lock *l)
{
	lock_rank_leave(l, true);
	lock_drop_word(l);
}

/*
 * For a thread that finds a lock word held: true if this happened to it a few
 * microseconds ago, too. Then cores contend for the word, and reading it, or
 * taking it for a single operation, costs both sides far more than the
 * operation. It is better to back off for a few microseconds, in which the
 * other side completes hundreds of operations, and to expect the same from it
 * then. (Four producers and four consumers of one channel on two cores: 55 ns
 * an element became 10.)
 */
bool lock_contended(void);
/* Backs off for n times a few microseconds, and reads nothing shared. */
void lock_backoff(unsigned n);

/* For checks: this thread holds a lock of that rank. Release builds: true. */
bool lock_held(const struct lock *l);

/*
 * A note: one thread sleeps until another wakes it, once. The wake-up may come
 * before the sleep. A poke ends the sleep too, as a spurious wake-up. Word:
 *	0	not yet
 *	1	woken
 *	2	poked: the sleeper checks its condition and sleeps again
 */
struct note {
	a32 word;
};

enum note_end { NOTE_WOKEN, NOTE_POKED, NOTE_TIMEOUT };

void note_clear(struct note *n);
void note_wake(struct note *n);
void note_poke(struct note *n);
/*
 * The halves of these, for a sleeper that may sleep elsewhere (in the poller).
 * note_mark sets the word; if it returns true the caller then has to end the
 * sleep (false: a poke came too late, the note is woken or poked already).
 * note_futex_wake does so for a sleeper on the note. note_try_wait consumes
 * the mark without sleeping: TIMEOUT if there is none.
 */
bool note_mark(struct note *n, enum note_end as);
void note_futex_wake(struct note *n);
enum note_end note_try_wait(struct note *n);
/* Sleeps until woken, poked, or timeout_ns passed (FOREVER). */
enum note_end note_wait(struct note *n, int64_t timeout_ns);
/* The same for one that is never poked: false if timed out. */
bool note_sleep(struct note *n, int64_t timeout_ns);

#endif

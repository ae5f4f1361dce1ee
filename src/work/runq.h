/* SPDX-License-Identifier: MIT */
/*
 * Run queues: a ring, the slot runnext and a deque for each P, and the global
 * queue.
 *
 * The ring has one producer, its owner, and many consumers: the owner and
 * thieves. `tail` counts goroutines ever put, by the owner; `head` counts
 * those ever taken, by compare-and-swap. The ring holds tail - head of them.
 * A slot is written only while it is outside of head..tail, and a consumer
 * reads a slot before it moves head past it, so a goroutine is taken exactly
 * once.
 *
 * `runnext` is the goroutine to run next: the one readied last, whose data is
 * hot. The owner exchanges it, a thief may take it as a last resort. Newborns
 * are in the deque, see deque.h.
 *
 * Rejected: plain stores instead of locked instructions while there is only
 * one P. Measured: it makes no difference to a yield.
 */
#ifndef RUNQ_H
#define RUNQ_H

#include "deque.h"
#include "fatal.h"
#include "g.h"
#include "hard.h"
#include "lock.h"

enum {
	RUNQ_SIZE = 256,	/* a power of two */
	RUNQ_HALF = RUNQ_SIZE / 2,
	RUNQ_LONG = 16,
	DEQUE_STEAL_MAX = 32
};

struct runq {
	/* any thread, atomic: consumers */
	a32 head cache_aligned;
	/* owner writes, any thread reads */
	a32 tail cache_aligned;
	/* any thread, atomic */
	APTR(struct g) next;
	APTR(struct g) ring[RUNQ_SIZE] cache_aligned;
	struct deque deque;
};

/* What must hold whenever the owner looks. */
static inline bool
runq_valid(struct runq *q)
{
	return a_load_relaxed(&q->tail) - a_load_relaxed(&q->head) <=
	    RUNQ_SIZE;
}

/* Owner only. False if the ring is full; else the slot at tail is filled. */
static inline bool
runq_fill(struct runq *q, struct g *gp, uint32_t tail)
{
	/* pairs with runq_get and runq_steal: its last reader is done */
	uint32_t head = a_load_acq(&q->head);

	check_slow(runq_valid(q));
	if (unlikely(tail - head >= RUNQ_SIZE))
		return false;
	a_store_relaxed(&q->ring[tail % RUNQ_SIZE], gp);
	hard_pause();
	return true;
}

/*
 * Owner only. False if the ring is full. A full barrier: no later load is
 * executed before it (see the wake protocol in sched/idle.c).
 */
static inline bool
runq_put(struct runq *q, struct g *gp)
{
	uint32_t tail = a_load_relaxed(&q->tail);

	if (unlikely(!runq_fill(q, gp, tail)))
		return false;
	/*
	 * pairs with runq_steal and runq_empty. sc: the caller looks for idle
	 * Ps next, while a P going idle looks for this goroutine.
	 */
	a_store_sc(&q->tail, tail + 1);
	return true;
}

/* No full barrier: for goroutines that others see in the global queue until
 * globq_count, after the put. */
static inline bool
runq_put_quiet(struct runq *q, struct g *gp)
{
	uint32_t tail = a_load_relaxed(&q->tail);

	if (unlikely(!runq_fill(q, gp, tail)))
		return false;
	a_store_rel(&q->tail, tail + 1);	/* pairs with runq_steal */
	return true;
}

/*
 * Owner only. Makes gp the next to run and returns the one it displaced, or
 * NULL. A full barrier, as runq_put.
 */
static inline struct g *
runq_swap_next(struct runq *q, struct g *gp)
{
	/* pairs with runq_steal_next. sc: as in runq_put */
	return a_xchg_sc(&q->next, gp);
}

/*
 * Owner only. Takes runnext; NULL if there is none. Only the owner sets it, so
 * what it loads is still there or a thief took it; if there is none the load
 * saves the compare-and-swap.
 */
static inline struct g *
runq_take_next(struct runq *q)
{
	struct g *gp = a_load_relaxed(&q->next);

	/* pairs with runq_swap_next */
	if (gp && !a_cas_acq(&q->next, gp, NULL))
		gp = NULL;
	return gp;
}

/*
 * The goroutines in a long ring have waited long and are cold: prefetches the
 * record of one that runs soon, and the end of the stack of one that runs
 * sooner. (A hint: a slot may be taken meanwhile, but records are never
 * freed.)
 */
static inline void
runq_fetch(struct runq *q, uint32_t head)
{
	struct g *soon = a_load_relaxed(&q->ring[(head + 3) % RUNQ_SIZE]);
	struct g *later = a_load_relaxed(&q->ring[(head + 6) % RUNQ_SIZE]);

	__builtin_prefetch(later, 1);
	__builtin_prefetch(&later->frame, 1);
	frame_fetch(&soon->frame);
}

/* Owner only. Takes the oldest of the ring; NULL if there is none. */
static inline struct g *
runq_get(struct runq *q)
{
	uint32_t tail = a_load_relaxed(&q->tail), head;
	struct g *gp;

	for (;;) {
		/* pairs with runq_steal: thieves may have moved it */
		head = a_load_acq(&q->head);
		if (head == tail)
			return NULL;
		gp = a_load_relaxed(&q->ring[head % RUNQ_SIZE]);
		if (unlikely(tail - head > RUNQ_LONG && !SAN_ON))
			runq_fetch(q, head);
		hard_pause();
		/* pairs with runq_fill: the slot has been read */
		if (likely(a_cas_acqrel(&q->head, head, head + 1)))
			return gp;
	}
}

/* Owner only, ring full: appends half of it, oldest first, to a list. */
void runq_halve(struct runq *q, struct glist *out);
/* The same for the deque. */
void runq_halve_deque(struct runq *q, struct glist *out);
/* Owner only: appends everything to a list, newborns last, oldest first. */
void runq_drain(struct runq *q, struct glist *out);
/* The same without the newborns. */
void runq_drain_woken(struct runq *q, struct glist *out);

/*
 * Thief, whose own ring is at most half full: takes half of the victim's ring,
 * rounded up. Returns one to run, NULL if there was nothing; *n is how many it
 * took in all, and the others are in the thief's ring.
 */
struct g *runq_steal(struct runq *mine, struct runq *victim, uint32_t *n);
/* The same for the deque, oldest first, at most DEQUE_STEAL_MAX. */
struct g *runq_steal_deque(struct runq *mine, struct runq *victim, uint32_t *n);
/* Thief: takes the victim's runnext if it is still gp. */
bool runq_steal_next(struct runq *victim, struct g *gp);
static inline struct g *
runq_peek_next(struct runq *q)
{
	return a_load_relaxed(&q->next);
}

/* Length of the ring. Owner; for others an estimate. */
uint32_t runq_len(struct runq *q);
/* How many were ever put; have so many been taken? Estimates. */
uint32_t runq_tail(struct runq *q);
bool runq_taken(struct runq *q, uint32_t tail);
/* Any thread: true if there was a moment during the call at which ring and
 * runnext were both empty, and one at which the deque was empty. */
bool runq_empty(struct runq *q);

/* ---- the global queue: under the scheduler's lock ---- */

/*
 * Two FIFO lists. Urgent goroutines come before the others, unless the caller
 * does not want them.
 */
struct globq {
	/* under sched.lock */
	struct glist list;
	struct glist urgent_list;
	/* any thread, atomic; written under sched.lock */
	a32 n;			/* the length of both */
	a32 urgent;		/* ... and of urgent_list */
	a32 n_taken;		/* how many were ever taken from list */
};

void globq_put(struct globq *q, struct glist *l);
/* The same for urgent ones. */
void globq_put_urgent(struct globq *q, struct glist *l);
void globq_put_one(struct globq *q, struct g *gp);
struct g *globq_get(struct globq *q);
/* The one that globq_get would return. */
struct g *globq_peek(const struct globq *q);
/* The first for which fn is true, or NULL; it stays in the queue. */
struct g *globq_find(const struct globq *q, bool (*fn)(struct g *gp));
void globq_remove(struct globq *q, struct g *gp);
/*
 * Returns one to run and moves the rest of a fair share (length/procs + 1 in
 * all), at most `more`, to the caller's own ring, which has room. If `urgent`,
 * and there are urgent ones, returns the first of these and moves none: in the
 * ring they would wait behind others. The share ends before one that is bound
 * to an M. NULL if there is none.
 */
struct g *globq_get_batch(struct globq *q, struct runq *mine, uint32_t procs,
    uint32_t more, bool urgent);

/* Is there an urgent one? An estimate unless under the lock. */
static inline bool
globq_urgent(struct globq *q)
{
	return a_load_relaxed(&q->urgent) > 0;
}

/* Any thread; an estimate unless ordered otherwise. */
static inline uint32_t
globq_len(struct globq *q)
{
	return a_load_sc(&q->n);	/* sc: pairs with globq_count */
}

#endif

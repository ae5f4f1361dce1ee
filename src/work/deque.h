/* SPDX-License-Identifier: MIT */
/*
 * The deque of a P: goroutines that have not run yet, newest first.
 *
 * When a goroutine spawns children and waits for them it is best to run the
 * newest child first: its arguments, and the stack that it will get, are hot,
 * and a tree of goroutines is then walked depth first, with as many stacks in
 * use as it is deep. In order of age it would be walked breadth first, with
 * all its inner nodes waiting on stacks of their own. Thieves steal the
 * oldest, which is the root of the largest part of the tree.
 *
 * This is the work-stealing deque of Chase and Lev. The owner pushes and pops
 * at `bottom`, thieves steal at `top`; the goroutines in it are top..bottom-1.
 * The owner and thieves compete only for the last one, by compare-and-swap of
 * top. The owner announces a pop by lowering bottom before it reads top, a
 * thief reads bottom after top: in the total order of these steps either the
 * owner sees that a thief has taken the same goroutine, or the thief sees that
 * it is gone.
 *
 * It grows when it is full: what spills to the global queue would start out of
 * order, and each such part of a tree would make more spill. The owner copies
 * the slots; the old ones are not written again, so a thief that still reads
 * there finds the same goroutine, or has lost the race for it anyway. The old
 * slots are not freed: all of them together are smaller than the new ones.
 */
#ifndef DEQUE_H
#define DEQUE_H

#include "fatal.h"
#include "g.h"
#include "hard.h"

enum {
	DEQUE_FIRST = 128,	/* slots at first; powers of two */
	DEQUE_MAX = 1 << 24
};

typedef APTR(struct g) deque_slot;

struct deque_buf {
	uint32_t size;		/* constant */
	deque_slot slot[];
};

struct deque {
	/* any thread, atomic: thieves, and for the last goroutine the owner */
	a32 top cache_aligned;
	/* owner writes, any thread reads */
	a32 bottom cache_aligned;
	APTR(struct deque_buf) more;	/* the slots; NULL: first */
	deque_slot first[DEQUE_FIRST] cache_aligned;
};

/* The slot with number i. */
static inline deque_slot *
deque_at(struct deque *n, uint32_t i)
{
	/* pairs with deque_grow */
	struct deque_buf *e = a_load_acq(&n->more);

	if (likely(!e))
		return &n->first[i % DEQUE_FIRST];
	return &e->slot[i & (e->size - 1)];
}

/* Owner only: the capacity. */
static inline uint32_t
deque_size(const struct deque *n)
{
	struct deque_buf *e = a_load_relaxed(&n->more);

	return e ? e->size : DEQUE_FIRST;
}

/* Owner only. Doubles the capacity. False if there is no memory. */
bool deque_grow(struct deque *n);

/* Owner; for others an estimate. (During a pop bottom may be below top.) */
static inline uint32_t
deque_len(const struct deque *n)
{
	int32_t len = (int32_t)(a_load_relaxed(&n->bottom) -
	    a_load_relaxed(&n->top));

	return len > 0 ? (uint32_t)len : 0;
}

/* Any thread: true if there was a moment during the call when it was empty. */
static inline bool
deque_empty(struct deque *n)
{
	/* sc: pair with deque_push, see sched/idle.c. top first: it grows */
	uint32_t top = a_load_sc(&n->top);

	return (int32_t)(a_load_sc(&n->bottom) - top) <= 0;	/* sc: same */
}

/*
 * Owner only. False if it is full and cannot grow. A full barrier, as
 * runq_put.
 */
static inline bool
deque_push(struct deque *n, struct g *gp)
{
	uint32_t bottom = a_load_relaxed(&n->bottom);

	/* pairs with deque_steal: its last reader is done with the slot */
	if (unlikely(bottom - a_load_acq(&n->top) >= deque_size(n)) &&
	    !deque_grow(n))
		return false;
	a_store_relaxed(deque_at(n, bottom), gp);
	hard_pause();
	/* pairs with deque_steal. sc: the caller looks for idle Ps next */
	a_store_sc(&n->bottom, bottom + 1);
	return true;
}

/* Owner only. The newest, or NULL. */
static inline struct g *
deque_pop(struct deque *n)
{
	uint32_t bottom = a_load_relaxed(&n->bottom) - 1, top;
	struct g *gp;

	if ((int32_t)(bottom - a_load_relaxed(&n->top)) < 0)
		return NULL;		/* only the owner pushes */
	/* sc: pairs with deque_steal; see the head */
	a_store_sc(&n->bottom, bottom);
	hard_pause();
	top = a_load_sc(&n->top);	/* sc: after the store above */
	if (likely((int32_t)(bottom - top) > 0))
		return a_load_relaxed(deque_at(n, bottom));
	gp = NULL;
	/* sc: the last one: pairs with deque_steal */
	if (bottom == top && a_cas_sc(&n->top, top, top + 1))
		gp = a_load_relaxed(deque_at(n, bottom));
	a_store_relaxed(&n->bottom, bottom + 1);
	return gp;
}

/* Owner only. False if gp is not the newest; true: a pop gives it, or NULL if
 * a thief was faster. */
static inline bool
deque_newest_is(struct deque *n, const struct g *gp)
{
	uint32_t bottom = a_load_relaxed(&n->bottom);

	return a_load_relaxed(deque_at(n, bottom - 1)) == gp &&
	    (int32_t)(bottom - a_load_relaxed(&n->top)) > 0;
}

/* Any thread. The oldest; NULL if it is empty, or if the race was lost. */
static inline struct g *
deque_steal(struct deque *n)
{
	/* sc: pair with deque_pop; in this order */
	uint32_t top = a_load_sc(&n->top);
	uint32_t bottom = a_load_sc(&n->bottom);	/* sc: the same */
	struct g *gp;

	if ((int32_t)(bottom - top) <= 0)
		return NULL;
	gp = a_load_relaxed(deque_at(n, top));
	hard_pause();
	/* sc: pairs with deque_pop, and deque_push: the slot has been read */
	return a_cas_sc(&n->top, top, top + 1) ? gp : NULL;
}

#endif

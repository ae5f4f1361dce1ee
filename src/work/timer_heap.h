/* SPDX-License-Identifier: MIT */
/*
 * Timers: a heap of them for every P.
 *
 * A timer is part of a record of its waiter, often on the waiter's stack.
 * While it is armed the heap points to it and it has the number of its slot
 * there, so that stopping it takes one store: the slot is left empty and
 * removed later. After the stop nothing refers to the record any more.
 *
 *	IDLE --- expire_arm ---> ARMED, in the heap of the caller's P
 *	  ^                        |
 *	  +------------------------+
 *	    timer_stop, any thread, under the heap's lock;
 *	    timer_heap_run, the thread that finds it due, under the heap's
 *	    lock: a fn that sets a next time leaves it ARMED
 *
 * fn runs under the heap's lock. So when timer_stop returns, fn has finished
 * or never begins. It must be short. It returns goroutines that it wakes in a
 * list, and these are made runnable after the lock is released.
 */
#ifndef TIMER_HEAP_H
#define TIMER_HEAP_H

#include "g.h"
#include "lock.h"

struct timer {
	/* constant */
	void (*fn)(struct timer *t, int64_t now, struct glist *woken);
	/* written under the lock of the heap it is in, or moves to */
	APTR(struct timer_heap) heap;	/* NULL: IDLE */
	uint32_t slot;
	/* the owner's: it fills a hole in the record that the timer is in */
	uint32_t owner_word;
	/* under that lock */
	int64_t when;		/* fn may set it, to be armed again then */
	int64_t period;		/* after which it is armed again, or 0 */
};

#define NEVER_NS INT64_MAX

/*
 * A slot of the heap. Most often it is for a goroutine that sleeps: that is
 * never stopped, so it needs no record, and its stack, which may be cold, is
 * not touched before it runs again.
 */
struct timer_slot {
	int64_t when;
	uintptr_t who;		/* a timer; a goroutine | SLOT_G; 0: empty */
};
enum { SLOT_G = 1 };

struct timer_heap {
	struct lock lock;
	/* under lock */
	uint32_t n, n_empty, cap;
	struct timer_slot *slots;	/* 1, 5, 9 ... begin a cache line:
					 * all children of a node are in one */
	/* any thread, atomic; written under lock: when to run it next, never
	 * later than the time of any timer in the heap */
	a64 first;
	/* any thread, atomic: see sched/expire.c */
	a32 firing;
};

/* ---- one timer ---- */

static inline void
timer_init(struct timer *t,
    void (*fn)(struct timer *t, int64_t now, struct glist *woken))
{
	t->fn = fn;
	t->period = 0;
	a_init(&t->heap, NULL);
}

/* Disarms it. True if it was armed. Any thread; the caller holds no lock whose
 * rank is RANK_TIMER or later. */
bool timer_stop(struct timer *t);

/* ---- one heap ---- */

#define TIMER_HEAP_INIT \
	{ .lock = LOCK_INIT(RANK_TIMER), .first = { (uint64_t)NEVER_NS } }
/* Arms an IDLE timer. 1 if `first` became earlier, 0 if not, -ENOMEM (never if
 * one was stopped in this heap just before). */
int timer_heap_add(struct timer_heap *h, struct timer *t, int64_t when);
/*
 * The same for one that may be armed, in any heap, and that other threads may
 * arm or stop at the same time: it is armed with these values. *was: it was
 * armed before. It is not touched after it is armed: it may fire, and be gone.
 */
int timer_heap_set(struct timer_heap *h, struct timer *t, int64_t when,
    int64_t period, bool *was);
/* As timer_heap_add, for a WAITING goroutine that is to be woken then. */
int timer_heap_add_g(struct timer_heap *h, struct g *gp, int64_t when);
/* Runs timers that are due, at most a batch; appends what they wake. */
void timer_heap_run(struct timer_heap *h, int64_t now, struct glist *woken);
/* Moves all to another heap; they are armed throughout. */
void timer_heap_move(struct timer_heap *from, struct timer_heap *to);
/* Will any fire? */
bool timer_heap_pending(struct timer_heap *h);
/* For checks and tests. Lock held. */
bool timer_heap_valid(struct timer_heap *h);

static inline int64_t
timer_heap_first(struct timer_heap *h)
{
	/* sc: pairs with publish, see sched/expire.c */
	return (int64_t)a_load_sc(&h->first);
}

#endif

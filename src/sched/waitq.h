/* SPDX-License-Identifier: MIT */
/*
 * Wait queues. A waiter is a goroutine, which parks, or a plain thread, which
 * sleeps on a note. The records are on its own stack; stacks never move.
 *
 * A *sleeper* is a goroutine or thread that waits once; a *waiter* is its entry
 * in one queue. Most wait in one queue and can only be woken from there. One
 * that waits in several (select), or also for a time or a context, is
 * *multi-wait*: several threads may try to wake it, and only the one that
 * claims it does.
 *
 *	EARLY ---> OPEN		the sleeper: it is parked now
 *	  |          |
 *	  |          +-------> CLAIMED	the waker, which took it from a
 *	  |          |			queue, under its lock
 *	  |          +-------> EXPIRED, CANCELLED	sleeper_end: wakes it
 *	  +------------------> EXPIRED, CANCELLED	the same: it will not
 *							park
 *
 * Queues are locked from before the sleeper is pushed until it is OPEN, so a
 * waker sees it OPEN or already taken; a timer can come while it is EARLY.
 */
#ifndef WAITQ_H
#define WAITQ_H

#include "g.h"
#include "list.h"
#include "lock.h"
#include "sched.h"
#include "timer_heap.h"
#include "tls_self.h"

enum race { RACE_EARLY, RACE_OPEN, RACE_CLAIMED, RACE_EXPIRED, RACE_CANCELLED };

struct sleeper {
	/* constant while it sleeps */
	struct g *gp;		/* the goroutine, or NULL: a plain thread */
	bool multi_wait;
	bool armed;		/* the timer was armed */
	int64_t when;		/* a plain thread's deadline */
	/* the thread that claimed it, if multi-wait: the entry it took */
	struct waiter *won;
	/* any thread, atomic */
	a32 race;		/* enum race, if multi-wait */
	struct note note;	/* for a plain thread */
	struct timer timer;	/* if armed */
};

struct waiter {
	/* under the lock of what it waits on. In a list: next is NULL if it is
	 * on none. In a waitq: valid only if queued */
	struct list link;
	bool queued;		/* in a waitq; kept only if multi-wait */
	/* the thread that claimed it; its owner before that */
	bool ok;		/* set to true by the sleeper, to false by a
				 * waker for another reason than it waits for */
	/* constant while it waits */
	struct sleeper *who;
	const void *key;	/* what it waits on, where queues are shared */
	void *elem;		/* the value to send, or where to receive it */
};

/*
 * A FIFO queue that can be seen to be empty without its lock; any waiter can
 * be removed. All under the lock of its owner but waitq_empty.
 */
struct waitq {
	APTR(struct list) first;	/* NULL: empty */
	struct list *last;
};

/* A hint, unless the lock is held. */
static inline bool
waitq_empty(const struct waitq *q)
{
	return !a_load_relaxed(&q->first);
}

static inline void
waitq_push(struct waitq *q, struct waiter *w)
{
	struct list *node = &w->link;

	w->queued = true;
	w->ok = true;
	node->next = NULL;
	if (waitq_empty(q)) {
		node->prev = NULL;
		a_store_relaxed(&q->first, node);
	} else {
		node->prev = q->last;
		q->last->next = node;
	}
	q->last = node;
}

static inline void
waitq_remove(struct waitq *q, struct waiter *w)
{
	struct list *node = &w->link;

	if (node->next)
		node->next->prev = node->prev;
	else
		q->last = node->prev;
	if (node->prev)
		node->prev->next = node->next;
	else
		a_store_relaxed(&q->first, node->next);
}

/* The caller as a sleeper; and its entry in a queue. */
static inline void
sleeper_init(struct sleeper *s)
{
	struct m *mp = m_self();

	s->gp = mp ? m_g(mp) : NULL;
	s->multi_wait = false;
	s->armed = false;
	if (likely(s->gp))
		return;
	s->when = NEVER_NS;
	note_clear(&s->note);
}

static inline void
waiter_init(struct waiter *w, struct sleeper *s, const void *key)
{
	w->link.next = NULL;
	w->key = key;
	w->who = s;
}

/*
 * Limits its sleep to `when` (NEVER_NS: no limit). Multi-wait from then on. No
 * lock held that ranks after RANK_TIMER. sleeper_disarm undoes it, and must be
 * called before the record is gone.
 */
void sleeper_arm(struct sleeper *s, int64_t when);
void sleeper_disarm(struct sleeper *s);
/* Makes it multi-wait: sleeper_end may end its sleep, too. */
void sleeper_set_multi(struct sleeper *s);

/*
 * Sleeps until woken. The lock, under which the caller queued itself, is held
 * on entry and released when it may be woken. CLAIMED: taken from the queue.
 * EXPIRED or CANCELLED: it may still be queued, and must remove itself.
 */
enum race sleeper_sleep_slow(struct sleeper *s, struct lock *l,
    enum wait_reason reason);

static inline enum race
sleeper_sleep(struct sleeper *s, struct lock *l, enum wait_reason reason)
{
	if (unlikely(s->multi_wait || !s->gp))
		return sleeper_sleep_slow(s, l, reason);
	sched_park_drop(l, reason);
	return RACE_CLAIMED;
}

/* The same with a function that releases what is held. */
enum race sleeper_sleep_with(struct sleeper *s, void (*release)(void *arg),
    void *arg, enum wait_reason reason);

/*
 * The queue's lock is held, the waiter was taken off it: true if the caller
 * must wake it; false if another thread did, then ignore it.
 */
static inline bool
sleeper_claim(struct sleeper *s)
{
	/* relaxed: the queue's lock orders what is handed over */
	return likely(!s->multi_wait) ||
	    a_cas_relaxed(&s->race, RACE_OPEN, RACE_CLAIMED);
}

/*
 * Ends a multi-wait sleep for another reason (EXPIRED, CANCELLED), or prevents
 * it. If there is a goroutine to wake it is added to the list.
 */
void sleeper_end(struct sleeper *s, enum race why, struct glist *woken);

/*
 * Wakes a sleeper that was claimed; no lock held. It must not be touched after
 * this: the record is gone when it runs.
 */
static inline void
sleeper_wake(struct sleeper *s)
{
	if (likely(s->gp))
		sched_ready(s->gp);
	else
		note_wake(&s->note);
}

/* Wakes all waiters of a list, in order. */
void waiter_wake_all(struct list *l);

/* Removes and claims the first waiter of a queue that can be; or NULL. */
static inline struct waiter *
waitq_claim(struct waitq *q)
{
	struct list *node;

	while ((node = a_load_relaxed(&q->first))) {
		struct waiter *w = container_of(node, struct waiter, link);

		waitq_remove(q, w);
		/*
		 * Most are not multi-wait, and then nothing is written to their
		 * stack, which may be in another core's cache: the lock could
		 * not be released before it has arrived.
		 */
		if (likely(!w->who->multi_wait))
			return w;
		w->queued = false;
		if (sleeper_claim(w->who)) {
			w->who->won = w;
			return w;
		}
	}
	return NULL;
}

#endif

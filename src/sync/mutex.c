/* SPDX-License-Identifier: MIT */
/*
 * The mutex: one word, and a queue in the lot.
 *
 *	LOCKED		somebody has it
 *	WOKEN		one goroutine or thread that is awake, the *runner-up*,
 *			is about to try; nobody else need be woken
 *	STARVING	it goes from hand to hand in order of the queue
 *	the rest	how many stand in the queue
 *
 * In *normal* mode who finds LOCKED clear takes it, the runner-up no earlier
 * than somebody who just came: that one is running already, has the word in
 * its cache, and may lock and unlock many times while a waiter is being woken.
 * A runner-up that loses queues again, in front. If it has waited for a
 * millisecond by then it sets STARVING: from then on nobody takes the mutex,
 * and who unlocks it hands it to the first in the queue. The last one in the
 * queue, or one that waited for less than a millisecond, gets it with STARVING
 * cleared.
 *
 * The steps, and who makes them:
 *
 *	lock		neither LOCKED nor STARVING -> LOCKED; the runner-up
 *			clears WOKEN with it
 *	spin		one that spins while others queue makes itself
 *			runner-up: sets WOKEN if it is clear (normal mode)
 *	queue		+1, if it cannot be locked, under the bucket's lock;
 *			the runner-up clears WOKEN with it, and may set
 *			STARVING
 *	unlock		clears LOCKED, by one subtraction, whatever else there
 *			is. If somebody queues and nobody is WOKEN it goes on,
 *			under the bucket's lock, unless it was locked again or
 *			somebody else was WOKEN meanwhile:
 *	 - wake		-1, sets WOKEN: the first of the queue is runner-up
 *	 - hand over	-1, sets LOCKED: the first of the queue has it
 *
 * So WOKEN is a token that exactly one can have: its owner alone clears it,
 * and while it is set nobody is taken from the queue. Nobody is forgotten: if
 * some queue and it is neither LOCKED nor WOKEN, the last who unlocked it is
 * about to see to it. STARVING implies somebody queued, and not WOKEN: whoever
 * sets it had the token.
 *
 * Who unlocks may find the mutex gone after the subtraction: somebody locked
 * it, unlocked it and freed it (see parking_lot.h). So it looks at the word again only
 * if somebody still queues, who is not let go without the bucket's lock.
 *
 * Different from Go: who gets a starving mutex has it when it wakes up; and
 * the count is that of the queue, so that no semaphore is needed in between.
 */
#include "mutex.h"

#include "fatal.h"
#include "hard.h"
#include "insn.h"
#include "os.h"
#include "parking_lot.h"
#include "preempt.h"
#include "sched.h"

enum {
	LOCKED = MUTEX_LOCKED,
	WOKEN = MUTEX_WOKEN,
	STARVING = MUTEX_STARVING,
	ONE = MUTEX_ONE
};

enum {
	STARVE_NS = 1000 * 1000,
	SPINS = 1,
	SPIN_PAUSES = 30
};

struct mutex {
	a32 state;
	uint32_t unused;
};
_Static_assert(sizeof(struct mutex) == sizeof(weft_mutex), "weft.h");
_Static_assert(_Alignof(struct mutex) == _Alignof(weft_mutex), "weft.h");

static inline struct mutex *
inner(weft_mutex *m)
{
	return (struct mutex *)(void *)m;
}

/* ---- locking ---- */

struct attempt {
	struct mutex *m;
	enum wait_reason reason;
	struct sleeper who;
	struct waiter place;	/* elem: since; ok: it was handed over */
	int64_t since;		/* when it first queued; 0: it did not */
	int spins;
	bool token;		/* it is the runner-up */
};

/* Does anybody wait for this P? A guess: it may not be ours any more. */
static bool
queued_here(struct m *mp)
{
	struct p *pp = m_p(mp);

	return pp && !runq_empty(&pp->q);
}

/*
 * Is it worth watching the word for a moment? Only if whoever has the mutex
 * may be running now, and nobody waits for this P.
 */
static bool
spin_may_help(const struct attempt *a)
{
	struct m *mp = m_self();
	uint32_t away;

	if (a->spins >= SPINS || hard_coin())
		return false;
	if (!mp)
		return true;	/* a thread: there is nothing to ask */
	away = a_load_relaxed(&sched.n_idle_p) +
	    a_load_relaxed(&sched.n_spinning) + 1;
	return away < a_load_relaxed(&sched.procs) && !queued_here(mp);
}

static void
spin(struct attempt *a, uint32_t s)
{
	/* The token: pairs with nothing, it only saves a waking. */
	if (!a->token && !(s & WOKEN) && s >= ONE)
		a->token = a_cas_relaxed(&a->m->state, s, s | WOKEN);
	if (lock_contended())
		lock_backoff(2);
	for (int i = 0; i < SPIN_PAUSES; i++)
		cpu_relax();
	a->spins++;
}

static inline bool
is_free(uint32_t s)
{
	return !(s & (LOCKED | STARVING));
}

/* The word says that it is free: takes it. False if that was old news. */
static bool
take(struct attempt *a, uint32_t s)
{
	uint32_t to = (s | LOCKED) & ~(a->token ? (uint32_t)WOKEN : 0);

	/* pairs with unlock */
	return a_cas_acq(&a->m->state, s, to);
}

/* Bucket locked: counts itself as queued, unless the mutex is free. */
static bool
count_in(struct attempt *a)
{
	uint32_t s, to;

	do {
		s = a_load_relaxed(&a->m->state);
		if (is_free(s))
			return false;
		to = s + ONE;
		if (a->token)
			to &= ~(uint32_t)WOKEN;
		if (a->token && a->since &&
		    os_now_ns() - a->since > STARVE_NS)
			to |= STARVING;
	} while (!a_cas_relaxed(&a->m->state, s, to));
	a->token = false;
	return true;
}

/* Queues and sleeps. True: it has the mutex; false: to try again. */
static bool
queue(struct attempt *a)
{
	const void *key = parking_lot_key(a->m, PARKING_MUTEX);
	struct bucket *b = parking_lot_lock(key);

	if (!count_in(a)) {
		parking_lot_unlock(b);
		return false;
	}
	sleeper_init(&a->who);
	waiter_init(&a->place, &a->who, key);
	a->place.elem = &a->since;
	a->place.ok = false;
	if (a->since) {
		parking_lot_push_front(b, &a->place);
	} else {
		a->since = os_now_ns();
		parking_lot_push(b, &a->place);
	}
	sleeper_sleep(&a->who, &b->lock, a->reason);
	a->token = !a->place.ok;
	a->spins = 0;
	return a->place.ok;
}

static cold void
lock_slow(struct mutex *m, enum wait_reason reason)
{
	struct attempt a = { .m = m, .reason = reason };

	for (;;) {
		uint32_t s = a_load_relaxed(&m->state);

		hard_pause();
		if (is_free(s) && take(&a, s))
			return;
		/* Taken, or somebody was faster: not again at once. */
		if (!(s & STARVING) && spin_may_help(&a))
			spin(&a, s);
		else if (queue(&a))
			return;
	}
}

/* First as if nobody were there at all, then in spite of those who wait. */
static always_inline void
lock(struct mutex *m, enum wait_reason reason)
{
	uint32_t s;

	checkpoint();
	/* both pair with unlock */
	if (likely(a_cas_acq(&m->state, 0, LOCKED)))
		return;
	s = a_load_relaxed(&m->state);
	if (!is_free(s) || !a_cas_acq(&m->state, s, s | LOCKED))
		lock_slow(m, reason);
}

void
mutex_lock(weft_mutex *m, enum wait_reason reason)
{
	lock(inner(m), reason);
}

public void
weft_mutex_lock(weft_mutex *m)
{
	lock(inner(m), WAIT_MUTEX);
}

public bool
weft_mutex_try_lock(weft_mutex *m)
{
	uint32_t s = a_load_relaxed(&inner(m)->state);

	checkpoint();
	while (is_free(s)) {
		/* pairs with unlock */
		if (a_cas_acq(&inner(m)->state, s, s | LOCKED))
			return true;
		s = a_load_relaxed(&inner(m)->state);
	}
	return false;
}

/* ---- unlocking ---- */

/*
 * Bucket locked, w the first of the queue: it becomes runner-up, or has the
 * mutex. False if somebody else has it or will try.
 */
static bool
promote(struct mutex *m, struct waiter *w)
{
	uint32_t s, to;

	do {
		s = a_load_relaxed(&m->state);
		if (s & (LOCKED | WOKEN))
			return false;
		to = (s - ONE) | (s & STARVING ? LOCKED : WOKEN);
		if (s & STARVING && (to < ONE ||
		    os_now_ns() - *(int64_t *)w->elem < STARVE_NS))
			to &= ~(uint32_t)STARVING;
		/*
		 * pairs with unlock: not always our own. Somebody may have
		 * locked and unlocked it since, and not be here yet. Who is
		 * handed it learns by us what was done under it.
		 */
	} while (!a_cas_acq(&m->state, s, to));
	w->ok = s & STARVING;
	return true;
}

/*
 * Somebody queued when it was unlocked. True if it was handed over. (The
 * waiters of a mutex have nothing else to wake them: no claims.)
 */
static bool
wake_next(struct mutex *m)
{
	const void *key = parking_lot_key(m, PARKING_MUTEX);
	struct bucket *b;
	struct waiter *w;
	bool handed;

	hard_pause();
	b = parking_lot_lock(key);
	w = parking_lot_first(b, key);
	if (!w || !promote(m, w)) {
		parking_lot_unlock(b);
		return false;
	}
	list_remove(&w->link);
	parking_lot_unlock(b);
	handed = w->ok;
	sleeper_wake(w->who);
	return handed;
}

/* It was unlocked, and the word was s before that. True: handed over. */
static bool
unlocked(struct mutex *m, uint32_t s)
{
	if (!(s & LOCKED))
		fatal("mutex: unlock of an unlocked mutex");
	return s >= ONE && !(s & WOKEN) && wake_next(m);
}

void
mutex_unlock_no_yield(weft_mutex *m)
{
	/* pairs with take and its like */
	unlocked(inner(m), a_add_acqrel(&inner(m)->state, -(uint32_t)LOCKED));
}

bool
mutex_is_locked(weft_mutex *m)
{
	return a_load_relaxed(&inner(m)->state) & LOCKED;
}

/*
 * Who gets a starving mutex shall run at once: others wait for it, and it is
 * the next one on this P.
 */
static cold void
unlock_slow(struct mutex *m, uint32_t s)
{
	struct m *mp = m_self();

	if (unlocked(m, s) && mp && m_g(mp))
		sched_yield_now();
}

public void
weft_mutex_unlock(weft_mutex *m)
{
	/* pairs with take and its like */
	uint32_t s = a_add_acqrel(&inner(m)->state, -(uint32_t)LOCKED);

	if (unlikely(s != LOCKED))
		unlock_slow(inner(m), s);
}

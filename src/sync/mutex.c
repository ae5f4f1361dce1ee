/* SPDX-License-Identifier: MIT */
/*
 * The mutex: one word, and a queue in the parking lot.
 *
 *	LOCKED		it is held
 *	WOKEN		one goroutine or thread that is awake, the *runner-up*,
 *			is about to try; no waiter need be woken
 *	STARVING	it is handed to the waiters in the order of the queue
 *	the rest	the length of the queue
 *
 * In *normal* mode any locker that finds LOCKED clear takes the mutex
 * (barging). The runner-up has no precedence over a locker that has just
 * arrived: that one is running already, has the word in its cache, and may
 * lock and unlock many times while a waiter is being woken. A runner-up that
 * loses queues again, at the front. If it has waited for a millisecond by then
 * it sets STARVING: from then on no locker takes the mutex, and unlock hands it
 * to the first in the queue. STARVING is cleared by the hand-off to the last
 * waiter, or to one that has waited for less than a millisecond.
 *
 * The transitions, and who makes them:
 *
 *	lock		neither LOCKED nor STARVING -> LOCKED, by any locker;
 *			the runner-up clears WOKEN with it
 *	spin		WOKEN clear -> set (normal mode), by a locker that
 *			spins while others queue: it is the runner-up
 *	queue		+1, if it cannot be locked, under the bucket's lock, by
 *			a locker; the runner-up clears WOKEN with it, and may
 *			set STARVING
 *	unlock		LOCKED -> clear, by one subtraction, whatever else is
 *			set. If the queue is not empty and WOKEN is clear the
 *			unlocker goes on under the bucket's lock, unless the
 *			mutex was locked or WOKEN set meanwhile:
 *	 - wake		-1, sets WOKEN: the first in the queue is the runner-up
 *	 - hand off	-1, sets LOCKED: the first in the queue has the mutex
 *	give up		-1, under the bucket's lock, by a waiter whose limit
 *			(limit.h) ended its sleep; the last in the queue clears
 *			STARVING with it
 *
 * WOKEN is a token that at most one locker has: only its owner clears it, and
 * while it is set no waiter is taken from the queue. No wake-up is lost: if the
 * queue is not empty and neither LOCKED nor WOKEN is set, the last unlocker is
 * on its way to the bucket's lock. STARVING implies that the queue is not
 * empty, and that WOKEN is clear: the waiter that sets it had the token.
 *
 * GIVING UP. A waiter that has a limit is multi-wait: wake and hand-off claim
 * it, after the step that changes the word, and have taken it off the queue. If
 * the claim fails, the limit was first. Then the unlocker takes WOKEN or LOCKED
 * back and begins again with the next in the queue: an unlock that came
 * meanwhile and left the queue to the owner of WOKEN is made good by that, as
 * the word is looked at anew. If the claim succeeds the limit is too late, and
 * the waiter has the token, or the mutex.
 *
 * A locker gives up only in the queue, where it has no token: a runner-up whose
 * limit is over tries once more and, if it loses, queues (which passes the
 * token back: the holder's unlock sees it queued and WOKEN clear) and leaves
 * from there. So the one rule "the queue's length is that of the list, for the
 * holder of the bucket's lock" is all that a waiter must keep when it leaves:
 * it subtracts itself if it is still on the list; otherwise the unlocker that
 * took it off has done so. If it was the last, STARVING must go with it: a
 * mutex that is starving and has no waiters would be taken by no locker and
 * handed to none. If others are queued and the mutex is free, the unlocker that
 * is on its way (see above) finds the next of them.
 *
 * The unlocker may find the mutex freed after the subtraction: another locker
 * took it, released it and freed it (see parking_lot.h). So the unlocker looks
 * at the word again only while a waiter is on the list, or one that it took off
 * in vain has not had the bucket's lock: a waiter that gives up does not return
 * before it has had that lock.
 *
 * Different from Go: a waiter to which a starving mutex is handed has it when
 * it wakes up; and the count is that of the queue, so that no semaphore is
 * needed in between.
 */
#include "mutex.h"

#include "fatal.h"
#include "hard.h"
#include "insn.h"
#include "limit.h"
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
	struct limit *limit;	/* NULL: none */
	struct sleeper who;
	struct waiter place;	/* elem: since; ok: it was handed over */
	int64_t since;		/* when it first queued; 0: it did not */
	int spins;
	bool token;		/* it is the runner-up */
};

/*
 * Are goroutines queued on the caller's P? A guess: the P may have been
 * retaken.
 */
static bool
queued_here(struct m *mp)
{
	struct p *pp = m_p(mp);

	return pp && !runq_empty(&pp->q);
}

/*
 * Is it worth watching the word for a moment? Only if the holder of the mutex
 * may be running now, and no goroutine waits for this P.
 */
static bool
spin_may_help(const struct attempt *a)
{
	struct m *mp = m_self();
	uint32_t away;

	if (a->spins >= SPINS || hard_coin())
		return false;
	if (!mp)
		return true;	/* a plain thread: nothing is known */
	away = a_load_relaxed(&sched.n_idle_p) +
	    a_load_relaxed(&sched.n_spinning) + 1;
	return away < a_load_relaxed(&sched.procs) && !queued_here(mp);
}

static void
spin(struct attempt *a, uint32_t s)
{
	/* The token. relaxed: it only saves a wake-up */
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

/* The word was read as s, which is free: takes it. False if it has changed. */
static bool
take(struct attempt *a, uint32_t s)
{
	uint32_t to = (s | LOCKED) & ~(a->token ? (uint32_t)WOKEN : 0);

	/* pairs with unlock */
	return a_cas_acq(&a->m->state, s, to);
}

/* Bucket locked: counts the caller as queued, unless the mutex is free. */
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

/*
 * Bucket locked: a waiter leaves the queue, of which it was on the list. Its
 * token is gone since it queued.
 */
static void
count_out(struct mutex *m)
{
	uint32_t s, to;

	do {
		s = a_load_relaxed(&m->state);
		to = s - ONE;
		if (to < ONE)
			to &= ~(uint32_t)STARVING;
		/*
		 * relaxed: lockers that this lets in still acquire what the
		 * last unlock released, of which this is a continuation
		 */
	} while (!a_cas_relaxed(&m->state, s, to));
}

/* The limit ended the sleep. If an unlocker was here it has counted us out. */
static cold void
give_up(struct attempt *a, struct bucket *b)
{
	hard_pause();
	lock_take(&b->lock);
	if (parking_lot_remove(b, &a->place))
		count_out(a->m);
	parking_lot_unlock(b);
}

enum queued { TRY_AGAIN, HANDED, GAVE_UP };

/* Bucket locked and the caller counted: queues and sleeps; unlocks it. */
static enum queued
sleep_in(struct attempt *a, struct bucket *b, const void *key)
{
	waiter_init(&a->place, &a->who, key);
	a->place.elem = &a->since;
	a->place.ok = false;
	if (a->since) {
		parking_lot_push_front(b, &a->place);
	} else {
		a->since = os_now_ns();
		parking_lot_push(b, &a->place);
	}
	if (sleeper_sleep(&a->who, &b->lock, a->reason) != RACE_CLAIMED) {
		give_up(a, b);
		return GAVE_UP;
	}
	a->token = !a->place.ok;
	a->spins = 0;
	return a->place.ok ? HANDED : TRY_AGAIN;
}

/*
 * Queues and sleeps, unless the mutex became free. With a limit that is over
 * it queues, too: that is how a runner-up passes its token back.
 */
static enum queued
queue(struct attempt *a)
{
	const void *key = parking_lot_key(a->m, PARKING_MUTEX);
	enum queued how = TRY_AGAIN;
	struct bucket *b;

	sleeper_init(&a->who);
	limit_arm(a->limit, &a->who);
	b = parking_lot_lock(key);
	if (count_in(a))
		how = sleep_in(a, b, key);
	else
		parking_lot_unlock(b);
	limit_disarm(a->limit, &a->who);
	return how;
}

static cold bool
mutex_lock_slow(struct mutex *m, enum wait_reason reason, struct limit *l)
{
	struct attempt a = { .m = m, .reason = reason, .limit = l };
	enum queued how = TRY_AGAIN;

	while (how == TRY_AGAIN) {
		uint32_t s = a_load_relaxed(&m->state);

		hard_pause();
		if (is_free(s) && take(&a, s))
			return true;
		/* Held, or another locker was faster: not again at once. */
		if (!(s & STARVING) && spin_may_help(&a))
			spin(&a, s);
		else
			how = queue(&a);
	}
	return how == HANDED;
}

/* First as if it were free and the queue empty; then past the queue. */
static always_inline bool
lock(struct mutex *m, enum wait_reason reason, struct limit *l)
{
	uint32_t s;

	checkpoint();
	/* both pair with unlock */
	if (likely(a_cas_acq(&m->state, 0, LOCKED)))
		return true;
	s = a_load_relaxed(&m->state);
	return (is_free(s) && a_cas_acq(&m->state, s, s | LOCKED)) ||
	    mutex_lock_slow(m, reason, l);
}

bool
mutex_lock(weft_mutex *m, enum wait_reason reason, struct limit *l)
{
	return lock(inner(m), reason, l);
}

public void
weft_mutex_lock(weft_mutex *m)
{
	lock(inner(m), WAIT_MUTEX, NULL);
}

public bool
weft_mutex_lock_until(weft_mutex *m, int64_t when)
{
	struct limit l = { .when = when };

	return lock(inner(m), WAIT_MUTEX, &l);
}

public bool
weft_mutex_lock_context(weft_mutex *m, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return lock(inner(m), WAIT_MUTEX, &l);
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
 * Bucket locked, w the first in the queue. Counts it out and sets, for it,
 * WOKEN or LOCKED, which is returned. 0 if the mutex is held or WOKEN set: then
 * others will see to the queue.
 */
static uint32_t
promote(struct mutex *m, const struct waiter *w)
{
	uint32_t s, to, bit;

	do {
		s = a_load_relaxed(&m->state);
		if (s & (LOCKED | WOKEN))
			return 0;
		bit = s & STARVING ? LOCKED : WOKEN;
		to = (s - ONE) | bit;
		if (s & STARVING && (to < ONE ||
		    os_now_ns() - *(int64_t *)w->elem < STARVE_NS))
			to &= ~(uint32_t)STARVING;
		/*
		 * pairs with unlock: not always the caller's own. Another
		 * locker may have had it since, and be on its way here. The
		 * waiter that is handed the mutex learns by us what was done
		 * under it.
		 */
	} while (!a_cas_acq(&m->state, s, to));
	return bit;
}

/*
 * Bucket locked: takes the next waiter off the queue, as runner-up or (ok) as
 * the holder of the mutex. The caller wakes it. NULL if none need be woken.
 */
static struct waiter *
promote_next(struct mutex *m, struct bucket *b, const void *key)
{
	struct waiter *w;
	uint32_t bit;

	while ((w = parking_lot_first(b, key)) && (bit = promote(m, w))) {
		list_remove(&w->link);
		if (sleeper_claim(w->who)) {
			w->ok = bit == LOCKED;
			return w;
		}
		hard_pause();
		/*
		 * The waiter gives up, and cannot return before we drop the
		 * bucket's lock. relaxed: nothing was done under that bit.
		 */
		a_and_relaxed(&m->state, ~bit);
	}
	return NULL;
}

/* The queue was not empty at an unlock. True if the mutex was handed off. */
static bool
wake_next(struct mutex *m)
{
	const void *key = parking_lot_key(m, PARKING_MUTEX);
	struct bucket *b;
	struct waiter *w;
	bool handed;

	hard_pause();
	b = parking_lot_lock(key);
	w = promote_next(m, b, key);
	parking_lot_unlock(b);
	if (!w)
		return false;
	handed = w->ok;
	sleeper_wake(w->who);
	return handed;
}

/* It was unlocked, and the word was s before that. True: handed off. */
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
 * A goroutine that is handed a starving mutex shall run at once: others wait
 * for it, and it is the next one on this P.
 */
static cold void
mutex_unlock_slow(struct mutex *m, uint32_t s)
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
		mutex_unlock_slow(inner(m), s);
}

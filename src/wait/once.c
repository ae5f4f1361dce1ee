/* SPDX-License-Identifier: MIT */
/*
 * Once: one word.
 *
 *	        the first caller      a caller that waits
 *	FRESH -----------------> RUNS -------------------> AWAITED
 *	                          |     the first caller      |
 *	                          +---------> DONE <----------+
 *
 * AWAITED is set under the lock of the bucket by who queues there next, so
 * whoever is DONE and finds that it was AWAITED finds all who wait. Nobody
 * touches the word after that step: who sees DONE may free it. Not a mutex:
 * it would have to be unlocked after DONE is to be seen.
 *
 * If the function ends its goroutine that is its end, too.
 */
#include "fatal.h"
#include "hard.h"
#include "lot.h"
#include "sched.h"
#include "weft.h"

enum { FRESH, RUNS, AWAITED, DONE };

struct once {
	a32 state;
};
_Static_assert(sizeof(struct once) == sizeof(weft_once), "weft.h");
_Static_assert(_Alignof(struct once) == _Alignof(weft_once), "weft.h");

static void
await(struct once *o)
{
	struct bucket *b = lot_lock(o);
	struct sleeper s;
	struct waiter w;

	/* pairs with finish: then what fn did is to be seen */
	if (!a_cas_acqrel(&o->state, RUNS, AWAITED) &&
	    a_load_acq(&o->state) == DONE) {
		lot_unlock(b);
		return;
	}
	sleeper_init(&s);
	waiter_init(&w, &s, o);
	lot_push(b, &w);
	sleeper_sleep(&s, &b->lock, WAIT_MUTEX);
}

static void
finish(struct once *o)
{
	struct bucket *b;
	struct list woken;

	/* pairs with weft_once_do and await */
	if (a_xchg_acqrel(&o->state, DONE) != AWAITED)
		return;
	hard_pause();
	list_init(&woken);
	b = lot_lock(o);
	lot_take_many(b, o, UINT32_MAX, &woken);
	lot_unlock(b);
	waiter_wake_all(&woken);
}

struct call {
	struct ending ending;	/* on the goroutine's list while fn runs */
	struct once *o;
};

/* The goroutine ends in fn. */
static bool
end_in_call(struct ending *e)
{
	finish(container_of(e, struct call, ending)->o);
	return true;
}

/* fn has returned. Others may stand before it now: fn's local values do. */
static void
ending_remove(struct g *gp, struct ending *e)
{
	struct ending **at = &gp->endings;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
}

calls_out static void
call(struct once *o, void (*fn)(void *arg), void *arg)
{
	struct call c = { .ending.step = end_in_call, .o = o };
	struct g *gp = m_self() ? m_g(m_self()) : NULL;

	if (gp)
		ending_push(gp, &c.ending);
	fn(arg);
	if (gp)
		ending_remove(gp, &c.ending);
	finish(o);
}

calls_out static void
do_slow(struct once *o, void (*fn)(void *arg), void *arg)
{
	if (!fn)
		fatal("weft_once_do: null function");
	/* pairs with nothing: the first comes from nowhere */
	if (a_cas_acq(&o->state, FRESH, RUNS))
		call(o, fn, arg);
	else
		await(o);
}

calls_out public void
weft_once_do(weft_once *o_, void (*fn)(void *arg), void *arg)
{
	struct once *o = (struct once *)(void *)o_;

	/* pairs with finish */
	if (unlikely(a_load_acq(&o->state) != DONE))
		do_slow(o, fn, arg);
}

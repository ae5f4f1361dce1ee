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
 * If the function ends its goroutine that is its end, too, and so is an
 * exception that leaves it. So the goroutine has a record of the call. Of a
 * longjmp out of the function we do not hear: then its end is that of the
 * goroutine, and until then others wait. The record must outlive the frame for
 * that, and is allocated.
 */
#include <stdlib.h>

#include "exit_hook.h"
#include "fatal.h"
#include "hard.h"
#include "parking_lot.h"
#include "sched.h"
#include "unwinder.h"
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
	struct bucket *b = parking_lot_lock(o);
	struct sleeper s;
	struct waiter w;

	/* pairs with finish: then what fn did is to be seen */
	if (!a_cas_acqrel(&o->state, RUNS, AWAITED) &&
	    a_load_acq(&o->state) == DONE) {
		parking_lot_unlock(b);
		return;
	}
	sleeper_init(&s);
	waiter_init(&w, &s, o);
	parking_lot_push(b, &w);
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
	b = parking_lot_lock(o);
	parking_lot_claim_many(b, o, UINT32_MAX, &woken);
	parking_lot_unlock(b);
	waiter_wake_all(&woken);
}

/* ---- calls that have not returned ---- */

struct call {
	struct exit_hook exit_hook;	/* in the caller's list while fn runs */
	struct once *o;
};

/* A plain thread does not end by our hands: it only has the list. */
static struct exit_hook **
list_of(struct g *gp)
{
	return gp ? &gp->exit_hooks : &self()->exit_hooks;
}

/* The goroutine ends in fn, or has jumped out of it. */
static bool
end_in_call(struct exit_hook *e)
{
	struct call *c = container_of(e, struct call, exit_hook);

	finish(c->o);
	free(c);
	return true;
}

/* The link to the newest call, or to that of o; or NULL. */
static struct exit_hook **
find(struct g *gp, const struct once *o)
{
	struct exit_hook **at = list_of(gp);

	for (; *at; at = &(*at)->next)
		if ((*at)->step == end_in_call && (!o ||
		    container_of(*at, struct call, exit_hook)->o == o))
			return at;
	return NULL;
}

static void
begin(struct g *gp, struct once *o)
{
	struct exit_hook **list = list_of(gp);
	struct call *c = malloc(sizeof *c);

	if (!c)
		fatal("weft_once_do: out of memory");
	*c = (struct call){ { *list, end_in_call }, o };
	*list = &c->exit_hook;
}

/* Others may stand before it now: fn's local values do. */
static void
end(struct exit_hook **at)
{
	struct exit_hook *e = *at;

	*at = e->next;
	end_in_call(e);
}

static struct g *
current(void)
{
	struct m *mp = m_self();

	return mp ? m_g(mp) : NULL;
}

unwinder_answer once_thrown(UNWINDER_ASKS);

/* fn has thrown an exception: its call is the newest there is. */
unwinder_answer
once_thrown(UNWINDER_ASKS)
{
	struct exit_hook **at = NULL;

	(void)version, (void)language, (void)exception, (void)frame;
	if (unwinder_leaves(actions))
		at = find(current(), NULL);
	if (at)
		end(at);
	return UNWINDER_GO_ON;
}

calls_out static void
call(struct once *o, void (*fn)(void *arg), void *arg)
{
	struct g *gp = current();
	struct exit_hook **at;

	begin(gp, o);
	unwinder_asks(once_thrown);
	fn(arg);
	at = find(gp, o);
	if (likely(at))
		end(at);
}

noreturn static cold void
fatal_recursive(struct g *gp)
{
	fatal("weft_once_do: goroutine %ld \"%s\" would wait for itself: the "
	    "function calls it again, or was left by longjmp",
	    gp ? (long)g_id(gp) : 0, gp ? g_name(gp) : "");
}

calls_out static void
do_slow(struct once *o, void (*fn)(void *arg), void *arg)
{
	if (!fn)
		fatal("weft_once_do: null function");
	/* pairs with nothing: the first comes from nowhere */
	if (a_cas_acq(&o->state, FRESH, RUNS)) {
		call(o, fn, arg);
		return;
	}
	if (unlikely(find(current(), o)))
		fatal_recursive(current());
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

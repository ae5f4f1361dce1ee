/* SPDX-License-Identifier: MIT */
/*
 * Futures. One is the goroutine that weft_future_go spawns, until it begins;
 * and a join that finds it unbegun calls its function in place.
 *
 *	          go, by the owner
 *	(none) --------------------> QUEUED		its record is in a run
 *	  ^                          |  |  |		queue, unclaimed
 *	  |   pop, by the joiner:    |  |  |
 *	  |   the record is free     |  |  |
 *	  +--------------------------+  |  |
 *	  |                             |  |
 *	  |   claim, by the joiner      |  |
 *	  +-----------------------------+  |
 *	  |   (the record stays in its     |
 *	  |   queue; an M that takes it    | claim, by the M that takes it
 *	  |   from there frees it)         | from its queue
 *	  |                                v
 *	  +---------------------------- RUNNING, a goroutine
 *	     done is set, by the goroutine, as the last thing that it does with
 *	     the future; the joiner waits for that
 *
 * The pop needs no claim: what the owner of a deque pops no other thread has.
 * That the newest record of the own deque is this future's, and not another
 * goroutine's in the same record, follows from `done`: if the future has ended
 * it was set before the record was free, so before it was pushed again to this
 * deque, whose owner we are; and we have seen after that push that it is not
 * set.
 *
 * A function that runs in place is a part of the goroutine that joins: it is
 * preempted, paused and waits as that. So it is not called in place where this
 * could matter to it: if the joiner is bound to its thread, may not be
 * preempted or has a floating-point control of its own, or has less free stack
 * than half of one of the default size. While a trace is recorded or waits are
 * timed all futures are goroutines, too: they show where the time goes.
 */
#include <errno.h>
#include <string.h>

#include "defer.h"
#include "exit_hook.h"
#include "fatal.h"
#include "fork.h"
#include "hard.h"
#include "newborn.h"
#include "observed.h"
#include "preempt.h"
#include "sched.h"
#include "spawn.h"
#include "stack.h"
#include "weft.h"

enum { KIND_FLOAT = 4 };	/* with enum capture: as in weft/go.h */

struct future {
	/* its owner: the caller of go and join */
	struct g *gp;		/* NULL: not started, or joined */
	int64_t id;
	void (*fn)(void);
	weft_context *ctx;
	/* the goroutine, if it is one, and then the owner */
	a32 done;		/* a weft_event */
	uint8_t kind;
	bool cancelled;
	uint64_t result;
	uint64_t args[ARG_WORDS];
};
_Static_assert(sizeof(struct future) == sizeof(weft_future_base), "future.h");
_Static_assert(offsetof(struct future, done) ==
    offsetof(weft_future_base, done_), "future.h");
_Static_assert(offsetof(struct future, result) ==
    offsetof(weft_future_base, result_), "future.h");

static struct future *
inner(weft_future_base *f)
{
	return (struct future *)(void *)f;
}

static weft_event *
event(struct future *f)
{
	return (weft_event *)(void *)&f->done;
}

/* ---- the call ---- */

/* Calls the function; its result is in one of two registers. */
static always_inline uint64_t
call_fn(const struct future *f)
{
	typedef uint64_t word(uint64_t, uint64_t);
	typedef double real(uint64_t, uint64_t);
	uint64_t result;
	double d;

	if (likely(f->kind == CAPTURE_TWO))
		return ((word *)f->fn)(f->args[0], f->args[1]);
	if (f->kind == CAPTURE_ALL)
		return args_call(f->fn, f->args);
	d = f->kind == (CAPTURE_TWO | KIND_FLOAT) ?
	    ((real *)f->fn)(f->args[0], f->args[1]) :
	    args_call_real(f->fn, f->args);
	memcpy(&result, &d, sizeof result);
	return result;
}

/* On a goroutine. Inlined into what is marked calls_out. */
static always_inline void
call(struct future *f)
{
	if (unlikely(f->ctx != NULL) && weft_context_error(f->ctx))
		f->cancelled = true;
	else
		f->result = call_fn(f);
}

/* The same, in place; what it has deferred, too. */
static always_inline void
call_here(struct future *f, struct g *gp)
{
	struct defer *defers = gp->defers;
	bool was = gp->in_future;

	gp->in_future = true;
	call(f);
	if (unlikely(gp->defers != defers))
		defer_run_until(gp, defers);
	gp->in_future = was;
}

/* A goroutine of its own. */
calls_out static void
future_main(void *arg)
{
	struct g *gp = m_g(m_self());
	struct future *f = arg;

	gp->in_future = true;
	call(f);
	exit_hook_run(gp);
	if (unlikely(!m_self()))
		fork_child_exit(0);	/* the joiner is another process */
	weft_event_set(event(f));
}

/* ---- go ---- */

public void
weft_future_go_begin_(weft_future_base *base, weft_context *ctx,
    const weft_site *site, void (*fn)(void), int kind)
{
	static const char verb[] = "weft_future_go";
	struct future *f = inner(base);
	int err;

	spawn_owned_check(verb, site, fn);
	f->fn = fn;
	f->ctx = ctx;
	a_store_relaxed(&f->done, 0);
	f->kind = (uint8_t)kind;
	f->cancelled = false;
	f->result = 0;
	err = spawn_future_begin(site, future_main, f, f->args, &f->gp);
	if (unlikely(err))
		spawn_owned_refused(verb, site, err);
	f->id = g_id(f->gp);
}

public void
weft_future_go_end_(void)
{
	spawn_future_end();
}

/* ---- join ---- */

/* The newest of P pp's deque? Then it is taken. Inside. */
static inline bool
pop(struct p *pp, struct future *f)
{
	struct deque *q = &pp->q.deque;

	/* pairs with weft_event_set in future_main: see the head */
	if (a_load_acq(&f->done) ||
	    !deque_newest_is(q, f->gp) || !deque_pop(q))
		return false;
	check(g_id(f->gp) == f->id);
	newborn_free(pp, f->gp);
	return true;
}

static inline bool
can_run_here(const struct g *gp)
{
	return !(gp->pins || preempt_disabled(gp) || gp->holds_thread ||
	    gp->fenv) && stack_has_room(g_stack(gp)) &&
	    likely(!(observed_by() & ~(uint32_t)OBSERVED_LABELS)) &&
	    !hard_coin();
}

/* Claims it where it is queued: its record is no goroutine any more. */
static cold bool
claim(struct p *pp, struct future *f)
{
	if (!g_claim(f->gp, f->id))
		return false;
	if (pp)
		a_bump_rel(&pp->stats.ended, 1);  /* pairs with spawn_count */
	else
		/* pairs with the same */
		a_add_acqrel(&sched.no_p_stats.ended, 1);
	return true;
}

/* Takes it, if it has not begun. mp: NULL on a plain thread. */
static bool
withdraw(struct m *mp, struct future *f)
{
	bool taken;

	if (unlikely(!mp))
		return claim(NULL, f);
	rt_enter(mp);
	taken = (likely(m_p(mp)) && pop(m_p(mp), f)) || claim(m_p(mp), f);
	rt_leave_out(mp);
	return taken;
}

noreturn static cold void
fatal_not_started(void)
{
	fatal("weft_future_join: the future was not started, or was joined "
	    "already");
}

calls_out public int
weft_future_wait_(weft_future_base *base)
{
	struct future *f = inner(base);
	struct m *mp;
	struct g *gp;

	checkpoint();
	if (unlikely(!f->gp))
		fatal_not_started();
	mp = m_self();
	gp = mp ? m_g(mp) : NULL;
	if (likely(gp) && can_run_here(gp) && withdraw(mp, f)) {
		f->gp = NULL;	/* a join in its function is fatal */
		call_here(f, gp);
	} else {
		weft_event_wait(event(f));
		f->gp = NULL;
	}
	return unlikely(f->cancelled) ? -ECANCELED : 0;
}

public bool
weft_future_cancel_(weft_future_base *base)
{
	struct future *f = inner(base);

	checkpoint();
	if (!f->gp)
		fatal_not_started();
	if (!withdraw(m_self(), f))
		return false;
	f->gp = NULL;
	return true;
}

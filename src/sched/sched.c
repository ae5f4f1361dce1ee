/* SPDX-License-Identifier: MIT */
/*
 * Park, ready, yield, exit, and the loop of an M.
 *
 * A goroutine that leaves switches directly to the next one if its own P has
 * one queued, and else to g0, which searches. Its stack is in use until the
 * switch is done, so the context switched *to* commits the leaving: it
 * releases the lock, queues the goroutine, or reaps it. Every point where a
 * context is resumed therefore begins with finish_switch(). Before the commit
 * only the P's own queues are consulted: a search with the lock of a parking
 * goroutine held could need that lock.
 */
#include "sched.h"

#include "events.h"
#include "exit_hook.h"
#include "fatal.h"
#include "fork.h"
#include "hard.h"
#include "idle.h"
#include "insn.h"
#include "latency.h"
#include "monitor.h"
#include "newborn.h"
#include "next.h"
#include "observed.h"
#include "pin.h"
#include "place.h"
#include "spawn.h"
#include "watch.h"
#include "weft.h"

enum {
	READY_LOCAL_MAX = 32
};

void (*watch_waited)(struct g *gp, enum wait_reason reason, uint64_t since);

struct sched sched = {
	.lock = LOCK_INIT(RANK_SCHED),
	.watch_until = { (uint64_t)NEVER_NS },
};

/* ---- queueing: inside ---- */

/* l, half of a full queue of P pp, and gp go to the global queue. */
static void
overflow(struct p *pp, struct glist *l, struct g *gp)
{
	glist_push(l, gp);
	a_bump(&pp->stats.overflows, 1);
	lock_take(&sched.lock);
	globq_put(&sched.globq, l);
	lock_drop(&sched.lock);
}

static cold void
put_overflow(struct p *pp, struct g *gp)
{
	struct glist l = {0};

	runq_halve(&pp->q, &l);
	overflow(pp, &l, gp);
}

static inline void
put_last(struct p *pp, struct g *gp)
{
	if (unlikely(!runq_put(&pp->q, gp)))
		put_overflow(pp, gp);
}

/* The deque is full and cannot grow. */
static cold void
deque_overflow(struct p *pp, struct g *gp)
{
	struct glist l = {0};

	runq_halve_deque(&pp->q, &l);
	overflow(pp, &l, gp);
}

static inline void
put_next(struct p *pp, struct g *gp)
{
	if (hard_coin()) {
		put_last(pp, gp);
		return;
	}
	gp = runq_swap_next(&pp->q, gp);
	if (gp)
		put_last(pp, gp);
}

/* Queues a goroutine for a thread without a P. */
static cold void
put_global(struct g *gp)
{
	lock_take(&sched.lock);
	globq_put_one(&sched.globq, gp);
	lock_drop(&sched.lock);
	monitor_hint();
}

void
sched_submit(struct p *pp, struct g *gp)
{
	if (unlikely(!pp))
		put_global(gp);
	else if (unlikely(!deque_push(&pp->q.deque, gp)))
		deque_overflow(pp, gp);
	idle_wake();
}

/* Called from a non-runtime thread. */
static cold void
ready_from_outside(struct g *gp)
{
	make_runnable(gp, G_WAITING);
	events_ready(NULL, gp);
	put_global(gp);
	idle_wake();
}

void
sched_ready(struct g *gp)
{
	struct m *mp = m_self();
	uint32_t was;

	if (unlikely(!mp)) {
		ready_from_outside(gp);
		return;
	}
	was = rt_enter(mp);
	make_runnable(gp, G_WAITING);
	events_ready(mp, gp);
	if (likely(m_p(mp)))
		put_next(m_p(mp), gp);
	else
		put_global(gp);
	idle_wake();
	rt_leave(mp, was);
}

/*
 * More than one. Up to 32 go to the own ring; more go to the global queue, of
 * which all Ps take their share.
 */
static void
ready_many(struct p *pp, struct glist *l)
{
	if (l->n <= READY_LOCAL_MAX && pp) {
		while (l->head)
			put_last(pp, glist_pop(l));
		return;
	}
	lock_take(&sched.lock);
	globq_put(&sched.globq, l);
	lock_drop(&sched.lock);
	if (pp)
		pp->fair.global_at = 0;	/* its turn comes here, too */
	else
		monitor_hint();
}

void
sched_ready_list(struct glist *l)
{
	struct m *mp = m_self();
	uint32_t was;

	if (l->n <= 1) {
		if (l->n)
			sched_ready(glist_pop(l));
		return;
	}
	was = mp ? rt_enter(mp) : 0;
	for (struct g *gp = l->head; gp; gp = gp->link)
		make_runnable(gp, G_WAITING);
	events_ready_list(mp, l);
	ready_many(mp ? m_p(mp) : NULL, l);
	idle_wake();
	if (mp)
		rt_leave(mp, was);
}

void
sched_ready_urgent(struct glist *l)
{
	if (!l->n)
		return;
	for (struct g *gp = l->head; gp; gp = gp->link)
		make_runnable(gp, G_WAITING);
	events_ready_list(m_self(), l);
	lock_take(&sched.lock);
	globq_put_urgent(&sched.globq, l);
	lock_drop(&sched.lock);
	idle_wake();
	monitor_hint();
}

/* ---- switching ---- */

noreturn static cold void
fatal_overflow(struct g *gp)
{
	char who[G_DESCRIBE_BYTES];

	g_describe(gp, who, sizeof who);
	fatal_of(who, "overflowed its stack of %zu bytes (found when it was "
	    "left)", stack_bytes(g_stack(gp)));
}

/* reap without a P. */
static cold void
reap_detached(struct g *gp)
{
	stack_put_any(g_stack(gp));
	a_store_relaxed(&gp->stack, NULL);
	g_set(gp, G_RUNNING, G_DEAD);
	g_free_any(gp);
	/* pairs with spawn_count */
	a_add_acqrel(&sched.no_p_stats.ended, 1);
}

/* The goroutine has ended and its stack is not in use any more. */
static noinline void
reap(struct p *pp, struct g *gp)
{
	san_end(&gp->san);
	if (unlikely(!pp)) {
		reap_detached(gp);
		return;
	}
	stack_put(&pp->stacks, g_stack(gp));
	a_store_relaxed(&gp->stack, NULL);
	g_set(gp, G_RUNNING, G_DEAD);
	g_free(&pp->gs, gp);
	a_bump_rel(&pp->stats.ended, 1);	/* pairs with spawn_count */
}

/*
 * Releases the parked goroutine's lock; from then on another thread may have
 * it, unless unlockf says that it does not park after all.
 */
static noinline void
commit_park(struct m *mp, struct g *gp)
{
	hard_pause();
	if (!mp->unlockf || mp->unlockf(gp, mp->unlock_arg))
		return;
	make_runnable(gp, G_WAITING);
	events_ready(mp, gp);
	if (likely(m_p(mp)))
		put_next(m_p(mp), gp);
	else
		put_global(gp);
	idle_wake();
}

/*
 * A goroutine went to the end of the global queue. The next one is from the
 * front of that queue and from this P's own in turn, so that neither starves.
 */
static void
alternate_sources(struct p *pp)
{
	next_alternate(pp);
	if (globq_urgent(&sched.globq))
		pp->fair.global_at = 0;
}

/* It was preempted, or its M has no P whose queue could take it. */
static noinline void
commit_yield_global(struct m *mp, struct g *gp)
{
	if (m_p(mp))
		latency_choose_preempted(m_p(mp), gp);
	make_runnable(gp, G_RUNNING);
	put_global(gp);
	if (m_p(mp))
		alternate_sources(m_p(mp));
	idle_wake();
}

/*
 * The first step of every context that is switched to, `me`: commits what the
 * goroutine that left asked for. Inside, usually with a P.
 */
static always_inline void
finish_switch(struct m *mp, struct san *me)
{
	struct g *gp = a_load_relaxed(&mp->prev_g);

	san_after(me, mp->prev_san);
	if (!gp)
		return;
	a_store_rel(&mp->prev_g, NULL);	/* pairs with on_stack */
	if (unlikely(gp->canary) && !stack_intact(g_stack(gp)))
		fatal_overflow(gp);
	if (mp->after == AFTER_YIELD && likely(m_p(mp))) {
		make_runnable(gp, G_RUNNING);
		put_last(m_p(mp), gp);
		/* On no queue until now: an M that parked missed it */
		idle_wake();
	} else if (mp->after == AFTER_DROP) {
		hard_pause();
		lock_drop(mp->unlock_arg);
	} else if (mp->after == AFTER_PARK) {
		commit_park(mp, gp);
	} else if (mp->after <= AFTER_PREEMPT) {
		commit_yield_global(mp, gp);
	} else {
		reap(m_p(mp), gp);
	}
}

noreturn static cold void
fatal_no_memory(struct g *gp)
{
	char who[G_DESCRIBE_BYTES];

	g_describe(gp, who, sizeof who);
	fatal_of(who, "out of memory: no stack of %zu bytes to begin with, "
	    "%ld goroutines exist", stack_class_bytes(gp->stack_class),
	    (long)spawn_count());
}

bool
sched_give_stack(struct stack_cache *cache, struct g *gp)
{
	struct stack *s = stack_get(cache, gp->stack_class);

	if (unlikely(!s))
		return false;
	gp->canary = s->guard == GUARD_CANARY;
	frame_make(&gp->frame, stack_top(s));
	/* A dump that sees the stack does not see the context of the last
	 * goroutine that had this record. */
	a_store_relaxed(&gp->stack, s);
	if (gp->fenv)
		gp->frame.fpctl = FPCTL_DEFAULT | FPCTL_OWN;
	san_start(&gp->san, s->lo, stack_bytes(s));
	return true;
}

/* gp, which is on no queue, is about to run on this M with P pp. */
static inline void
make_current(struct m *mp, struct p *pp, struct g *gp)
{
	if (!g_stack(gp) && unlikely(!sched_give_stack(&pp->stacks, gp)))
		fatal_no_memory(gp);
	g_set(gp, G_RUNNABLE, G_RUNNING);
	a_store_rel(&mp->curg, gp);	/* pairs with on_stack */
	a_bump(&pp->stats.switches, 1);
}

/*
 * Leaves the current goroutine for `next`, or for g0 if that is NULL. Inside.
 * Returns, inside, when the goroutine is resumed: the M that it is on then.
 * `seen`: it is observed, and that it leaves was told.
 */
static always_inline struct m *
switch_from(struct m *mp, struct g *gp, struct g *next, enum after after,
    bool seen)
{
	struct frame *to = &mp->g0;
	struct san *to_san = &mp->san;
	struct thread_state own;

	a_store_relaxed(&mp->prev_g, gp);
	if (SAN_ON)
		mp->prev_san = &gp->san;
	mp->after = after;
	if (next && unlikely(a_load_relaxed(&next->hold) != 0)) {
		mp->handoff_g = next;
		next = NULL;
	}
	if (next) {
		make_current(mp, m_p(mp), next);
		if (seen)
			events_start(m_p(mp), next, true);
		to = &next->frame;
		to_san = &next->san;
	} else {
		a_store_rel(&mp->curg, NULL);	/* pairs with on_stack */
	}
	thread_state_save(&mp->thread_state, &own);
	san_before(&gp->san, to_san, after == AFTER_EXIT);
	frame_switch(&gp->frame, to);
	mp = m_self();
	thread_state_restore(&mp->thread_state, &own);
	finish_switch(mp, &gp->san);
	return mp;
}

/*
 * The same as next_local, for a park. A yield is faster with it inlined, a
 * park with a call: by some three nanoseconds each.
 */
static noinline struct g *
next_local_noinline(struct p *pp)
{
	return next_local(pp);
}

static noinline struct g *
next_after_park(struct p *pp)
{
	struct g *gp = next_is_runnext(pp);

	return likely(gp) ? gp : next_local_noinline(pp);
}

/* Inside on entry, outside on return. `seen`: see switch_from. */
static always_inline void
park_as(struct m *mp, enum wait_reason reason, enum after after, bool seen)
{
	struct g *gp = m_g(mp), *next = NULL;
	struct p *pp = m_p(mp);
	uint64_t since = 0;

	if (unlikely(gp->holds_thread))
		pin_bind_parked(mp, gp);
	a_store_relaxed(&gp->reason, (uint8_t)reason);
	g_set(gp, G_RUNNING, G_WAITING);
	if (seen)
		events_block(mp, reason,
		    after == AFTER_DROP ? mp->unlock_arg : NULL);
	if (likely(pp)) {
		a_bump(&pp->stats.parks, 1);
		next = next_after_park(pp);
	} else {
		a_add_relaxed(&sched.no_p_stats.parks, 1);
	}
	if (seen && observed_by() & OBSERVED_WAITS)
		since = cpu_cycles();
	mp = switch_from(mp, gp, next, after, seen);
	if (seen && since)
		watch_waited(gp, reason, since);
	if (place_watched())
		place_resumed(mp);
	rt_leave_out(mp);
}

static noinline void
park_seen(struct m *mp, enum wait_reason reason, enum after after)
{
	park_as(mp, reason, after, true);
}

static always_inline void
park(struct m *mp, enum wait_reason reason, enum after after)
{
	if (observed())
		park_seen(mp, reason, after);
	else
		park_as(mp, reason, after, false);
}

void
sched_park(bool (*unlockf)(struct g *gp, void *arg), void *arg,
    enum wait_reason reason)
{
	struct m *mp = m_self();

	rt_enter(mp);
	mp->unlockf = unlockf;
	mp->unlock_arg = arg;
	park(mp, reason, AFTER_PARK);
}

void
sched_park_drop(struct lock *l, enum wait_reason reason)
{
	struct m *mp = m_self();

	rt_enter(mp);
	mp->unlock_arg = l;
	park(mp, reason, AFTER_DROP);
}

/*
 * A goroutine yields and next_local gave none. True if g0 shall search: the
 * world stops, a timer or a source is due, the global queue is not empty, or
 * it is time to steal.
 */
static noinline bool
yield_needs_search(struct p *pp)
{
	if (stop_requested() || expire_due(pp) || due(pp))
		return true;
	if (pp->has_pinned_m && !runq_empty(&pp->q))
		return true;
	if (++pp->lone_yields % GLOBAL_EVERY == 0)
		pp->steal_first = true;
	if (!pp->steal_first && !globq_len(&sched.globq))
		return false;
	pp->fair.global_at = 0;		/* before the caller's next turn */
	return true;
}

/* The goroutine stays on its M, which may run no other meanwhile. Inside on
 * entry, outside on return. */
static cold void
yield_holding(struct m *mp, struct p *pp)
{
	if (pp)
		a_bump(&pp->stats.yields, 1);
	if (!pp || !runq_empty(&pp->q) || yield_needs_search(pp))
		pin_yield_global(mp);
	rt_leave_out(m_self());
}

static noinline struct m *
yield_seen(struct m *mp, struct g *gp, struct g *next)
{
	events_yield(mp, TRACE_YIELD_ASKED);
	return switch_from(mp, gp, next, AFTER_YIELD, true);
}

/* Outside on entry and return. */
static always_inline void
yield(struct m *mp, struct g *gp)
{
	struct g *next = NULL;
	struct p *pp;

	rt_enter(mp);
	pp = m_p(mp);
	if (unlikely(gp->holds_thread)) {
		yield_holding(mp, pp);
		return;
	}
	if (likely(pp)) {
		a_bump(&pp->stats.yields, 1);
		next = next_local(pp);
		if (unlikely(!next) && !yield_needs_search(pp)) {
			rt_leave_out(mp);
			return;		/* no other goroutine for this P */
		}
	} else {
		a_add_relaxed(&sched.no_p_stats.yields, 1);
	}
	if (observed())
		mp = yield_seen(mp, gp, next);
	else
		mp = switch_from(mp, gp, next, AFTER_YIELD, false);
	if (place_watched())
		place_yielded(mp, __builtin_return_address(0));
	rt_leave_out(mp);
}

void
sched_yield_now(void)
{
	struct m *mp = m_self();

	yield(mp, m_g(mp));
}

void
sched_yield_global(void)
{
	struct m *mp = m_self();

	events_yield(mp, m_p(mp) ? TRACE_YIELD_PREEMPTED : TRACE_YIELD_NO_P);
	switch_from(mp, m_g(mp), NULL, AFTER_PREEMPT, false);
}

public void
weft_yield(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (unlikely(!gp)) {
		os_thread_yield();
		return;
	}
	yield(mp, gp);
}

/* On the goroutine, inside. Its exit hooks have run. */
noreturn static void
exit_to(struct m *mp, struct g *gp, struct g *next)
{
	events_end(mp);
	switch_from(mp, gp, next, AFTER_EXIT, true);
	fatal("a goroutine that ended was resumed");
}

void
sched_exit(void)
{
	struct m *mp = m_self();

	rt_enter(mp);
	mp->exits = pin_end(mp, m_g(mp));
	exit_to(mp, m_g(mp), m_p(mp) ? next_local(m_p(mp)) : NULL);
}

/* The same as next_local; a future that has no other hold is claimed. */
static always_inline struct g *
next_begun(struct p *pp)
{
	struct g *gp;

	do {
		gp = next_local(pp);
	} while (gp && unlikely(a_load_relaxed(&gp->hold) == HOLD_FUTURE) &&
	    !newborn_begin(pp, gp));
	return gp;
}

/*
 * A goroutine's function has returned. If the next goroutine is a newborn that
 * needs the same class of stack it takes this one, and starts here: without a
 * switch, on a stack that is in the cache. Returns it, inside; otherwise does
 * not return. Not with a sanitizer, which must see every switch. Not if the
 * next one has a hold: it may have waited for a descriptor before it began,
 * and the monitor may be about to look for its stack.
 */
static struct g *
exit_into_next(void)
{
	struct m *mp = m_self();
	struct g *gp = m_g(mp), *next;
	struct p *pp;

	rt_enter(mp);
	pp = m_p(mp);
	if (unlikely(!pp || gp->pins))
		sched_exit();
	next = next_begun(pp);
	if (SAN_ON || !next || g_stack(next) || a_load_relaxed(&next->hold) ||
	    next->fenv || gp->fenv || next->stack_class != gp->stack_class)
		exit_to(mp, gp, next);
	if (unlikely(gp->canary) && !stack_intact(g_stack(gp)))
		fatal_overflow(gp);
	events_end(mp);
	a_store_relaxed(&next->stack, g_stack(gp));
	next->canary = gp->canary;
	next->frame.fpctl = 0;
	a_store_relaxed(&gp->stack, NULL);
	g_set(gp, G_RUNNING, G_DEAD);
	g_free(&pp->gs, gp);
	a_bump_rel(&pp->stats.ended, 1);	/* pairs with spawn_count */
	make_current(mp, pp, next);
	events_start(pp, next, true);
	return next;
}

/* Bottom of every goroutine. Begins inside. */
calls_out void
goroutine_main(struct frame *f)
{
	struct g *gp = container_of(f, struct g, frame);
	struct m *mp = m_self();

	thread_state_reset(&mp->thread_state);
	finish_switch(mp, &gp->san);
	for (;;) {
		if (place_watched())
			place_begun(m_self(), gp);
		rt_leave_out(m_self());
		args_call_kind(gp->captured, (void (*)(void))gp->fn, gp->args);
		if (unlikely(gp->defers || gp->exit_hooks))
			exit_hook_run(gp);
		if (unlikely(!m_self()))
			fork_child_exit(0);
		gp = exit_into_next();
	}
}

void
sched_loop(struct m *mp)
{
	struct g *gp;

	while ((gp = next_runnable(mp))) {
		if (mp->spinning)
			idle_stop_spinning(mp);
		if (unlikely(a_load_relaxed(&gp->hold) != 0) &&
		    !pin_resolve_hold(mp, gp))
			continue;
		make_current(mp, m_p(mp), gp);
		events_start(m_p(mp), gp, false);
		a_store_relaxed(&mp->unmovable, false);
		a_store_relaxed(&mp->prev_g, NULL);
		mp->prev_san = &mp->san;
		san_before(&mp->san, &gp->san, false);
		frame_switch(&mp->g0, &gp->frame);
		finish_switch(mp, &mp->san);
	}
}

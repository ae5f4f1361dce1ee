/* SPDX-License-Identifier: MIT */
/*
 * Who runs next: park, ready, yield, exit, and the loop of an M.
 *
 * A goroutine that leaves switches straight to the next one if its own P has
 * one at hand, and else to g0, which searches. Its stack is in use until the
 * switch is done, so it is the context switched *to* that commits the leaving:
 * releases the lock, queues, or buries. Every place where a context goes on
 * therefore begins with arrive(). Before the commit only the own runnext and
 * ring are consulted: a search with the lock of a parking goroutine held could
 * run into that lock.
 */
#include "sched.h"

#include "fatal.h"
#include "hard.h"
#include "pick.h"
#include "search.h"
#include "weft.h"

enum {
	READY_LOCAL_MAX = 32
};

struct sched sched = {
	.lock = LOCK_INIT(RANK_SCHED),
	.watch_until = { (uint64_t)NEVER_NS },
};

/* ---- queueing ---- */

/* The ring is full: half of it and gp go to the global queue. */
static cold void
put_overflow(struct p *pp, struct g *gp)
{
	struct glist l = {0};

	runq_halve(&pp->q, &l);
	glist_push(&l, gp);
	a_bump(&pp->stats.overflows, 1);
	lock_take(&sched.lock);
	globq_put(&sched.globq, &l);
	lock_drop(&sched.lock);
}

static inline void
put_last(struct p *pp, struct g *gp)
{
	if (unlikely(!runq_put(&pp->q, gp)))
		put_overflow(pp, gp);
}

/* The nest cannot grow: half of it and gp go to the global queue. */
static cold void
nest_overflow(struct p *pp, struct g *gp)
{
	struct glist l = {0};

	runq_halve_nest(&pp->q, &l);
	glist_push(&l, gp);
	a_bump(&pp->stats.overflows, 1);
	lock_take(&sched.lock);
	globq_put(&sched.globq, &l);
	lock_drop(&sched.lock);
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

/* A thread without a P queues a goroutine. */
static cold void
put_global(struct g *gp)
{
	lock_take(&sched.lock);
	globq_put_one(&sched.globq, gp);
	lock_drop(&sched.lock);
}

void
sched_submit(struct g *gp)
{
	struct m *mp = m_self();

	if (unlikely(!mp || !mp->pp))
		put_global(gp);
	else if (unlikely(!nest_push(&mp->pp->q.nest, gp)))
		nest_overflow(mp->pp, gp);
	idle_wake();
}

void
sched_ready(struct g *gp)
{
	struct m *mp = m_self();

	g_set(gp, G_WAITING, G_RUNNABLE);
	if (likely(mp && mp->pp))
		put_next(mp->pp, gp);
	else
		put_global(gp);
	idle_wake();
}

/*
 * One is next, a few go to the own ring, the bulk to the global queue from
 * which all Ps take their share.
 */
void
sched_ready_list(struct glist *l)
{
	struct m *mp = m_self();

	if (l->n <= 1) {
		if (l->n)
			sched_ready(glist_pop(l));
		return;
	}
	for (struct g *gp = l->head; gp; gp = gp->link)
		g_set(gp, G_WAITING, G_RUNNABLE);
	if (l->n <= READY_LOCAL_MAX && mp && mp->pp) {
		while (l->head)
			put_last(mp->pp, glist_pop(l));
	} else {
		lock_take(&sched.lock);
		globq_put(&sched.globq, l);
		lock_drop(&sched.lock);
		if (mp && mp->pp)
			mp->pp->fair_at = 0;	/* soon, here too */
	}
	idle_wake();
}

/* ---- switching ---- */

noreturn static cold void
die_of_overflow(struct g *gp)
{
	fatal("goroutine %ld \"%s\" (%s) overflowed its stack of %zu bytes "
	    "(found when it was left)", (long)g_id(gp), g_name(gp),
	    g_site(gp)->fn, stack_bytes(g_stack(gp)));
}

/* Its goroutine is gone and nobody runs on its stack. P held. */
static noinline void
bury(struct p *pp, struct g *gp)
{
	san_end(&gp->san);
	stack_put(&pp->stacks, g_stack(gp));
	a_store_relaxed(&gp->stack, NULL);
	g_set(gp, G_RUNNING, G_DEAD);
	g_free(&pp->gs, gp);
	a_bump_rel(&pp->stats.ended, 1);	/* pairs with spawn_count */
}

/*
 * The parked goroutine's lock is released; from then on it is somebody else's,
 * unless unlockf says that it does not park after all.
 */
static noinline void
commit_park(struct m *mp, struct g *gp)
{
	hard_pause();
	if (!mp->unlockf || mp->unlockf(gp, mp->unlock_arg))
		return;
	g_set(gp, G_WAITING, G_RUNNABLE);
	put_next(mp->pp, gp);
	idle_wake();
}

/*
 * First thing on every context that is switched to, `me`: does what the
 * goroutine that left asked for. P held.
 */
static always_inline void
arrive(struct m *mp, struct san *me)
{
	struct g *gp = mp->left;

	san_after(me, mp->left_san);
	if (!gp)
		return;
	mp->left = NULL;
	if (unlikely(gp->canary) && !stack_intact(g_stack(gp)))
		die_of_overflow(gp);
	if (mp->after == AFTER_YIELD) {
		g_set(gp, G_RUNNING, G_RUNNABLE);
		put_last(mp->pp, gp);
		/* It was on no queue for a moment: who rested then missed it */
		idle_wake();
	} else if (mp->after == AFTER_DROP) {
		hard_pause();
		lock_drop(mp->unlock_arg);
	} else if (mp->after == AFTER_PARK) {
		commit_park(mp, gp);
	} else {
		bury(mp->pp, gp);
	}
}

noreturn static cold void
die_of_memory(struct g *gp)
{
	fatal("out of memory: no stack of %zu bytes for goroutine %ld \"%s\" "
	    "(%s), %ld goroutines exist",
	    stack_class_bytes(gp->stack_class), (long)g_id(gp), g_name(gp),
	    g_site(gp)->fn, (long)spawn_count());
}

bool
sched_give_stack(struct p *pp, struct g *gp)
{
	struct stack *s = stack_get(&pp->stacks, gp->stack_class);

	if (unlikely(!s))
		return false;
	a_store_relaxed(&gp->stack, s);
	gp->canary = s->guard == GUARD_CANARY;
	frame_make(&gp->frame, stack_top(s));
	if (gp->fenv)
		gp->frame.fpctl = FPCTL_DEFAULT | FPCTL_OWN;
	san_start(&gp->san, s->lo, stack_bytes(s));
	return true;
}

/* gp, which nobody else has, is about to run on this M with P pp. */
static inline void
make_current(struct m *mp, struct p *pp, struct g *gp)
{
	if (!g_stack(gp) && unlikely(!sched_give_stack(pp, gp)))
		die_of_memory(gp);
	g_set(gp, G_RUNNABLE, G_RUNNING);
	mp->curg = gp;
	a_bump(&pp->stats.switches, 1);
}

/*
 * Leaves the current goroutine for `next`, or for g0 if that is NULL. Returns
 * when somebody resumes it, maybe on another M.
 */
static always_inline void
leave(struct m *mp, struct g *gp, struct g *next, enum after after)
{
	struct frame *to = &mp->g0;
	struct san *to_san = &mp->san;

	mp->left = gp;
	if (SAN_ON)
		mp->left_san = &gp->san;
	mp->after = after;
	if (next) {
		make_current(mp, mp->pp, next);
		to = &next->frame;
		to_san = &next->san;
	} else {
		mp->curg = NULL;
	}
	san_before(&gp->san, to_san, after == AFTER_EXIT);
	frame_switch(&gp->frame, to);
	arrive(m_self(), &gp->san);
}

static always_inline void
park(struct m *mp, enum wait_reason reason, enum after after)
{
	struct g *gp = mp->curg;

	a_store_relaxed(&gp->reason, (uint8_t)reason);
	g_set(gp, G_RUNNING, G_WAITING);
	a_bump(&mp->pp->stats.parks, 1);
	leave(mp, gp, pick_local(mp->pp), after);
}

void
sched_park(bool (*unlockf)(struct g *gp, void *arg), void *arg,
    enum wait_reason reason)
{
	struct m *mp = m_self();

	mp->unlockf = unlockf;
	mp->unlock_arg = arg;
	park(mp, reason, AFTER_PARK);
}

void
sched_park_drop(struct lock *l, enum wait_reason reason)
{
	struct m *mp = m_self();

	mp->unlock_arg = l;
	park(mp, reason, AFTER_DROP);
}

/*
 * A goroutine yields and its P has nobody else. True if g0 shall look further:
 * a stop is asked for, the global queue has something, or it is time to roam.
 */
static noinline bool
yield_from_alone(struct p *pp)
{
	if (stop_asked() || alarm_due(pp))
		return true;
	if (++pp->alone % FAIR_EVERY == 0)
		pp->roam = true;
	if (!pp->roam && !globq_len(&sched.globq))
		return false;
	pp->fair_at = 0;		/* not back to ourselves at once */
	return true;
}

static always_inline void
yield(struct m *mp)
{
	struct p *pp = mp->pp;
	struct g *next = pick_local(pp);

	a_bump(&pp->stats.yields, 1);
	if (unlikely(!next) && !yield_from_alone(pp))
		return;			/* nobody else wants this P */
	leave(mp, mp->curg, next, AFTER_YIELD);
}

void
sched_yield_now(void)
{
	yield(m_self());
}

public void
weft_yield(void)
{
	struct m *mp = m_self();

	if (likely(mp && mp->curg))
		yield(mp);
	else
		os_thread_yield();
}

void
sched_exit(void)
{
	struct m *mp = m_self();

	leave(mp, mp->curg, pick_local(mp->pp), AFTER_EXIT);
	fatal("a goroutine that ended was resumed");
}

/*
 * A goroutine's function has returned. If the next one has not started yet
 * and wants the same kind of stack it takes this one, and starts right here:
 * no switch, and the stack is warm. Returns it; otherwise does not return.
 * (A sanitizer wants to see every change of context, so not there.)
 */
static struct g *
exit_into_next(void)
{
	struct m *mp = m_self();
	struct g *gp = mp->curg, *next = pick_local(mp->pp);

	if (SAN_ON || !next || g_stack(next) || next->fenv || gp->fenv ||
	    next->stack_class != gp->stack_class) {
		leave(mp, gp, next, AFTER_EXIT);
		fatal("a goroutine that ended was resumed");
	}
	if (unlikely(gp->canary) && !stack_intact(g_stack(gp)))
		die_of_overflow(gp);
	a_store_relaxed(&next->stack, g_stack(gp));
	next->canary = gp->canary;
	next->frame.fpctl = 0;
	a_store_relaxed(&gp->stack, NULL);
	g_set(gp, G_RUNNING, G_DEAD);
	g_free(&mp->pp->gs, gp);
	a_bump_rel(&mp->pp->stats.ended, 1);	/* pairs with spawn_count */
	make_current(mp, mp->pp, next);
	return next;
}

/* Bottom of every goroutine. */
void
goroutine_main(struct frame *f)
{
	struct g *gp = container_of(f, struct g, frame);

	arrive(m_self(), &gp->san);
	for (;;) {
		args_call_kind(gp->captured, (void (*)(void))gp->fn, gp->args);
		if (unlikely(gp->defers || gp->endings))
			ending_run(gp);
		gp = exit_into_next();
	}
}

void
sched_loop(struct m *mp)
{
	struct g *gp;

	while ((gp = search_find(mp))) {
		if (mp->spinning)
			idle_stop_spinning(mp);
		make_current(mp, mp->pp, gp);
		mp->left = NULL;
		mp->left_san = &mp->san;
		san_before(&mp->san, &gp->san, false);
		frame_switch(&mp->g0, &gp->frame);
		arrive(mp, &mp->san);
	}
}

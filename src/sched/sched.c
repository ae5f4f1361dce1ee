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
 *
 * The order of the search, as in Go: every 61st time the global queue first,
 * so that two goroutines that keep waking each other cannot starve it; own
 * runnext, own ring; a batch of the global queue; the network (when there is
 * one); other Ps. `runnext` is passed over after 16 in a row while the ring
 * has something: a chain of spawns cannot starve the ring. Now and then a busy
 * P roams, that is, looks at other Ps before its own queue: one of them may be
 * stuck in a goroutine that does not come back, with others behind it.
 */
#include "sched.h"

#include "fatal.h"
#include "hard.h"
#include "insn.h"
#include "weft.h"

enum {
	FAIR_EVERY = 61,
	ROAM_EVERY = 16,		/* turns of the global queue */
	NEXT_RUN_MAX = 16,
	READY_LOCAL_MAX = 8,
	STEAL_AT_ONCE = RUNQ_HALF,	/* a queue that is too long anyway */
	STEAL_PATIENCE_NS = 5000,
	STEAL_PAUSES = 16		/* between two looks: some 0.2 us */
};

struct sched sched = { .lock = LOCK_INIT(RANK_SCHED) };

static bool
stop_asked(void)
{
	return a_load_relaxed(&sched.stopping) != 0;
}

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

void
sched_submit(struct g *gp)
{
	struct m *mp = m_self();

	if (likely(mp && mp->pp)) {
		put_next(mp->pp, gp);
	} else {
		lock_take(&sched.lock);
		globq_put_one(&sched.globq, gp);
		lock_drop(&sched.lock);
	}
	idle_wake();
}

void
sched_ready(struct g *gp)
{
	g_set(gp, G_WAITING, G_RUNNABLE);
	sched_submit(gp);
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

/* Is it the global queue's turn? And it had its turn. */
static inline bool
fair_turn(struct p *pp)
{
	return a_load_relaxed(&pp->stats.switches) >= pp->fair_at;
}

static inline void
fair_done(struct p *pp)
{
	pp->fair_at = a_load_relaxed(&pp->stats.switches) + FAIR_EVERY;
}

/*
 * The next goroutine this P has at hand, without searching further; NULL if
 * g0 must look: nothing here, the global queue's turn, or a stop asked for.
 */
static inline struct g *
pick_local(struct p *pp)
{
	struct g *gp;

	if (unlikely(stop_asked()))
		return NULL;
	if (unlikely(fair_turn(pp))) {
		if (++pp->turns % ROAM_EVERY == 0)
			pp->roam = true;
		if (pp->roam || globq_len(&sched.globq))
			return NULL;	/* g0 takes it from there */
		fair_done(pp);
	}
	if (runq_peek_next(&pp->q) && pp->next_run < NEXT_RUN_MAX &&
	    (gp = runq_take_next(&pp->q))) {
		pp->next_run++;
		return gp;
	}
	pp->next_run = 0;
	gp = runq_get(&pp->q);
	return gp ? gp : runq_take_next(&pp->q);
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

void
sched_park(bool (*unlockf)(struct g *gp, void *arg), void *arg,
    enum wait_reason reason)
{
	struct m *mp = m_self();
	struct g *gp = mp->curg;

	a_store_relaxed(&gp->reason, (uint8_t)reason);
	g_set(gp, G_RUNNING, G_WAITING);
	mp->unlockf = unlockf;
	mp->unlock_arg = arg;
	a_bump(&mp->pp->stats.parks, 1);
	leave(mp, gp, pick_local(mp->pp), AFTER_PARK);
}

/*
 * A goroutine yields and its P has nobody else. True if g0 shall look further:
 * a stop is asked for, the global queue has something, or it is time to roam.
 */
static noinline bool
yield_from_alone(struct p *pp)
{
	if (stop_asked())
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
		if (unlikely(gp->defers))
			defer_run(gp);
		gp = exit_into_next();
	}
}

/* ---- searching, on g0 ---- */

static struct g *
global_get(struct p *pp, bool batch)
{
	struct g *gp;

	if (!globq_len(&sched.globq))
		return NULL;
	lock_take(&sched.lock);
	gp = batch ? globq_get_batch(&sched.globq, &pp->q,
	    a_load_relaxed(&sched.procs)) : globq_get(&sched.globq);
	lock_drop(&sched.lock);
	return gp;
}

/* Takes half of the victim's ring, or its runnext if that is all. */
static struct g *
steal_now(struct p *pp, struct p *victim)
{
	uint32_t n;
	struct g *gp = runq_steal(&pp->q, &victim->q, &n);

	if (!gp) {
		gp = runq_peek_next(&victim->q);
		n = 1;
		if (!gp || !runq_steal_next(&victim->q, gp))
			return NULL;
	}
	a_bump(&pp->stats.steals, 1);
	a_bump(&pp->stats.stolen, n);
	return gp;
}

/*
 * Watches a victim's queue: true if something that is queued now is still
 * queued a few microseconds later. Then it is worth fetching. If its owner is
 * through with it by then, fetching it would have cost both cores more than
 * running it: each goroutine taken means lines dragged over and back, about
 * 0.2 us each where cores are far apart. (Measured with goroutines that do
 * nothing: 150 ns a spawn with an eager thief, 35 with a patient one.)
 */
static bool
owner_is_slow(struct p *victim)
{
	struct g *next = runq_peek_next(&victim->q);
	uint32_t tail = runq_tail(&victim->q);
	int64_t end = os_now_ns() + STEAL_PATIENCE_NS;

	do {
		for (int i = 0; i < STEAL_PAUSES; i++)
			cpu_relax();
		if (runq_taken(&victim->q, tail) &&
		    (!next || runq_peek_next(&victim->q) != next))
			return false;
		if (stop_asked())
			return false;
	} while (os_now_ns() < end);
	return true;
}

/* Spinning. Looks at every other P that is not idle, in random order. */
static struct g *
steal(struct p *pp)
{
	struct order o = order_start(&sched.order, rand_next(&pp->rand));

	for (; order_more(&o); order_next(&o)) {
		struct p *victim = p_at(o.pos);
		struct g *gp;

		if (stop_asked())
			return NULL;
		if (victim == pp || p_is_idle(o.pos) ||
		    runq_empty(&victim->q))
			continue;
		if (runq_len(&victim->q) < STEAL_AT_ONCE && !HARD_ON &&
		    !owner_is_slow(victim))
			continue;
		gp = steal_now(pp, victim);
		if (gp)
			return gp;
	}
	return NULL;
}

/*
 * One look at everything, in order. P held. (Expired timers of this P belong
 * first, and the network between the global queue and other Ps.)
 */
static struct g *
search(struct m *mp)
{
	struct p *pp = mp->pp;
	struct g *gp = NULL;

	if (fair_turn(pp)) {
		fair_done(pp);
		gp = global_get(pp, false);
	}
	if (!gp && pp->roam && runq_len(&pp->q) <= RUNQ_HALF &&
	    idle_start_spinning(mp))
		gp = steal(pp);
	pp->roam = false;
	if (!gp)
		gp = runq_take_next(&pp->q);
	if (!gp)
		gp = runq_get(&pp->q);
	if (!gp)
		gp = global_get(pp, true);
	if (!gp && idle_start_spinning(mp))
		gp = steal(pp);
	return gp;
}

/* P held on entry and exit; it may be another one. NULL: the M shall end. */
static struct g *
find_runnable(struct m *mp)
{
	for (;;) {
		struct g *gp;

		if (stop_asked()) {
			if (!world_rest(mp))
				return NULL;
			continue;
		}
		gp = search(mp);
		if (gp)
			return gp;
		if (!stop_asked() && !idle_rest(mp))
			return NULL;
	}
}

void
sched_loop(struct m *mp)
{
	struct g *gp;

	while ((gp = find_runnable(mp))) {
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

/* SPDX-License-Identifier: MIT */
/*
 * The search for work, on g0: the rows of the table in next.h, in their order.
 * search_line has rows 1 to 8, next_queued 9 to 12, search_all the rest.
 */
#include "next.h"

#include "events.h"
#include "expire.h"
#include "hard.h"
#include "idle.h"
#include "insn.h"
#include "netpoll.h"
#include "next.h"
#include "pin.h"
#include "world.h"

enum {
	GLOBAL_SHARE_MAX = 32,
	TIMERS_FIRST_MAX = 4,
	POLL_FIRST_MAX = 16,
	STEAL_AT_ONCE = RUNQ_HALF,	/* a longer ring is not watched */
	STEAL_PATIENCE_NS = 5000,
	STEAL_PAUSES = 16		/* between two reads: some 0.2 us */
};

/*
 * One to run from the global queue, and a share of at most `more` for the own
 * ring. Urgent ones come first, or, unless `urgent`, not at all.
 */
static struct g *
global_get(struct p *pp, uint32_t more, bool urgent)
{
	struct g *gp;

	if (!globq_len(&sched.globq))
		return NULL;
	lock_take(&sched.lock);
	gp = globq_get_batch(&sched.globq, &pp->q,
	    a_load_relaxed(&sched.procs), more, urgent);
	if (globq_urgent(&sched.globq))
		pp->fair.global_at = 0;	/* the next pick takes the next one */
	lock_drop(&sched.lock);
	return gp;
}

/*
 * The global queue's turn on a P that has work of its own. Not one goroutine
 * alone: of n that were readied at once the last would wait for 61 n switches.
 * But no more than the ring has room for.
 */
static struct g *
global_turn(struct p *pp, bool urgent)
{
	bool room = runq_len(&pp->q) <= RUNQ_HALF;

	return global_get(pp, room ? GLOBAL_SHARE_MAX : 0, urgent);
}

/* Takes half of the victim's ring; if empty, newborns; if none, its runnext. */
static struct g *
steal_now(struct p *pp, struct p *victim)
{
	uint32_t n;
	struct g *gp = runq_steal(&pp->q, &victim->q, &n);

	if (!gp)
		gp = runq_steal_deque(&pp->q, &victim->q, &n);
	if (!gp) {
		gp = runq_peek_next(&victim->q);
		n = 1;
		if (!gp || !runq_steal_next(&victim->q, gp))
			return NULL;
	}
	a_bump(&pp->stats.steals, 1);
	a_bump(&pp->stats.stolen, n);
	events_count(TR_STEAL, victim->id | n << 16);
	return gp;
}

/*
 * Since a thief last searched here, a backoff ago, the owner has switched so
 * often that all that was in its ring has had a turn: it keeps up.
 */
static bool
owner_keeps_up(struct p *victim)
{
	uint64_t now = a_load_relaxed(&victim->stats.switches);
	uint64_t then = a_load_relaxed(&victim->thief_saw);
	uint32_t len = runq_len(&victim->q) + 1;

	a_store_relaxed(&victim->thief_saw, now);
	return !deque_len(&victim->q.deque) &&
	    now - then > (uint64_t)len * (NEXT_RUN_MAX + 1);
}

/*
 * Watches a victim's queue: true if a goroutine that is queued now is still
 * queued a few microseconds later. Then it is worth stealing. If its owner has
 * run it by then, stealing would have cost both cores more than running it:
 * each goroutine stolen moves cache lines there and back, about 0.2 us each
 * where cores are far apart. (Measured with goroutines that do nothing: 150 ns
 * a spawn with an eager thief, 35 with a patient one.)
 */
static bool
owner_is_slow(struct p *victim)
{
	struct g *next = runq_peek_next(&victim->q);
	uint32_t tail = runq_tail(&victim->q);
	uint32_t oldest = a_load_relaxed(&victim->q.deque.top);
	bool deque = deque_len(&victim->q.deque);
	int64_t end = os_now_ns() + STEAL_PATIENCE_NS;

	do {
		for (int i = 0; i < STEAL_PAUSES; i++)
			cpu_relax();
		if (deque && (a_load_relaxed(&victim->q.deque.top) != oldest ||
		    !deque_len(&victim->q.deque)))
			deque = false;
		if (!deque && runq_taken(&victim->q, tail) &&
		    (!next || runq_peek_next(&victim->q) != next))
			return false;
		if (stop_requested())
			return false;
	} while (os_now_ns() < end);
	return true;
}

/* Of the P of that number, if it is worth stealing. */
static always_inline struct g *
steal_from(struct p *pp, uint32_t id)
{
	struct p *victim = p_at(id);

	if (victim == pp || p_is_idle(id) || runq_empty(&victim->q))
		return NULL;
	if (runq_len(&victim->q) < STEAL_AT_ONCE && !HARD_ON &&
	    (owner_keeps_up(victim) || !owner_is_slow(victim)))
		return NULL;
	return steal_now(pp, victim);
}

/* On a machine that is not flat: those that were last seen near first. */
static cold struct g *
steal_near_first(struct p *pp)
{
	struct g *gp = NULL;
	struct near_order n;

	m_locate(pp);
	near_order_start(&n, &sched.steal_order, rand_next(&pp->rand),
	    sched.position, a_load_relaxed(&sched.position[pp->id]));
	for (; near_order_more(&n) && !stop_requested() && !gp;
	    near_order_next(&n))
		gp = steal_from(pp, n.o.pos);
	return gp;
}

/* Spinning. Visits every other P that is not idle, in random order. */
static struct g *
steal(struct p *pp)
{
	struct steal_order o = steal_order_start(&sched.steal_order,
	    rand_next(&pp->rand));
	struct g *gp = NULL;

	if (unlikely(!topology.flat))
		return steal_near_first(pp);
	for (; steal_order_more(&o) && !stop_requested() && !gp;
	    steal_order_next(&o))
		gp = steal_from(pp, o.pos);
	return gp;
}

/*
 * Goroutines that a timer has just woken on this P go first: one that ran
 * before them might run for a whole slice. But only some times in a row.
 */
static bool
run_timers_first(struct p *pp)
{
	bool woken = expire_run(&pp->timers);

	woken |= expire_run(&expire_common);
	pp->timers_in_row = woken && pp->timers_in_row < TIMERS_FIRST_MAX ?
	    pp->timers_in_row + 1 : 0;
	return pp->timers_in_row;
}

/*
 * A goroutine has just begun to wait for a descriptor, beside hogs: what it
 * did before may have made another one ready, which would wait for a slice.
 */
static struct g *
poll_network_first(struct p *pp)
{
	pp->poll_first = false;
	pp->fair.global_at = pp->fair.global_kept;
	if (pp->polls_in_row++ < POLL_FIRST_MAX && netpoll_poll_urgent())
		return global_turn(pp, true);
	pp->polls_in_row = 0;
	return NULL;
}

/* Searches other Ps before the own queue. */
static struct g *
steal_from_others(struct m *mp, struct p *pp)
{
	struct g *gp = NULL;

	pp->steal_first = false;
	if (runq_len(&pp->q) <= RUNQ_HALF && idle_start_spinning(mp))
		gp = steal(pp);
	a_bump(&pp->fair.visits, 1);
	return gp;
}

/* A goroutine of the next source that is due, if any has one. */
static cold struct g *
serve_due(struct m *mp, struct p *pp)
{
	bool more = !expire_due(pp);
	struct g *gp = NULL;
	int source;

	while (!gp && (source = fair_next_due(&pp->fair, more)) >= 0) {
		gp = source == FAIR_NEXT ? runq_take_next(&pp->q) :
		    source == FAIR_RING ? runq_get(&pp->q) :
		    source == FAIR_NEWEST ? deque_pop(&pp->q.deque) :
		    source == FAIR_OLDEST ? deque_steal(&pp->q.deque) :
		    source == FAIR_GLOBAL ? global_turn(pp, false) :
		    steal_from_others(mp, pp);
		if (!gp)
			fair_due_empty(&pp->fair);
	}
	return gp;
}

/*
 * An urgent goroutine, if one waits and has its turn. It comes before the
 * sources that are due: beside goroutines that run for whole slices some
 * source always is. While the P shares, it is left out of the turns between.
 */
static struct g *
urgent_first(struct p *pp)
{
	bool waits = globq_urgent(&sched.globq);

	if (fair_urgent(&pp->fair, waits))
		return global_get(pp, 0, true);
	if (waits)
		pp->fair.global_at = 0;	/* the next pick asks again */
	return NULL;
}

/* The network's and the global queue's turn, by count. */
static struct g *
global_by_count(struct p *pp)
{
	next_global_done(pp);
	netpoll_poll_if_due();
	return global_turn(pp, false);
}

static struct g *
begin_chain(struct p *pp, struct g *gp, bool urgent)
{
	if (urgent)
		fair_chain_urgent(&pp->fair);
	else
		fair_chain(&pp->fair);
	return gp;
}

/* Rows 1 to 8: what comes before the own queue. */
static struct g *
search_line(struct m *mp, struct p *pp)
{
	struct g *gp = NULL;

	if (unlikely(pp->poll_first))
		gp = poll_network_first(pp);
	if (!gp)
		gp = urgent_first(pp);
	if (gp)
		return begin_chain(pp, gp, true);
	if (due(pp))
		gp = serve_due(mp, pp);
	if (!gp && !run_timers_first(pp) && next_global_turn(pp))
		gp = global_by_count(pp);
	if (pp->steal_first)
		expire_run_all();
	if (!gp && pp->steal_first)
		gp = steal_from_others(mp, pp);
	return gp ? begin_chain(pp, gp, false) : NULL;
}

/* One search of all sources, in order. P held. */
static struct g *
search_all(struct m *mp)
{
	struct p *pp = m_p(mp);
	struct g *gp = search_line(mp, pp);

	if (!gp)
		gp = next_queued(pp);
	if (!gp)
		gp = global_get(pp, RUNQ_HALF - 1, true);
	if (!gp && netpoll_poll())
		gp = next_queued(pp);
	if (!gp && idle_start_spinning(mp)) {
		if (expire_run_all())
			gp = next_queued(pp);
		if (!gp)
			gp = steal(pp);
	}
	return gp;
}

struct g *
next_runnable(struct m *mp)
{
	for (;;) {
		struct g *gp = mp->handoff_g;

		mp->handoff_g = NULL;
		if (unlikely(mp->pinned)) {
			check(!gp);	/* it would be lost */
			return pin_wait(mp);
		}
		if (unlikely(gp != NULL))
			return gp;
		if (unlikely(mp->must_migrate) && m_p(mp))
			p_hand_off(m_release(mp));
		if (unlikely(!m_p(mp))) {
			if (!idle_park_detached(mp))
				return NULL;
			continue;
		}
		if (stop_requested()) {
			if (!world_park(mp))
				return NULL;
			continue;
		}
		gp = search_all(mp);
		if (gp)
			return gp;
		if (!stop_requested() && !idle_park(mp))
			return NULL;
	}
}

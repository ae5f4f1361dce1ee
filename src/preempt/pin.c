/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that stay on one thread, and others with a *hold*, which must be
 * resolved before they run.
 *
 * A pinned goroutine has HOLD_PIN set and its M in its stack's header; the M
 * has it in `pinned` and runs no other: its P has `has_pinned_m`, so that no
 * goroutine is switched to directly, and on g0 the M does not search. When the
 * goroutine waits, its M hands the P off and sleeps on its own note, on no
 * list. When the goroutine's turn comes on some other P, that M finds the
 * hold, gives its own P to the goroutine's M, wakes it, and parks: one thread
 * is woken for each change, not two.
 *
 * A goroutine that *holds* its thread (weft_thread_hold) is not pinned: it is
 * bound to its M only while it is not running, from the park or yield to the
 * resume. That costs nothing as long as it does neither.
 *
 * A goroutine without a P that makes a call is pinned for as long as it waits
 * for one (pin_yield_global): a goroutine that holds a pthread lock across a
 * call that need not wait is on the same thread after it.
 */
#include "pin.h"

#include "deadlock.h"
#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "idle.h"
#include "insn.h"
#include "latency.h"
#include "monitor.h"
#include "newborn.h"
#include "sched.h"

/* ---- binding: inside ---- */

static void
bind(struct m *mp, struct g *gp)
{
	g_stack(gp)->pin = mp;
	a_add_relaxed(&sched.n_bound, 1);
	a_or_relaxed(&gp->hold, HOLD_PIN);
	mp->pinned = gp;
	if (m_p(mp)) {
		m_p(mp)->has_pinned_m = true;
		m_p(mp)->fair.global_at = 0;
	}
}

static void
unbind(struct m *mp, struct g *gp)
{
	a_and_relaxed(&gp->hold, (uint8_t)~HOLD_PIN);
	a_add_relaxed(&sched.n_bound, -1u);
	mp->pinned = NULL;
	if (m_p(mp))
		m_p(mp)->has_pinned_m = false;
}

/* ---- on g0 ---- */

struct g *
pin_wait(struct m *mp)
{
	struct p *pp;

	/* Then m_main hands its P off, if it has one. */
	if (mp->exits)
		return NULL;
	if (a_load_relaxed(&sched.stopping) & STOP_ENDED)
		m_halt();
	a_store_relaxed(&mp->preempt_req, 0);	/* it has yielded */
	pp = m_p(mp) ? m_release(mp) : NULL;
	lock_take(&sched.lock);
	rt_uncount_detached(mp);
	lock_drop(&sched.lock);
	if (pp)
		p_hand_off(pp);
	if (a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs))
		mp->deadlock_retries = deadlock_check() ? DEADLOCK_RETRIES : 0;
	m_sleep(mp);
	return mp->pinned;
}

/*
 * P pp goes to an M that runs one goroutine only, maybe for a whole slice.
 * Goroutines that were readied here must not wait for that: they become
 * urgent, so other Ps take them, or they come first when that goroutine is
 * stopped. (Newborns stay: there may be thousands, and a thief takes them in
 * the right order.)
 */
static void
spill_woken(struct p *pp)
{
	struct glist l = {0};

	runq_drain_woken(&pp->q, &l);
	if (!l.n)
		return;
	lock_take(&sched.lock);
	globq_put_urgent(&sched.globq, &l);
	lock_drop(&sched.lock);
	idle_wake();
	monitor_hint();
}

/* The goroutine is bound to the M `to`, which gets the P of mp. */
static void
hand_p_to(struct m *mp, struct m *to)
{
	struct p *pp = m_p(mp);

	spill_woken(pp);
	m_release(mp);
	if (to->paused.next)
		m_move_here(to);
	to->nextp = pp;
	to->nextspin = false;
	note_wake(&to->note);
}

/*
 * Waits while the goroutine is claimed, which takes some microseconds to a
 * millisecond, and clears what the monitor noted (SEEN, SCAVENGED). The
 * clearing may come after a claim although the load before came first: then we
 * wait once more. (If it comes before, the claimer sees that it does not wait.)
 * See claim.h.
 */
static void
wait_scavenged(struct g *gp)
{
	uint8_t noted = HOLD_SEEN | HOLD_SCAVENGED;

	do {
		/* both pair with unclaim: the work on its stack is done */
		while (a_load_acq(&gp->hold) & HOLD_CLAIM)
			os_thread_yield();
		hard_pause();
	} while (a_and_acqrel(&gp->hold, (uint8_t)~noted) & HOLD_CLAIM);
}

bool
pin_resolve_hold(struct m *mp, struct g *gp)
{
	struct m *to;

	wait_scavenged(gp);
	if (a_load_relaxed(&gp->hold) & HOLD_TIMED)
		latency_sample(m_p(mp), gp);
	if (a_load_relaxed(&gp->hold) & HOLD_FUTURE)
		return newborn_begin(m_p(mp), gp);
	if (!(a_load_relaxed(&gp->hold) & HOLD_PIN))
		return true;
	to = g_stack(gp)->pin;
	if (to != mp) {
		hand_p_to(mp, to);
		return false;
	}
	if (!gp->pins)
		unbind(mp, gp);
	return true;
}

static bool
is_bound(struct g *gp)
{
	return gp && a_load_relaxed(&gp->hold) & HOLD_PIN;
}

bool
pin_is_first(void)
{
	check(lock_held(&sched.lock));
	return is_bound(globq_peek(&sched.globq));
}

/*
 * The first that is bound, wherever it is in the queue: without an idle M,
 * those before it cannot run. The walk is as long as the queue, so it is made
 * only if there is one.
 */
static struct g *
first_bound(void)
{
	check(lock_held(&sched.lock));
	if (!a_load_relaxed(&sched.n_bound))
		return NULL;
	return globq_find(&sched.globq, is_bound);
}

bool
pin_is_any(void)
{
	return first_bound() != NULL;
}

struct m *
pin_take_any(void)
{
	struct g *gp = first_bound();

	if (!gp)
		return NULL;
	globq_remove(&sched.globq, gp);
	return g_stack(gp)->pin;
}

/* ---- on the goroutine: inside ---- */

void
pin_bind(struct m *mp, struct g *gp)
{
	if (!gp->pins)
		bind(mp, gp);
}

/* For libweft-hooks, which sets it before the runtime starts. */
public void (*weft_held_park_)(void);

void
pin_bind_parked(struct m *mp, struct g *gp)
{
	if (weft_held_park_)
		weft_held_park_();
	pin_bind(mp, gp);
}

void
pin_unbind(struct m *mp, struct g *gp)
{
	if (!gp->pins)
		unbind(mp, gp);
}

/*
 * A goroutine that yields because it was asked to. Others may take its place on
 * another thread, unless it holds this one.
 */
void
pin_yield_asked(struct m *mp)
{
	if (m_g(mp)->holds_thread)
		pin_yield_global(mp);
	else
		sched_yield_global();
}

void
pin_yield_global(struct m *mp)
{
	struct g *gp = m_g(mp);

	pin_bind(mp, gp);
	sched_yield_global();
}

bool
pin_end(struct m *mp, struct g *gp)
{
	if (!gp->pins)
		return false;
	gp->pins = 0;
	a_and_relaxed(&gp->hold, (uint8_t)~HOLD_PIN);
	a_add_relaxed(&sched.n_bound, -1u);
	check(mp->pinned == gp);
	return true;
}

public void
weft_pin(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (!gp)
		return;
	rt_enter(mp);
	if (gp->pins == UINT8_MAX)
		fatal("weft_pin: more than %d deep", UINT8_MAX);
	if (gp->pins++ == 0)
		bind(mp, gp);
	rt_leave_out(mp);
}

public void
weft_unpin(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (!gp)
		return;
	rt_enter(mp);
	if (gp->pins == 0)
		fatal("weft_unpin: the goroutine is not pinned");
	if (--gp->pins == 0)
		unbind(mp, gp);
	rt_leave_out(mp);
}

/*
 * Only the goroutine itself changes the depth. It may move between the two
 * steps: gp stays the same.
 */
public bool
weft_thread_hold(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (!gp)
		return false;
	if (!gp->holds_thread)
		gp->thread_holds = 0;
	if (gp->thread_holds < UINT16_MAX)
		gp->thread_holds++;
	gp->holds_thread = true;
	return true;
}

public void
weft_thread_release(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	/* A depth that was too large to count stays. */
	if (gp && gp->holds_thread && gp->thread_holds < UINT16_MAX)
		gp->holds_thread = --gp->thread_holds > 0;
}

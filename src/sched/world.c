/* SPDX-License-Identifier: MIT */
/*
 * Stopping the world, and changing the number of Ps while it is stopped.
 *
 * world_stop sets sched.stopping and takes all idle Ps; each M that has a P
 * sees the flag at its next call into the scheduler and gives the P up
 * (world_park). The last one wakes the stopper. Goroutines that were running
 * are on their P's own ring then, so nothing moves by stopping alone.
 *
 * A spinner that stops for this uncounts itself without checking for work: so
 * world_start checks, when idle Ps are idle again, and wakes an M if there is
 * some.
 *
 * If the main goroutine returns meanwhile no M stops any more: those that
 * would are halted for good. The stopper is woken and gives up.
 */
#include "world.h"

#include "sched.h"

#include <errno.h>

#include "expire.h"
#include "fatal.h"
#include "idle.h"
#include "latency.h"
#include "monitor.h"

/* The caller, if it is a goroutine that has a P. It is inside then. */
static struct m *
caller(void)
{
	struct m *mp = m_self();

	return mp && m_p(mp) ? mp : NULL;
}

static bool
ended(void)
{
	return a_load_relaxed(&sched.stopping) & STOP_ENDED;
}

bool
world_stopped(struct p *pp)
{
	check(lock_held(&sched.lock));
	check(sched.stop_wait > 0);
	pp->state = P_STOPPED;
	return --sched.stop_wait == 0;
}

/* sched.lock held: requests a stop. True if some Ps are still to stop. */
static bool
request_stop(struct m *mp)
{
	struct p *pp;

	note_clear(&sched.stop_note);
	sched.stop_wait = a_load_relaxed(&sched.procs);
	/* A hint to Ms that poll it; they act on it under the lock. */
	a_or_relaxed(&sched.stopping, STOP_WORLD);
	a_or_relaxed(&attention, ATTEND_STOP);
	if (mp)
		world_stopped(m_p(mp));
	while ((pp = p_idle_get()))
		world_stopped(pp);
	return sched.stop_wait > 0;
}

bool
world_stop(void)
{
	struct m *mp = caller();
	bool wait = false;

	lock_take(&sched.lock);
	if (!ended())
		wait = request_stop(mp);
	lock_drop(&sched.lock);
	if (wait) {
		monitor_hint();
		note_sleep(&sched.stop_note, FOREVER);
	}
	return !ended();
}

void
world_end(void)
{
	bool wake;

	lock_take(&sched.lock);
	wake = a_load_relaxed(&sched.stopping) == STOP_WORLD &&
	    sched.stop_wait > 0;
	/* From here on no M starts a goroutine. */
	a_or_relaxed(&sched.stopping, STOP_ENDED);
	lock_drop(&sched.lock);
	if (wake)
		note_wake(&sched.stop_note);
}

bool
world_park(struct m *mp)
{
	bool last = false;

	lock_take(&sched.lock);
	if (!a_load_relaxed(&sched.stopping)) {
		lock_drop(&sched.lock);
		return true;
	}
	if (ended()) {
		lock_drop(&sched.lock);
		m_halt();
	}
	last = world_stopped(m_release(mp));
	m_idle_put(mp);
	if (mp->spinning) {
		mp->spinning = false;
		/* sc: under the lock; world_start checks for work */
		a_add_sc(&sched.n_spinning, -1u);
	}
	lock_drop(&sched.lock);
	if (last)
		note_wake(&sched.stop_note);
	return m_sleep(mp);
}

/* ---- resizing ---- */

int
world_make_ps(uint32_t procs)
{
	for (uint32_t i = 0; i < procs; i++) {
		struct p *pp = p_at(i);

		if (pp)
			continue;
		pp = os_map(round_up(sizeof *pp, PAGE));
		if (!pp)
			return -ENOMEM;
		pp->id = i;
		pp->state = P_DEAD;
		trace_ring_init(&pp->trace, i);
		rand_seed(&pp->rand, sched.seed + i);
		latency_init(pp);
		pp->timers = (struct timer_heap)TIMER_HEAP_INIT;
		/* pairs with p_at */
		a_store_rel(&sched.allp[i], pp);
	}
	return 0;
}

/* sched.lock held. What this P has goes where other Ps find it. */
static void
retire(struct p *pp)
{
	struct glist l = {0};

	runq_drain(&pp->q, &l);
	globq_put(&sched.globq, &l);
	g_drain(&pp->gs);
	stack_drain(&pp->stacks);
	pp->state = P_DEAD;
}

void
world_resize(uint32_t procs)
{
	struct m *mp = caller();
	uint32_t old = a_load_relaxed(&sched.procs);

	for (uint32_t i = procs; i < old; i++)
		timer_heap_move(&p_at(i)->timers, &p_at(0)->timers);
	lock_take(&sched.lock);
	for (uint32_t i = old; i < procs; i++)
		p_at(i)->state = P_STOPPED;
	if (mp && m_p(mp)->id >= procs) {
		m_release(mp);
		p_at(0)->state = P_RUNNING;
		m_acquire(mp, p_at(0));
		p_at(0)->state = P_STOPPED;
	}
	for (uint32_t i = procs; i < old; i++)
		retire(p_at(i));
	/* sc: pairs with idle_any_work of a thread without a P */
	a_store_sc(&sched.procs, procs);
	steal_order_init(&sched.steal_order, procs);
	lock_drop(&sched.lock);
}

/* ---- starting again ---- */

/* sched.lock held. Ps without work become idle; the others are returned. */
static struct p *
sort_ps(struct m *mp)
{
	struct p *busy = NULL;

	for (uint32_t i = a_load_relaxed(&sched.procs); i-- > 0; ) {
		struct p *pp = p_at(i);

		check(pp->state == P_STOPPED);
		if (mp && pp == m_p(mp)) {
			pp->state = P_RUNNING;
		} else if (runq_empty(&pp->q)) {
			p_idle_put(pp);
		} else {
			pp->state = P_RUNNING;
			pp->link = busy;
			busy = pp;
		}
	}
	return busy;
}

cold void
world_no_thread(struct p *pp)
{
	struct glist l = {0};
	bool last = false, look = false;

	lock_take(&sched.lock);
	if (a_load_relaxed(&sched.stopping) == STOP_WORLD) {
		last = world_stopped(pp);
	} else {
		runq_drain(&pp->q, &l);
		globq_put(&sched.globq, &l);
		p_idle_put(pp);
		look = !list_empty(&sched.idle_m);
		if (!look)
			idle_want_thread();
	}
	lock_drop(&sched.lock);
	if (last)
		note_wake(&sched.stop_note);
	/* The M that was requested may have been made before this. */
	if (look)
		idle_wake_if_work();
}

static void
start_p(struct p *pp)
{
	struct m *mp;

	lock_take(&sched.lock);
	mp = m_idle_get_near(a_load_relaxed(&sched.position[pp->id]));
	lock_drop(&sched.lock);
	if (m_start(mp, pp, false) != 0)
		world_no_thread(pp);
}

struct p *
world_boot(struct g *gp)
{
	struct p *pp;

	lock_take(&sched.lock);
	a_and_relaxed(&sched.stopping, ~(uint32_t)STOP_WORLD);
	must(!sort_ps(NULL));
	globq_put_one(&sched.globq, gp);
	pp = p_idle_get();
	lock_drop(&sched.lock);
	return pp;
}

void
world_start(void)
{
	struct p *pp, *next;

	lock_take(&sched.lock);
	a_and_relaxed(&sched.stopping, ~(uint32_t)STOP_WORLD);
	a_and_relaxed(&attention, ~(uint32_t)ATTEND_STOP);
	pp = sort_ps(caller());
	lock_drop(&sched.lock);
	for (; pp; pp = next) {
		next = pp->link;
		start_p(pp);
	}
	m_idle_trim();
	idle_wake_if_work();
	expire_notify(expire_next());
	expire_need_watcher();
}

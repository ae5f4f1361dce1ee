/* SPDX-License-Identifier: MIT */
/* How a P is retaken, and handed off. See retake.h. */
#include "retake.h"

#include "blocking.h"
#include "events.h"
#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "idle.h"
#include "pin.h"
#include "place.h"
#include "preempt_counts.h"
#include "sched.h"
#include "world.h"

static enum detached
detached_by(int why)
{
	return why == WEFT_RETAKE_CALL ? DETACHED_CALL :
	    why == WEFT_RETAKE_ASLEEP ? DETACHED_BLOCKED : DETACHED_RUNNING;
}

/* ---- the M ---- */

/*
 * ASKED: we were faster, and keep the P. TAKEN: it may be another M's by now,
 * and the monitor has counted us as detached.
 */
cold void
rt_enter_slow(struct m *mp)
{
	/* pairs with retake_one */
	if (a_cas_acqrel(&mp->retake, RETAKE_ASKED, RETAKE_NONE))
		return;
	/* pairs with retake_one: what it wrote before TAKEN */
	if (a_load_acq(&mp->retake) != RETAKE_TAKEN)
		return;
	mp->detached = (uint8_t)detached_by(mp->taken_why);
	mp->old_p = m_p(mp);
	a_store_relaxed(&mp->pp, NULL);
	a_store_rel(&mp->retake, RETAKE_NONE);	/* pairs with retake_try */
}

void
rt_count_detached(enum detached how)
{
	check(lock_held(&sched.lock));
	a_add_relaxed(&sched.n_detached[DETACHED_NOT], 1);
	a_add_relaxed(&sched.n_detached[how], 1);
}

void
rt_uncount_detached(struct m *mp)
{
	check(lock_held(&sched.lock));
	if (mp->detached == DETACHED_NOT)
		return;
	a_add_relaxed(&sched.n_detached[DETACHED_NOT], -1u);
	a_add_relaxed(&sched.n_detached[mp->detached], -1u);
	mp->detached = DETACHED_NOT;
	if (a_load_relaxed(&mp->place_key))
		place_back(mp);
}

bool
rt_take_idle_p(struct m *mp)
{
	struct p *pp = NULL;

	lock_take(&sched.lock);
	if (!a_load_relaxed(&sched.stopping))
		pp = p_idle_get_near(mp->old_p);
	if (pp)
		rt_uncount_detached(mp);
	lock_drop(&sched.lock);
	if (pp)
		m_acquire(mp, pp);
	return pp != NULL;
}

/* ---- hand-off ---- */

void
p_hand_off(struct p *pp)
{
	bool last = false, start = false, spare = false;
	struct m *mp = NULL;

	lock_take(&sched.lock);
	if (globq_urgent(&sched.globq))
		pp->fair.global_at = 0;
	if (a_load_relaxed(&sched.stopping) == STOP_WORLD) {
		last = world_stopped(pp);
	} else if (!runq_empty(&pp->q) || globq_len(&sched.globq)) {
		mp = m_idle_get_near(a_load_relaxed(&sched.position[pp->id]));
		if (!mp)
			mp = pin_take_any();
		spare = !sched.n_idle_m && !sched.n_making && m_can_make();
		start = true;
	} else {
		p_idle_put(pp);
	}
	lock_drop(&sched.lock);
	if (last)
		note_wake(&sched.stop_note);
	/* Where one M blocked, others may soon do so. */
	if (spare)
		m_request();
	if (start && m_start(mp, pp, false) != 0)
		world_no_thread(pp);
	if (!last && !start)
		idle_wake_if_work();
	/* A thread must wait for timers, whether a P is idle now or not; and,
	 * if one is, for the network. */
	expire_notify(expire_next());
	expire_need_watcher();
}

/* ---- the monitor ---- */

/*
 * retake is ASKED, and the barrier has been executed. True if the P is ours to
 * hand off. The M's P may have changed since the monitor chose it: the one it
 * has outside will do. It is read before TAKEN, after which the M clears it;
 * if the M changes it meanwhile, it was inside, and TAKEN fails.
 */
static bool
retake_one(struct retake_try *t)
{
	struct m *mp = t->mp;
	bool taken, traced;

	/* pairs with rt_leave: what it did with its P is done */
	if (a_load_acq(&mp->inside) != 0 || !(t->pp = m_p(mp)) ||
	    (t->why == WEFT_RETAKE_CALL && !a_load_relaxed(&mp->in_call))) {
		/* pairs with nothing: the M may have done it itself */
		a_cas_acqrel(&mp->retake, RETAKE_ASKED, RETAKE_NONE);
		return false;
	}
	hard_pause();
	mp->taken_why = (uint8_t)t->why;
	lock_take(&sched.lock);
	traced = events_taken_open();
	/* pairs with rt_enter_slow */
	taken = a_cas_acqrel(&mp->retake, RETAKE_ASKED, RETAKE_TAKEN);
	if (traced)
		events_taken_close(taken ? t->pp : NULL, mp, t->why);
	if (!taken) {
		lock_drop(&sched.lock);
		return false;
	}
	check(a_load_relaxed(&t->pp->mp) == mp);
	a_store_relaxed(&t->pp->mp, NULL);
	rt_count_detached(detached_by(t->why));
	lock_drop(&sched.lock);
	preempt_stats_inc_taken(t->why);
	if (t->why == WEFT_RETAKE_CALL)
		blocking_was_slow(mp);
	else if (t->why == WEFT_RETAKE_ASLEEP)
		place_slept(mp);
	return true;
}

uint32_t
retake_try(struct retake_try *t, uint32_t n)
{
	uint32_t taken = 0;

	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		/* pairs with rt_enter_slow; fails if it has lost its P */
		if (!a_cas_acqrel(&t[i].mp->retake, RETAKE_NONE, RETAKE_ASKED))
			t[i].mp = NULL;
	os_barrier_all();
	for (uint32_t i = 0; i < n; i++) {
		if (!t[i].mp || !retake_one(&t[i]))
			continue;
		taken++;
		p_hand_off(t[i].pp);
	}
	return taken;
}

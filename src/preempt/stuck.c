/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that do not come back: what the monitor does about each, in
 * steps. See monitor.c for when it looks.
 *
 *	FINE -> REQUESTED	it shall let others run at its next call (if one is
 *			urgent the next step follows at once)
 *	  -> SIGNALLED	it did not: the signal, if its thread is awake. Asleep:
 *			the P is taken, and no signal sent
 *	  -> (taken)	the signal's verdict was negative, or too slow
 */
#include "monitor_state.h"

#include "pin.h"
#include "place.h"
#include "preempt.h"
#include "preempt_counts.h"

enum { FINE, REQUESTED, SIGNALLED };	/* steps */
enum { SIGNAL_TRIES = 5 };

static const int64_t step_ns = 20 * US;		/* between two steps */
static const int64_t answer_ns = 100 * US;	/* ... after the signal: seldom
						 * is there more to do */
static const int64_t verdict_ns = 200 * US;	/* if one is urgent, */
static const int64_t verdict_max = 2 * MS;	/* ... for the handler */
static const int64_t starve_short = 1 * MS;	/* ... or for a CPU, if */
static const int64_t starve_max = 20 * MS;	/* ... urgent, and if not */
static const int64_t no_thread_ns = 5 * MS;
static const int64_t retry_ns = 50 * US;	/* first; then doubled */
static const int64_t short_slice = 500 * US;
static const int64_t shortest_slice = 100 * US;	/* of those not movable, */
static const int64_t unmovable_min = 1 * MS;	/* ... if one is urgent, or
						 * they are many */

/*
 * Is there an M for the next P that is taken? If not, one is wanted, and
 * *later says whether it can be had then.
 */
static bool
thread_to_be_had(bool *later)
{
	bool yes;

	lock_take(&sched.lock);
	yes = sched.n_idle_m > mon.n_take || pin_is_any();
	*later = !yes && m_can_make();
	lock_drop(&sched.lock);
	if (*later)
		m_request();
	return yes;
}

/*
 * No thread was made all the while: making one may wait for a lock that the
 * sleeper waits for as well. Its P is of no use to it; what that has queued is
 * for others then, and an M that is bound to one of these needs no other.
 */
static bool
waited_long(const struct p *pp)
{
	return mon.now - pp->snapshot.since >= no_thread_ns;
}

static void
plan_take(struct p *pp, struct m *mp, int why)
{
	bool computes = why > WEFT_RETAKE_ASLEEP, later = false;

	if (mon.n_take == TAKE_MAX)
		return;
	/* A stop of the world needs no thread for it. */
	if (!a_load_relaxed(&sched.stopping) &&
	    ((computes && a_load_relaxed(&sched.n_detached[DETACHED_RUNNING]) +
	    mon.n_take >= sched.max_detached) || !thread_to_be_had(&later)) &&
	    !(later && !computes && waited_long(pp))) {
		if (later) {
			wake_no_later(mon.now + step_ns);
			return;
		}
		preempt_stats_inc(&preempt_stats.capped);
		/* It has another slice. */
		pp->snapshot.step = FINE;
		pp->snapshot.since = pp->snapshot.call_since = mon.now;
		return;
	}
	mon.retakes[mon.n_take++] = (struct retake_try){ pp, mp, why };
}

static void
next_step(struct p_snapshot *w, uint8_t step)
{
	w->step = step;
	w->at = mon.now;
	wake_no_later(mon.now + (step == SIGNALLED ? answer_ns : step_ns));
}

static void
request_preempt(struct p_snapshot *w, struct m *mp)
{
	a_store_relaxed(&mp->preempt_req, 1);
	preempt_stats_inc(&preempt_stats.asked);
	w->tries = 0;
	next_step(w, REQUESTED);
}

/* Is its thread blocked in the kernel, and not on a lock of the library? */
static bool
thread_blocked(struct m *mp)
{
	return !a_load_relaxed(&mp->lock_wait) &&
	    os_thread_blocked(m_tid(mp)) == 1;
}

/* It did not let others run. Asleep, or else the signal. */
static void
signal_or_retake(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;

	if (thread_blocked(mp)) {
		plan_take(pp, mp, WEFT_RETAKE_ASLEEP);
	} else if (!preempt_possible()) {
		plan_take(pp, mp, WEFT_RETAKE_OFF);
	} else if (preempt_send(mp)) {
		w->tries++;
		w->cpu = os_thread_cpu_ns(m_tid(mp));
		next_step(w, SIGNALLED);
	} else {
		plan_take(pp, mp, WEFT_RETAKE_OFF);
	}
}

/* Some refusals are of a moment: it was in libc just then. */
static bool
worth_another(const struct p_snapshot *w, int why)
{
	return w->tries < SIGNAL_TRIES && why >= WEFT_RETAKE_RUNTIME &&
	    why != WEFT_RETAKE_STACK && why != WEFT_RETAKE_REALTIME;
}

/*
 * The signal was not handled because the kernel does not let the thread run:
 * others have the CPU, maybe of other processes. Another thread with its P
 * would have to wait, too, and be one more. But not for ever: and if somebody
 * is urgent, not for long, since a thread that begins is sooner in turn. (One
 * that was paused before will be paused when it runs: then it does not pay to
 * have one more.)
 */
static bool
starved(const struct p_snapshot *w, struct m *mp)
{
	int64_t most = mon.urgent && !a_load_relaxed(&mp->unmovable) ?
	    starve_short : starve_max;

	return mon.now - w->at < most && w->cpu >= 0 &&
	    os_thread_cpu_ns(m_tid(mp)) - w->cpu < step_ns;
}

static void
try_later(struct p_snapshot *w)
{
	int64_t delay = retry_ns << (w->tries - 1);

	w->step = REQUESTED;
	w->at = mon.now + delay - step_ns;
	wake_no_later(mon.now + delay);
}

static void
on_verdict(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;
	/* pairs with refuse */
	uint32_t v = a_load_acq(&mp->verdict);

	if (v == VERDICT_SENT) {
		if (mon.now - w->at >=
		    (mon.urgent ? verdict_ns : verdict_max) &&
		    !starved(w, mp))
			plan_take(pp, mp, WEFT_RETAKE_LATE);
		else
			wake_no_later(mon.now + answer_ns);
	} else if (v >= VERDICT_REFUSED) {
		a_store_relaxed(&mp->verdict, VERDICT_IDLE);
		if (worth_another(w, (int)(v - VERDICT_REFUSED)))
			try_later(w);
		else
			plan_take(pp, mp, (int)(v - VERDICT_REFUSED));
	} else {
		w->step = FINE;		/* preempted, and back again */
	}
}

static void
escalate(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;

	if (w->step == FINE) {
		request_preempt(w, mp);
		/* Our own next turn may be late, beside busy threads. */
		if (mon.urgent)
			signal_or_retake(pp, mp);
	} else if (mon.now - w->at < step_ns) {
		wake_no_later(w->at + step_ns);
	} else if (w->step == REQUESTED) {
		signal_or_retake(pp, mp);
	} else {
		on_verdict(pp, mp);
	}
}

/*
 * Those that cannot be moved hold more that others wait for, the more of them
 * there are: their slices are shorter.
 */
static int64_t
slice_of(struct m *mp)
{
	uint32_t procs = a_load_relaxed(&sched.procs), n;

	if (!a_load_relaxed(&mp->unmovable) && preempt_moves())
		return mon.slice;
	n = a_load_relaxed(&sched.n_paused) / procs + 1;
	if (mon.slice / n > unmovable_min)
		return mon.slice / n;
	return mon.slice < unmovable_min ? mon.slice : unmovable_min;
}

/* Does anybody wait for this P? */
static bool
wanted(struct p *pp)
{
	return mon.always || mon.saturated || a_load_relaxed(&sched.stopping) ||
	    !runq_empty(&pp->q);
}

/* An announced call: nothing need be asked. */
static void
check_call(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;
	int64_t limit = wanted(pp) ? ROUND_MIN : ROUND_MAX;

	/* Many short ones in a row are one slice: it shall wait when back. */
	if (w->step == FINE && mon.now - w->since >= mon.slice && wanted(pp))
		request_preempt(w, mp);
	if (mon.now - w->call_since >= limit)
		plan_take(pp, mp, WEFT_RETAKE_CALL);
	else
		wake_no_later(w->call_since + limit);
}

/*
 * Does its thread sleep in the kernel? /proc tells, but costs some
 * microseconds: it is asked only if the thread did not compute since the last
 * look, and then ever less often, for it may also just wait for a CPU.
 */
static bool
is_blocked(struct p_snapshot *w, struct m *mp)
{
	int64_t cpu = os_thread_cpu_ns(m_tid(mp));

	if (cpu != w->still_cpu) {
		if (w->still_cpu < 0)
			wake_no_later(mon.now + step_ns);
		w->still_cpu = cpu;
		w->still = 0;
		return false;
	}
	w->still++;
	return (w->still & (w->still - 1)) == 0 && thread_blocked(mp);
}

static void
check_slice(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;
	int64_t over = w->since + slice_of(mp);

	if (a_load_relaxed(&sched.stopping))
		over = mon.now;
	if (!wanted(pp)) {
		a_store_relaxed(&mp->preempt_req, 0);
		w->step = FINE;
		return;
	}
	if (is_blocked(w, mp)) {
		plan_take(pp, mp, WEFT_RETAKE_ASLEEP);
		return;
	}
	if (mon.urgent && (!mon.oldest || w->since < mon.oldest->snapshot.since))
		mon.oldest = pp;
	if (mon.now >= over || w->step != FINE)
		escalate(pp, mp);
	else
		wake_no_later(over);
}

/* True if it does the same as when we last looked. */
static bool
no_progress(struct p_snapshot *w, struct p *pp, struct m *mp)
{
	uint64_t tick = a_load_relaxed(&pp->stats.switches) +
	    a_load_relaxed(&pp->stats.yields);
	uint64_t calls = a_load_relaxed(&mp->calls);
	bool same = w->mp == mp && w->tick == tick;

	if (!same) {
		w->since = mon.now;
		w->step = FINE;
		w->still_cpu = -1;
	}
	if (!same || w->calls != calls)
		w->call_since = mon.now;
	w->mp = mp;
	w->tick = tick;
	w->calls = calls;
	return same;
}

void
stuck_check(struct p *pp)
{
	/* pairs with m_acquire */
	struct m *mp = a_load_acq(&pp->mp);
	struct p_snapshot *w = &pp->snapshot;
	uint8_t step = w->step;

	if (!mp) {
		w->mp = NULL;
		w->step = FINE;
		return;
	}
	mon.busy_at = mon.now;
	mon.waiting |= fair_watch(pp, m_tid(mp), mon.was_stuck,
	    mon.now, mon.slice);
	if (!no_progress(w, pp, mp)) {
		/* What was asked of the last goroutine is not of this one. */
		if (step != FINE)
			a_store_relaxed(&mp->preempt_req, 0);
		wake_no_later(mon.now +
		    (mon.urgent ? short_slice : slice_of(mp)));
	} else if (a_load_relaxed(&mp->in_call)) {
		check_call(pp, mp);
	} else if (!a_load_relaxed(&mp->inside)) {
		check_slice(pp, mp);
	}
	mon.n_stuck += mon.now - w->since >= mon.slice && !runq_empty(&pp->q);
	mon.n_asked += w->step != FINE;
}

/* An urgent goroutine waits: the one that has run longest must go. */
void
stuck_preempt_oldest(void)
{
	struct p *pp = mon.oldest;
	struct m *mp = pp ? pp->snapshot.mp : NULL;
	int64_t until;

	if (!mp || pp->snapshot.step != FINE)
		return;
	until = pp->snapshot.since + (a_load_relaxed(&mp->unmovable) ?
	    shortest_slice : short_slice);
	if (a_load_relaxed(&pp->fair.share) &&
	    until < (int64_t)a_load_relaxed(&pp->fair.urgent_next))
		until = (int64_t)a_load_relaxed(&pp->fair.urgent_next);
	if (mon.now >= until)
		escalate(pp, mp);
	else
		wake_no_later(until);
}

/*
 * It runs a goroutine without a P, outside. A guess: it goes on meanwhile. One
 * that was signalled before knows that its P was taken, and has noted it.
 */
static bool
runs_detached(struct m *mp)
{
	/* pairs with rt_enter_slow */
	return a_load_acq(&mp->retake) == RETAKE_TAKEN ||
	    (m_g(mp) && !m_p(mp) && !a_load_relaxed(&mp->inside) &&
	    !a_load_relaxed(&mp->in_call));
}

/*
 * An M that lost its P because its goroutine could not be preempted just then:
 * perhaps it can be now. If so, it queues up like others, and does not compete
 * with them any longer.
 */
static bool
computes_detached(struct m *mp)
{
	return runs_detached(mp) && mp->taken_why > WEFT_RETAKE_REGION &&
	    os_thread_blocked(m_tid(mp)) == 0;
}

/* An M that lost its P because it slept, or was expected to: it computes. */
static bool
woke_detached(struct m *mp)
{
	int64_t cpu, was = mp->detached_cpu;

	if (!a_load_relaxed(&mp->place_key) &&
	    (a_load_acq(&mp->retake) != RETAKE_TAKEN ||	/* pairs with same */
	    mp->taken_why != WEFT_RETAKE_ASLEEP)) {
		mp->detached_cpu = 0;
		return false;
	}
	cpu = os_thread_cpu_ns(m_tid(mp));
	mp->detached_cpu = cpu;
	return was > 0 && cpu - was > ROUND_MAX / 2;
}

static void
retry_detached(struct m *mp, void *arg)
{
	(void)arg;
	if (woke_detached(mp)) {
		place_computed(mp);
		preempt_send(mp);
	} else if (computes_detached(mp)) {
		preempt_send(mp);
	}
}

void
stuck_retry_detached(void)
{
	if (!(a_load_relaxed(&sched.n_detached[DETACHED_RUNNING]) ||
	    a_load_relaxed(&sched.n_detached[DETACHED_BLOCKED])) || !preempt_possible())
		return;
	if (mon.now >= mon.recall_at) {
		mon.recall_at = mon.now + ROUND_MAX;
		m_each(retry_detached, NULL);
	}
	wake_no_later(mon.recall_at);
}

/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that do not yield: what the monitor does about each, in steps.
 * See monitor.c for its rounds.
 *
 *	FINE -> REQUESTED	it shall yield at its next checkpoint (if an
 *				urgent one waits the next step follows at once)
 *	  -> SIGNALLED		it did not: the signal is sent. If its thread
 *				is blocked the P is retaken instead
 *	  -> (retaken)		the verdict was a refusal, or came too late
 */
#include "monitor_state.h"

#include "pin.h"
#include "place.h"
#include "preempt.h"
#include "preempt_counts.h"

enum { FINE, REQUESTED, SIGNALLED };	/* steps */
enum { SIGNAL_TRIES = 5 };

static const int64_t step_ns = 20 * US;		/* between two steps */
static const int64_t answer_ns = 100 * US;	/* ... after the signal: most
						 * need no other step */
/* How long to wait for the verdict, if an urgent one waits, and if not. */
static const int64_t verdict_ns = 200 * US;
static const int64_t verdict_max = 2 * MS;
/* ... and if the thread waits for a CPU. */
static const int64_t starve_short = 1 * MS;
static const int64_t starve_max = 20 * MS;
static const int64_t no_thread_ns = 5 * MS;
static const int64_t retry_ns = 50 * US;	/* first; then doubled */
/* Slices if an urgent one waits: movable goroutines, and others. */
static const int64_t short_slice = 500 * US;
static const int64_t shortest_slice = 100 * US;
static const int64_t slice_min = 1 * MS;	/* see slice_of */

/*
 * Is there an M for the next P that is retaken? If not, one is requested, and
 * *later says whether it can be made.
 */
static bool
m_available(bool *later)
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
 * No thread was made for no_thread_ns: making one may wait for a lock that the
 * blocked goroutine waits for as well. Its P is of no use to it; the
 * goroutines of that P go to the global queue then, and an M to which one of
 * them is bound needs no other.
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
	/* If the world stops no thread is needed for the P. */
	if (!a_load_relaxed(&sched.stopping) &&
	    ((computes && a_load_relaxed(&sched.n_detached[DETACHED_RUNNING]) +
	    mon.n_take >= sched.max_detached) || !m_available(&later)) &&
	    !(!computes && waited_long(pp) &&
	    (later || a_load_relaxed(&sched.n_bound)))) {
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

/* It did not yield: retakes the P if its thread is blocked, or signals. */
static void
signal_or_retake(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;

	if (thread_blocked(mp)) {
		plan_take(pp, mp, WEFT_RETAKE_ASLEEP);
	} else if (!preempt_possible() || a_load_relaxed(&mp->no_sigstack)) {
		plan_take(pp, mp, WEFT_RETAKE_OFF);
	} else if (preempt_send(mp)) {
		w->tries++;
		w->cpu = os_thread_cpu_ns(m_tid(mp));
		next_step(w, SIGNALLED);
	} else {
		/* Its thread has ended since the M was read, so it has no P. */
		w->step = FINE;
	}
}

/* Some refusals are transient: it was in libc just then. */
static bool
worth_another(const struct p_snapshot *w, int why)
{
	return w->tries < SIGNAL_TRIES && why >= WEFT_RETAKE_RUNTIME &&
	    why != WEFT_RETAKE_STACK && why != WEFT_RETAKE_REALTIME;
}

/*
 * The signal was not handled because the kernel does not run the thread: other
 * threads have the CPU, maybe of other processes. Another thread with its P
 * would have to wait, too, and be one more. But not for ever: and if an urgent
 * goroutine waits, not for long, since a thread that wakes up is scheduled
 * sooner. (A goroutine that was paused before will be paused when it runs:
 * then another thread does not pay.)
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
		/* The next round may be late, beside busy threads. */
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
 * Goroutines that cannot be moved hold what others wait for, the more of them
 * there are: their slices are shorter. So are those of children that their
 * spawner has let run (spawn.c).
 */
static int64_t
slice_of(struct p *pp, struct m *mp)
{
	uint32_t procs = a_load_relaxed(&sched.procs), n;
	int64_t least = mon.slice < slice_min ? mon.slice : slice_min;

	if (a_load_relaxed(&pp->spawners_wait))
		return least;
	if (!a_load_relaxed(&mp->unmovable) && preempt_moves())
		return mon.slice;
	n = a_load_relaxed(&sched.n_paused) / procs + 1;
	return mon.slice / n > least ? mon.slice / n : least;
}

/* Does a goroutine wait for this P, or the world for its stop? */
static bool
wanted(struct p *pp)
{
	return mon.always || mon.saturated || a_load_relaxed(&sched.stopping) ||
	    !runq_empty(&pp->q);
}

/* A blocking call: its P can be retaken without a signal. */
static void
check_call(struct p *pp, struct m *mp)
{
	struct p_snapshot *w = &pp->snapshot;
	int64_t limit = wanted(pp) ? ROUND_MIN : ROUND_MAX;

	/* Many short calls in a row are one slice: it yields after this one. */
	if (w->step == FINE && mon.now - w->since >= mon.slice && wanted(pp))
		request_preempt(w, mp);
	if (mon.now - w->call_since >= limit)
		plan_take(pp, mp, WEFT_RETAKE_CALL);
	else
		wake_no_later(w->call_since + limit);
}

/*
 * Is its thread blocked in the kernel? Reading /proc costs some microseconds:
 * it is done only if the thread has not computed since the last round, and
 * then ever less often, for the thread may also just wait for a CPU.
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
	int64_t over = w->since + slice_of(pp, mp);

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
	if (mon.urgent && !fair_runs_urgent(&pp->fair) &&
	    (!mon.oldest || w->since < mon.oldest->snapshot.since))
		mon.oldest = pp;
	if (mon.now >= over && a_load_relaxed(&pp->spawners_wait))
		fair_set_due(&pp->fair, FAIR_RING);	/* it is there */
	if (mon.now >= over || w->step != FINE)
		escalate(pp, mp);
	else
		wake_no_later(over);
}

/* True if it runs the same goroutine as in the last round. */
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
		/* The request was for the goroutine before this one. */
		if (step != FINE)
			a_store_relaxed(&mp->preempt_req, 0);
		wake_no_later(mon.now +
		    (mon.urgent ? short_slice : slice_of(pp, mp)));
	} else if (a_load_relaxed(&mp->in_call)) {
		check_call(pp, mp);
	} else if (!a_load_relaxed(&mp->inside)) {
		check_slice(pp, mp);
	}
	mon.n_stuck += mon.now - w->since >= mon.slice && !runq_empty(&pp->q);
	/* One whose P could not be retaken has another slice, and is still to
	 * yield: its next checkpoint must see that. */
	mon.n_asked += w->step != FINE || a_load_relaxed(&mp->preempt_req);
}

/* An urgent goroutine waits: the one that has run longest is stopped. (Not
 * another urgent one on a P that shares.) */
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
 * It runs a goroutine without a P, outside. A guess: it runs meanwhile. One
 * that was signalled since has noticed the loss of its P, and noted it.
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
 * perhaps it can be now. If so, the goroutine is queued like others, and does
 * not compete with them any longer.
 */
static bool
computes_detached(struct m *mp)
{
	return runs_detached(mp) && mp->taken_why > WEFT_RETAKE_REGION &&
	    os_thread_blocked(m_tid(mp)) == 0;
}

/*
 * An M that lost its P since it blocked, or was expected to: it computes. Its
 * CPU clock says so if it has half of a CPU. On a busy machine it may have
 * less: then it is enough that it ran, and was not asleep, in two looks in a
 * row.
 */
static bool
woke_detached(struct m *mp)
{
	int64_t cpu, was = mp->detached_cpu;
	bool ran, ran_before = mp->detached_ran;

	mp->detached_ran = false;
	if (!a_load_relaxed(&mp->place_key) &&
	    (!runs_detached(mp) || mp->taken_why != WEFT_RETAKE_ASLEEP)) {
		mp->detached_cpu = 0;
		return false;
	}
	cpu = os_thread_cpu_ns(m_tid(mp));
	mp->detached_cpu = cpu;
	if (was <= 0 || cpu <= was)
		return false;
	if (cpu - was > ROUND_MAX / 2)
		return true;
	ran = os_thread_blocked(m_tid(mp)) == 0;
	mp->detached_ran = ran;
	return ran && ran_before;
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
	    a_load_relaxed(&sched.n_detached[DETACHED_BLOCKED])) ||
	    !preempt_possible())
		return;
	if (mon.now >= mon.recall_at) {
		mon.recall_at = mon.now + ROUND_MAX;
		m_each(retry_detached, NULL);
	}
	wake_no_later(mon.recall_at);
}

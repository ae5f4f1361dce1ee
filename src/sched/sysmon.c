/* SPDX-License-Identifier: MIT */
/*
 * The monitor: a thread of its own, without a P, that looks at all Ps and sees
 * to it that none is stuck with an M that does not come back.
 *
 * It looks every 20 us while there was something to do, and doubles that up to
 * 10 ms while there was not. Each time:
 *
 *   - no P is idle, or no M is: it runs the timers that are due, and sleeps no
 *     longer than until the next (else an idle M waits for them: alarm.c);
 *   - no M waits for the network, and no P looks there: it does;
 *   - an M in an announced call loses its P at the second look if others wait
 *     for it, and after 10 ms anyway;
 *   - a goroutine whose *slice* is over, 10 ms, or 0.5 ms if somebody waits
 *     whom a timer woke, is dealt with in steps, if others wait:
 *
 *	FINE -> ASKED	it shall let others run at its next call (if somebody
 *			is urgent the next step follows at once)
 *	  -> SIGNALLED	it did not: the signal, if its thread is awake. Asleep:
 *			the P is taken, and no signal sent
 *	  -> (taken)	the signal's verdict was negative, or too slow
 *
 *   - those who were taken their P because they could not be preempted then
 *     are tried again, every 10 ms;
 *   - free stacks and cold ones are given back, once a second.
 *
 * If all Ps have been idle for a while it sleeps until one is used (*deep*): an
 * idle program makes no system calls. Who takes an idle P looks whether it is
 * deep asleep, the monitor looks whether a P is used after it said so, under
 * one lock.
 *
 * It is the only one that takes Ps: see retake.h.
 */
#include "sysmon.h"

#include <errno.h>

#include "alarm.h"
#include "cool.h"
#include "fatal.h"
#include "netpoll.h"
#include "preempt.h"
#include "sched.h"
#include "stall.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

enum { STACK_BYTES = 64 * 1024, TAKE_MAX = 64 };
enum { FINE, ASKED, SIGNALLED };	/* steps */

static const int64_t round_min = 20 * US;
static const int64_t round_max = 10 * MS;
static const int64_t round_waiting = 1 * MS;	/* ... if others wait */
static const int64_t round_slow = 200 * US;	/* too long for a hint */
static const int64_t step_ns = 20 * US;		/* between two steps */
static const int64_t answer_ns = 100 * US;	/* ... after the signal: seldom
						 * is there more to do */
static const int64_t verdict_ns = 200 * US;	/* if somebody is urgent, */
static const int64_t verdict_max = 2 * MS;	/* ... for the handler */
static const int64_t starve_short = 1 * MS;	/* ... or for a CPU, if */
static const int64_t starve_max = 20 * MS;	/* ... urgent, and if not */
static const int64_t short_slice = 500 * US;
static const int64_t linger = 50 * MS;		/* idle before deep sleep */
static const int64_t cool_ns = 1000 * MS;
static const int64_t listen_ns = 1 * MS;	/* after a P has looked */
static const int64_t rough_ns = 20 * MS;
enum { SIGNAL_TRIES = 3 };

struct sysmon_state sysmon = { .until = { (uint64_t)NEVER_NS } };

static struct note note;	/* it sleeps here */

/* The monitor's own. */
static struct {
	int64_t slice;
	bool always;		/* slices end whether others wait or not */
	int64_t round;		/* how long it sleeps between two looks */
	int64_t busy_at;	/* when a P was last seen in use */
	int64_t recall_at;	/* when to look at those without a P */
	int64_t cool_at;
	bool cooling;		/* there may be more to give back */
	uint64_t verified;	/* sched.idle_gen when descriptors were */
	uint64_t looked;	/* netpoll.looked when we last looked */
	uint64_t preempted;	/* how often somebody was, */
	int64_t rough_at;	/* ... and when that was last seen */
	bool was_stuck;		/* a P was, at the last look */
	/* of this look */
	int64_t now, sooner;	/* sleep no longer than until then */
	bool crowded;		/* no P is idle, and something is queued */
	bool waiting;		/* something is queued at a P in use */
	uint32_t n_stuck;	/* Ps that did not come to what they have */
	bool urgent, acted;
	bool listen;		/* sleeps in the poller */
	uint32_t n_asked, n_take;
	struct retake_try take[TAKE_MAX];
	struct p *oldest;	/* has run longest, for who is urgent */
} mon;

static void
no_later_than(int64_t when)
{
	if (when < mon.sooner)
		mon.sooner = when;
}

/* ---- one P ---- */

/*
 * Is there an M for the next P that is taken? If not, one is wanted, and
 * *later says whether it can be had then.
 */
static bool
thread_to_be_had(bool *later)
{
	bool yes;

	lock_take(&sched.lock);
	yes = sched.n_idle_m > mon.n_take || pin_is_first();
	*later = !yes && sched.n_m < sched.max_m;
	lock_drop(&sched.lock);
	if (*later)
		m_want();
	return yes;
}

static void
plan_take(struct p *pp, struct m *mp, int why)
{
	bool computes = why > WEFT_TAKEN_ASLEEP, later = false;

	if (mon.n_take == TAKE_MAX)
		return;
	/* A stop of the world needs no thread for it. */
	if (!a_load_relaxed(&sched.stopping) &&
	    ((computes && a_load_relaxed(&sched.n_off[OFF_LOOSE]) +
	    mon.n_take >= sched.max_loose) || !thread_to_be_had(&later))) {
		if (later) {
			no_later_than(mon.now + step_ns);
			return;
		}
		stall_count(&stalls.capped);
		/* It has another slice. */
		pp->watch.step = FINE;
		pp->watch.since = pp->watch.call_since = mon.now;
		return;
	}
	mon.take[mon.n_take++] = (struct retake_try){ pp, mp, why };
}

static void
next_step(struct plook *w, uint8_t step)
{
	w->step = step;
	w->at = mon.now;
	no_later_than(mon.now + (step == SIGNALLED ? answer_ns : step_ns));
}

static void
ask(struct plook *w, struct m *mp)
{
	a_store_relaxed(&mp->asked, 1);
	stall_count(&stalls.asked);
	w->tries = 0;
	next_step(w, ASKED);
}

/* It did not let others run. Asleep, or else the signal. */
static void
press(struct p *pp, struct m *mp)
{
	struct plook *w = &pp->watch;

	if (os_thread_asleep(m_tid(mp)) == 1) {
		plan_take(pp, mp, WEFT_TAKEN_ASLEEP);
	} else if (!preempt_possible()) {
		plan_take(pp, mp, WEFT_TAKEN_OFF);
	} else if (preempt_send(mp)) {
		w->tries++;
		w->cpu = os_thread_cpu_ns(m_tid(mp));
		next_step(w, SIGNALLED);
	} else {
		plan_take(pp, mp, WEFT_TAKEN_OFF);
	}
}

/* Some refusals are of a moment: it was in libc just then. */
static bool
worth_another(const struct plook *w, int why)
{
	return w->tries < SIGNAL_TRIES && why >= WEFT_TAKEN_RUNTIME &&
	    why != WEFT_TAKEN_STACK;
}

/*
 * The signal was not handled because the kernel does not let the thread run:
 * others have the CPU, maybe of other processes. Another thread with its P
 * would have to wait, too, and be one more. But not for ever: and if somebody
 * is urgent, not for long, since a thread that begins is sooner in turn.
 */
static bool
starved(const struct plook *w, struct m *mp)
{
	int64_t most = mon.urgent ? starve_short : starve_max;

	return mon.now - w->at < most && w->cpu >= 0 &&
	    os_thread_cpu_ns(m_tid(mp)) - w->cpu < step_ns;
}

static void
judge(struct p *pp, struct m *mp)
{
	struct plook *w = &pp->watch;
	/* pairs with refuse */
	uint32_t v = a_load_acq(&mp->verdict);

	if (v == VERDICT_SENT) {
		if (mon.now - w->at >=
		    (mon.urgent ? verdict_ns : verdict_max) &&
		    !starved(w, mp))
			plan_take(pp, mp, WEFT_TAKEN_LATE);
		else
			no_later_than(mon.now + answer_ns);
	} else if (v >= VERDICT_REFUSED) {
		a_store_relaxed(&mp->verdict, VERDICT_IDLE);
		if (worth_another(w, (int)(v - VERDICT_REFUSED)))
			press(pp, mp);
		else
			plan_take(pp, mp, (int)(v - VERDICT_REFUSED));
	} else {
		w->step = FINE;		/* preempted, and back again */
	}
}

static void
deal_with(struct p *pp, struct m *mp)
{
	struct plook *w = &pp->watch;

	if (w->step == FINE) {
		ask(w, mp);
		/* Our own next turn may be late, beside busy threads. */
		if (mon.urgent)
			press(pp, mp);
	} else if (mon.now - w->at < step_ns) {
		no_later_than(w->at + step_ns);
	} else if (w->step == ASKED) {
		press(pp, mp);
	} else {
		judge(pp, mp);
	}
}

/* Does anybody wait for this P? */
static bool
wanted(struct p *pp)
{
	return mon.always || mon.crowded || a_load_relaxed(&sched.stopping) ||
	    !runq_empty(&pp->q);
}

/* An announced call: nothing need be asked. */
static void
look_at_call(struct p *pp, struct m *mp)
{
	struct plook *w = &pp->watch;
	int64_t limit = wanted(pp) ? round_min : round_max;

	/* Many short ones in a row are one slice: it shall wait when back. */
	if (w->step == FINE && mon.now - w->since >= mon.slice && wanted(pp))
		ask(w, mp);
	if (mon.now - w->call_since >= limit)
		plan_take(pp, mp, WEFT_TAKEN_CALL);
	else
		no_later_than(w->call_since + limit);
}

static void
look_at_slice(struct p *pp, struct m *mp)
{
	struct plook *w = &pp->watch;
	int64_t over = w->since + mon.slice;

	if (a_load_relaxed(&sched.stopping))
		over = mon.now;
	if (!wanted(pp)) {
		a_store_relaxed(&mp->asked, 0);
		w->step = FINE;
		return;
	}
	if (mon.urgent && (!mon.oldest || w->since < mon.oldest->watch.since))
		mon.oldest = pp;
	if (mon.now >= over || w->step != FINE)
		deal_with(pp, mp);
	else
		no_later_than(over);
}

/* True if it does the same as when we last looked. */
static bool
same_as_before(struct plook *w, struct p *pp, struct m *mp)
{
	uint64_t tick = a_load_relaxed(&pp->stats.switches) +
	    a_load_relaxed(&pp->stats.yields);
	uint64_t calls = a_load_relaxed(&mp->calls);
	bool same = w->mp == mp && w->tick == tick;

	if (!same) {
		w->since = mon.now;
		w->step = FINE;
	}
	if (!same || w->calls != calls)
		w->call_since = mon.now;
	w->mp = mp;
	w->tick = tick;
	w->calls = calls;
	return same;
}

static void
look_at(struct p *pp)
{
	/* pairs with m_acquire */
	struct m *mp = a_load_acq(&pp->mp);
	struct plook *w = &pp->watch;
	uint8_t step = w->step;

	if (!mp) {
		w->mp = NULL;
		w->step = FINE;
		return;
	}
	mon.busy_at = mon.now;
	mon.waiting |= fair_watch(pp, m_tid(mp), mon.was_stuck,
	    mon.now, mon.slice);
	if (!same_as_before(w, pp, mp)) {
		/* What was asked of the last goroutine is not of this one. */
		if (step != FINE)
			a_store_relaxed(&mp->asked, 0);
		no_later_than(mon.now +
		    (mon.urgent ? short_slice : mon.slice));
	} else if (a_load_relaxed(&mp->in_call)) {
		look_at_call(pp, mp);
	} else if (!a_load_relaxed(&mp->inside)) {
		look_at_slice(pp, mp);
	}
	mon.n_stuck += mon.now - w->since >= mon.slice && !runq_empty(&pp->q);
	mon.n_asked += w->step != FINE;
}

/* ---- all of them ---- */

/* Somebody whom a timer woke waits: the one that has run longest must go. */
static void
make_way(void)
{
	struct p *pp = mon.oldest;
	struct m *mp = pp ? pp->watch.mp : NULL;
	int64_t least = short_slice;

	if (!mp || pp->watch.step != FINE)
		return;
	if (a_load_relaxed(&pp->fair.share) &&
	    least < (int64_t)a_load_relaxed(&pp->fair.between_ns))
		least = (int64_t)a_load_relaxed(&pp->fair.between_ns);
	if (mon.now - pp->watch.since >= least)
		deal_with(pp, mp);
	else
		no_later_than(pp->watch.since + least);
}

/*
 * An M whose P was taken since its goroutine could not be preempted just then,
 * and which has not called us since: perhaps it can be now. If so, it queues
 * up like others, and does not compete with them any longer.
 */
static void
recall(struct m *mp, void *arg)
{
	(void)arg;
	/* pairs with rt_enter_slow */
	if (a_load_acq(&mp->retake) == RETAKE_TAKEN &&
	    mp->taken_why > WEFT_TAKEN_REGION &&
	    os_thread_asleep(m_tid(mp)) == 0)
		preempt_send(mp);
}

static void
recall_loose(void)
{
	if (!a_load_relaxed(&sched.n_off[OFF_LOOSE]) || !preempt_possible())
		return;
	if (mon.now >= mon.recall_at) {
		mon.recall_at = mon.now + round_max;
		m_each(recall, NULL);
	}
	no_later_than(mon.recall_at);
}

/* A thread was refused before: perhaps now. */
static void
feed(void)
{
	if (!a_load_relaxed(&sched.starved))
		return;
	lock_take(&sched.lock);
	a_store_relaxed(&sched.starved, 0);
	lock_drop(&sched.lock);
	idle_wake_if_work();
	/* The thread may have been wanted for watching timers only. */
	alarm_announce(alarm_next());
}

static void
set_attention(void)
{
	bool any = mon.n_asked || a_load_relaxed(&sched.n_off[OFF_ASLEEP]) ||
	    a_load_relaxed(&sched.n_off[OFF_LOOSE]);

	if (any == !!(a_load_relaxed(&attention) & ATTEND_MONITOR))
		return;
	if (any)
		a_or_relaxed(&attention, ATTEND_MONITOR);
	else
		a_and_relaxed(&attention, ~(uint32_t)ATTEND_MONITOR);
}

/*
 * Nobody else waits for timers: no P is idle, or no M is (each is pinned, or
 * no thread was to be had).
 */
static bool
timers_are_ours(void)
{
	/* sc: pairs with alarm_announce, and with alarm_watch */
	return !a_load_sc(&sched.n_idle_p) ||
	    (int64_t)a_load_sc(&sched.watch_until) == NEVER_NS;
}

/*
 * Nobody else waits for the network: no P is idle, or no M watches for it. (A
 * watcher that finds no P idle leaves the poller to us: alarm.c.)
 */
static bool
network_is_ours(void)
{
	/* sc: pairs with get_in */
	return netpoll_on() && !a_load_sc(&netpoll.sleeper);
}

/*
 * If a P has looked there since we last did, they see to it themselves. If
 * not we look, and then listen (sleep_until), until one does.
 */
static void
look_at_network(void)
{
	uint64_t looked = a_load_relaxed(&netpoll.looked);

	bool ours = network_is_ours();

	mon.listen = ours && looked == mon.looked;
	mon.looked = looked;
	if (mon.listen)
		netpoll_fetch();
	else if (ours)
		no_later_than(mon.now + listen_ns);
}

/* Goroutines were made to let others run, not long ago. */
static void
set_rough(void)
{
	uint64_t preempted = a_load_relaxed(&stalls.preempted);
	bool rough;

	if (preempted != mon.preempted || mon.n_take)
		mon.rough_at = mon.now;
	mon.preempted = preempted;
	rough = mon.now - mon.rough_at < rough_ns;
	if (rough != !!a_load_relaxed(&netpoll.rough))
		a_store_relaxed(&netpoll.rough, rough);
}

static void
look_around(void)
{
	/* sc: pairs with world_resize: so many Ps are there */
	uint32_t procs = a_load_sc(&sched.procs);
	/* An idle P that no thread is to be had for helps nobody. */
	bool full = a_load_relaxed(&sched.n_idle_p) == 0 ||
	    a_load_relaxed(&sched.starved);

	mon.acted = mon.waiting = false;
	mon.was_stuck = mon.n_stuck > 0;
	mon.n_asked = mon.n_take = mon.n_stuck = 0;
	mon.oldest = NULL;
	if (timers_are_ours())
		alarm_run_all();
	look_at_network();
	mon.crowded = full && work_anywhere();
	mon.urgent = full && globq_urgent(&sched.globq);
	for (uint32_t i = 0; i < procs; i++)
		look_at(p_at(i));
	make_way();
	set_rough();
	set_attention();
	if (retake_try(mon.take, mon.n_take))
		mon.acted = true;
	set_attention();
	recall_loose();
	feed();
}

/* ---- sleeping ---- */

static bool
all_idle(void)
{
	return a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs);
}

/* How often a P has left the idle list; *idle: all are there. */
static uint64_t
times_used(bool *idle)
{
	uint64_t gen;

	lock_take(&sched.lock);
	*idle = all_idle();
	gen = sched.idle_gen;
	lock_drop(&sched.lock);
	return gen;
}

/*
 * Descriptors that are waited for must be looked after: somebody has begun to
 * wait, or a goroutine has run, which may have closed one behind our back.
 */
static bool
verify_due(void)
{
	bool idle;

	return netpoll_on() && (netpoll_verify_due() ||
	    times_used(&idle) != mon.verified || !idle);
}

static void
verify(void)
{
	bool idle;
	uint64_t gen = times_used(&idle);

	if (verify_due() && !netpoll_verify() && idle)
		mon.verified = gen;
}

/* Gives memory back now and then. */
static void
cool_down(void)
{
	if (mon.now < mon.cool_at)
		return;
	if (mon.busy_at >= mon.cool_at - cool_ns)
		cool_again();
	mon.cool_at = mon.now + cool_ns;
	mon.cooling = cool_some();
	verify();
	os_asleep_forget(false);
}

/* Somebody must see to timers or the network, and nobody else does. */
static bool
is_needed(void)
{
	return (timers_are_ours() && alarm_next() != NEVER_NS) ||
	    (network_is_ours() && !mon.listen);
}

/*
 * True if it may sleep until it is woken. What it has seen is asked once more
 * under the lock: in between a P may have been used and be idle again, and
 * have left a timer behind, or nobody who watches. From then on who uses one
 * wakes it.
 */
static bool
fall_asleep(void)
{
	bool idle;

	if (mon.now - mon.busy_at < linger || mon.cooling || verify_due() ||
	    is_needed())
		return false;
	/* Who ended, or went to sleep, last may have left nobody who asks. */
	deadlock_check();
	lock_take(&sched.lock);
	a_store_sc(&sysmon.deep, 1);	/* sc: pairs with sysmon_asleep */
	idle = all_idle() && !a_load_relaxed(&sched.starved) &&
	    !netpoll_verify_due() && !is_needed() &&
	    (!netpoll_on() || sched.idle_gen == mon.verified);
	if (!idle)
		a_store_sc(&sysmon.deep, 0);	/* sc: the same */
	lock_drop(&sched.lock);
	return idle;
}

/* Until when it sleeps, published before the last look at the timers. */
static int64_t
bedtime(int64_t until)
{
	int64_t next;

	a_store_relaxed(&sysmon.slow, until - mon.now > round_slow);
	/* sc: pairs with sysmon_alarm */
	a_store_sc(&sysmon.until, (uint64_t)until);
	if (!timers_are_ours())
		return until;
	next = alarm_next();
	return next < until ? next : until;
}

static void
sleep_for(int64_t ns)
{
	struct glist woken = {0};

	if (!mon.listen) {
		note_wait(&note, ns);
		return;
	}
	netpoll_sleep(&note, ns, &woken);
	if (woken.n) {
		sched_ready_urgent(&woken);
		netpoll_fired();
	}
}

static void
nap(void)
{
	int64_t until = mon.now + mon.round, left;

	if (mon.sooner < until)
		until = mon.sooner;
	if ((mon.cooling || verify_due()) && mon.cool_at < until)
		until = mon.cool_at;
	left = os_left_ns(bedtime(until));
	if (left > 0)
		sleep_for(left);
}

static void
rest(void)
{
	int64_t most = mon.waiting ? round_waiting : round_max;

	mon.round = mon.acted ? round_min : mon.round * 2;
	if (mon.round > most || mon.busy_at != mon.now)
		mon.round = most;	/* or nobody has a P */
	if (fall_asleep()) {
		a_store_relaxed(&sysmon.slow, 1);
		os_asleep_forget(true);
		sleep_for(FOREVER);
		/* sc: pairs with sysmon_asleep */
		a_store_sc(&sysmon.deep, 0);
		mon.round = round_min;
	} else {
		nap();
	}
	a_store_relaxed(&sysmon.slow, 0);
}

static void *
sysmon_main(void *arg)
{
	(void)arg;
	os_sigmask_set(~UINT64_C(0));
	os_thread_precise_sleep();
	mon.round = round_min;
	mon.busy_at = os_now_ns();
	while (!(a_load_relaxed(&sched.stopping) & STOP_ENDED)) {
		mon.now = os_now_ns();
		mon.sooner = NEVER_NS;
		look_around();
		cool_down();
		rest();
	}
	m_halt();
	return NULL;
}

void
sysmon_wake(void)
{
	netpoll_poke(&note);
}

static bool started;

void
sysmon_forked(void)
{
	started = false;
	os_asleep_forget(true);
}

int
sysmon_start(int64_t slice_us)
{
	int err;

	mon.slice = slice_us ? slice_us * US : round_max;
	mon.always = slice_us != 0;
	if (started)
		return 0;
	err = os_thread_start(sysmon_main, NULL, STACK_BYTES);
	started = err == 0;
	return err;
}

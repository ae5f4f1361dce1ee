/* SPDX-License-Identifier: MIT */
/*
 * The monitor: a thread of its own, without a P, that checks all Ps and sees
 * to it that none is stuck with an M that does not yield.
 *
 * It works in rounds: every 20 us while it finds something to do; if not, the
 * interval doubles, up to 1 ms while goroutines wait and to 10 ms while none
 * does. In each round:
 *
 *   - if no P or no M is idle it runs the timers that are due, and sleeps no
 *     longer than until the next (else the watcher does so: expire.c); but
 *     while all Ps switch often, and so run their timers themselves, only those
 *     that are 0.1 ms late: it would take the locks of the heaps from them,
 *     and what it wakes is urgent and cannot go to a P's own queue;
 *   - if no M sleeps in the poller and no P polls, it polls;
 *   - an M in a blocking call loses its P in the second round if others wait
 *     for it, and after 10 ms anyway;
 *   - a goroutine whose *slice* is over, 10 ms, or 0.5 ms if an urgent one
 *     waits, is stopped in steps, if others wait: stuck.c;
 *   - detached goroutines that could not be preempted when their P was retaken
 *     are signalled again, every 10 ms;
 *   - pages of free stacks and of long waiters are given back, descriptors
 *     verified, goroutines that wait marked, and a look at the CPUs that the
 *     process may use is asked for (follow.c), once a second.
 *
 * If all Ps have been idle for 50 ms it sleeps until one is used (*deep*): an
 * idle program makes no system calls. A thread that takes an idle P checks
 * whether the monitor is in deep sleep, the monitor checks whether a P is in
 * use after it has set `deep`, both under sched.lock.
 *
 * Only the monitor retakes Ps: see retake.h.
 */
#include "monitor.h"

#include <errno.h>

#include "deadlock.h"
#include "expire.h"
#include "fatal.h"
#include "follow.h"
#include "idle.h"
#include "monitor_state.h"
#include "netpoll.h"
#include "preempt_counts.h"
#include "scavenge.h"
#include "wait_mark.h"

enum { STACK_BYTES = 64 * 1024 };

static const int64_t round_slow = 200 * US;	/* too long for a hint */
static const int64_t deep_after_ns = 50 * MS;	/* idle before deep sleep */
static const int64_t scavenge_ns = 1000 * MS;
static const int64_t listen_ns = 1 * MS;	/* after a P has polled */
static const int64_t hogs_seen_ns = 20 * MS;
static const int64_t sleepers_ns = 1000 * MS;
static const int64_t slack_ns = 100 * US;	/* of timers, see slack */
static const int64_t switch_ns = 20 * US;	/* a P switches as often */

enum {
	SWITCHES = 4,		/* ... and so many times more in a round, */
	FAST_ROUNDS = 4		/* ... in so many rounds in a row */
};

struct monitor_state monitor_state = { .until = { (uint64_t)NEVER_NS } };

static struct note note;	/* it sleeps here */

struct monitor mon;

/* ---- a round ---- */

/* A thread could not be made before: tries again. */
static void
retry_no_thread(void)
{
	if (!a_load_relaxed(&sched.no_thread))
		return;
	lock_take(&sched.lock);
	a_store_relaxed(&sched.no_thread, 0);
	lock_drop(&sched.lock);
	idle_wake_if_work();
	/* The thread may have been needed as the watcher only. */
	expire_notify(expire_next());
}

static void
set_attention_bit(uint32_t bit, bool on)
{
	if (on == !!(a_load_relaxed(&attention) & bit))
		return;
	if (on)
		a_or_relaxed(&attention, bit);
	else
		a_and_relaxed(&attention, ~bit);
}

static void
set_attention(void)
{
	bool asleep = a_load_relaxed(&sched.n_detached[DETACHED_BLOCKED]) != 0;

	set_attention_bit(ATTEND_MONITOR, mon.n_asked || asleep ||
	    a_load_relaxed(&sched.n_detached[DETACHED_RUNNING]));
	set_attention_bit(ATTEND_SLEEPERS, asleep || (mon.slept_at &&
	    mon.now - mon.slept_at < sleepers_ns));
}

static bool
takes_sleepers(void)
{
	for (uint32_t i = 0; i < mon.n_take; i++)
		if (mon.retakes[i].why == WEFT_RETAKE_ASLEEP)
			return true;
	return false;
}

/*
 * No M waits for timers: no P is idle, or there is no watcher (each M is
 * pinned, or no thread could be made).
 */
static bool
must_run_timers(void)
{
	/* sc: pairs with expire_notify, and with expire_watch */
	return !a_load_sc(&sched.n_idle_p) ||
	    (int64_t)a_load_sc(&sched.watch_until) == NEVER_NS;
}

/*
 * No M waits for the network: no P is idle, or there is no watcher. (A watcher
 * that finds no P idle leaves the poller to us: expire.c.)
 */
static bool
must_poll(void)
{
	/* sc: pairs with enter_poller */
	return netpoll_on() && !a_load_sc(&netpoll.sleeper);
}

/*
 * If a P has polled since the last round, the Ps poll for themselves. If not
 * the monitor polls, and then sleeps in the poller (sleep_for) until one does.
 */
static void
poll_network(void)
{
	uint64_t looked = a_load_relaxed(&netpoll.last_poll);

	bool ours = must_poll();

	mon.listen = ours && looked == mon.last_poll;
	mon.last_poll = looked;
	if (mon.listen)
		netpoll_poll_no_p();
	else if (ours)
		wake_no_later(mon.now + listen_ns);
}

/* Were goroutines preempted or paused, or Ps to be retaken, recently? */
static void
update_hogs_seen(void)
{
	uint64_t preempted = a_load_relaxed(&preempt_stats.preempted) +
	    a_load_relaxed(&preempt_stats.pauses);
	bool hogs_seen;

	if (preempted != mon.preempted || mon.n_take)
		mon.hogs_seen_at = mon.now;
	mon.preempted = preempted;
	hogs_seen = mon.now - mon.hogs_seen_at < hogs_seen_ns;
	if (hogs_seen != !!a_load_relaxed(&netpoll.hogs_seen))
		a_store_relaxed(&netpoll.hogs_seen, hogs_seen);
}

/* Has every P switched often since the last round? Before stuck_check. */
static bool
all_switch(uint32_t procs)
{
	uint64_t least = SWITCHES +
	    (uint64_t)((mon.now - mon.last) / switch_ns);

	for (uint32_t i = 0; i < procs; i++)
		if (a_load_relaxed(&p_at(i)->stats.switches) -
		    p_at(i)->snapshot.tick < least)
			return false;
	return true;
}

/* How late a timer may be before the monitor runs it. */
static int64_t
slack(void)
{
	return mon.fast_rounds >= FAST_ROUNDS ? slack_ns : 0;
}

static void
run_timers(uint32_t procs)
{
	if (!all_switch(procs))
		mon.fast_rounds = 0;
	else if (mon.fast_rounds < FAST_ROUNDS)
		mon.fast_rounds++;
	mon.last = mon.now;
	if (must_run_timers() && expire_next() <= mon.now - slack())
		expire_run_all();
}

static void
check_all(void)
{
	/* sc: pairs with world_resize: p_at of each is there */
	uint32_t procs = a_load_sc(&sched.procs);
	/* An idle P is of no use if no M is available for it. */
	bool full = a_load_relaxed(&sched.n_idle_p) == 0 ||
	    a_load_relaxed(&sched.no_thread);

	mon.acted = mon.waiting = false;
	mon.was_stuck = mon.n_stuck > 0;
	mon.n_asked = mon.n_take = mon.n_stuck = 0;
	mon.oldest = NULL;
	run_timers(procs);
	poll_network();
	mon.saturated = full && idle_any_work();
	mon.urgent = full && globq_urgent(&sched.globq);
	for (uint32_t i = 0; i < procs; i++)
		stuck_check(p_at(i));
	stuck_preempt_oldest();
	update_hogs_seen();
	if (takes_sleepers())
		mon.slept_at = mon.now;
	set_attention();
	if (retake_try(mon.retakes, mon.n_take))
		mon.acted = true;
	set_attention();
	stuck_retry_detached();
	retry_no_thread();
}

/* ---- sleeping ---- */

static bool
all_idle(void)
{
	return a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs);
}

/* How often a P has left the idle list; *idle: all are on it. */
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
 * Descriptors with waiters must be verified: a goroutine has begun to wait, or
 * one has run, which may have closed a descriptor externally.
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

/* Once a second: gives memory back, verifies descriptors. */
static void
maintain(void)
{
	if (mon.now < mon.scavenge_at)
		return;
	if (mon.busy_at >= mon.scavenge_at - scavenge_ns) {
		scavenge_again();
		if (mon.scavenge_at)	/* not at once at the start */
			follow_poke();
	}
	mon.scavenge_at = mon.now + scavenge_ns;
	mon.scavenging = scavenge_some();
	wait_mark_all();
	verify();
	os_thread_blocked_close(false);
}

/* Timers or the network need the monitor. */
static bool
is_needed(void)
{
	return (must_run_timers() && expire_next() != NEVER_NS) ||
	    (must_poll() && !mon.listen);
}

/*
 * True if it may sleep until it is woken. All conditions are checked once more
 * under the lock: in between a P may have been used and be idle again, and
 * have left a timer behind, or no watcher. From then on a thread that takes an
 * idle P wakes the monitor.
 */
static bool
try_deep_sleep(void)
{
	bool idle;

	if (mon.now - mon.busy_at < deep_after_ns || mon.scavenging ||
	    verify_due() || is_needed() || !wait_mark_all())
		return false;
	/* The thread that ended or parked last may not have checked. */
	deadlock_check();
	lock_take(&sched.lock);
	/* sc: pairs with monitor_asleep */
	a_store_sc(&monitor_state.deep, 1);
	idle = all_idle() && !a_load_relaxed(&sched.no_thread) &&
	    !netpoll_verify_due() && !is_needed() &&
	    (!netpoll_on() || sched.idle_gen == mon.verified);
	if (!idle)
		/* sc: the same */
		a_store_sc(&monitor_state.deep, 0);
	lock_drop(&sched.lock);
	return idle;
}

/*
 * Until when it sleeps, published before the last check of the timers. A timer
 * that is armed later and is due before until - slack() wakes it; for the
 * others it comes in time.
 */
static int64_t
publish_wake_time(int64_t until)
{
	int64_t next;

	a_store_relaxed(&monitor_state.slow, until - mon.now > round_slow);
	/* sc: pairs with monitor_timer_set */
	a_store_sc(&monitor_state.until, (uint64_t)(until - slack()));
	if (!must_run_timers())
		return until;
	next = expire_next();
	return next < until - slack() ? next + slack() : until;
}

static void
sleep_for(int64_t ns)
{
	struct glist woken = {0};

	/* Woken: there is something to do, maybe more than once. */
	if (!mon.listen) {
		if (note_wait(&note, ns) == NOTE_POKED)
			mon.round = ROUND_MIN;
		return;
	}
	netpoll_sleep(&note, ns, &woken);
	if (woken.n) {
		sched_ready_urgent(&woken);
		netpoll_fired();
	}
}

static void
sleep_round(void)
{
	int64_t until = mon.now + mon.round, left;

	if (mon.wake_by < until)
		until = mon.wake_by;
	if ((mon.scavenging || verify_due()) && mon.scavenge_at < until)
		until = mon.scavenge_at;
	left = os_left_ns(publish_wake_time(until));
	if (left > 0)
		sleep_for(left);
}

static void
sleep_until_next(void)
{
	int64_t most = mon.waiting ? ROUND_WAITING : ROUND_MAX;

	mon.round = mon.acted ? ROUND_MIN : mon.round * 2;
	if (mon.round > most || mon.busy_at != mon.now)
		mon.round = most;	/* or no M has a P */
	if (try_deep_sleep()) {
		a_store_relaxed(&monitor_state.slow, 1);
		os_thread_blocked_close(true);
		sleep_for(FOREVER);
		/* sc: pairs with monitor_asleep */
		a_store_sc(&monitor_state.deep, 0);
		mon.round = ROUND_MIN;
	} else {
		sleep_round();
	}
	a_store_relaxed(&monitor_state.slow, 0);
}

static void *
monitor_main(void *arg)
{
	(void)arg;
	self()->monitor = true;
	os_sigmask_set(os_sigmask_all());
	os_thread_precise_sleep();
	os_thread_short_slice();
	mon.round = ROUND_MIN;
	mon.busy_at = os_now_ns();
	while (!(a_load_relaxed(&sched.stopping) & STOP_ENDED)) {
		mon.now = os_now_ns();
		mon.wake_by = NEVER_NS;
		check_all();
		maintain();
		sleep_until_next();
	}
	m_halt();
	return NULL;
}

void
monitor_wake(void)
{
	netpoll_poke(&note);
}

static bool started;

void
monitor_forked(void)
{
	started = false;
	os_thread_blocked_close(true);
}

int
monitor_start(int64_t slice_us)
{
	int err;

	mon.slice = slice_us ? slice_us * US : ROUND_MAX;
	mon.always = slice_us != 0;
	if (started)
		return 0;
	err = os_thread_start(monitor_main, NULL, STACK_BYTES);
	started = err == 0;
	return err;
}

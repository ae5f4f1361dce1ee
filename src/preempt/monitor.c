/* SPDX-License-Identifier: MIT */
/*
 * The monitor: a thread of its own, without a P, that looks at all Ps and sees
 * to it that none is stuck with an M that does not come back.
 *
 * It looks every 20 us while there was something to do, and doubles that up to
 * 1 ms while there was not, but goroutines wait, and up to 10 ms while none
 * does. Each time:
 *
 *   - no P is idle, or no M is: it runs the timers that are due, and sleeps no
 *     longer than until the next (else an idle M waits for them: expire.c);
 *   - no M waits for the network, and no P looks there: it does;
 *   - an M in an announced call loses its P at the second look if others wait
 *     for it, and after 10 ms anyway;
 *   - a goroutine whose *slice* is over, 10 ms, or 0.5 ms if an urgent one
 *     waits, is dealt with in steps, if others wait: stuck.c;
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
#include "monitor.h"

#include <errno.h>

#include "deadlock.h"
#include "expire.h"
#include "fatal.h"
#include "idle.h"
#include "monitor_state.h"
#include "netpoll.h"
#include "preempt_stats.h"
#include "scavenge.h"

enum { STACK_BYTES = 64 * 1024 };

static const int64_t round_slow = 200 * US;	/* too long for a hint */
static const int64_t linger = 50 * MS;		/* idle before deep sleep */
static const int64_t cool_ns = 1000 * MS;
static const int64_t listen_ns = 1 * MS;	/* after a P has looked */
static const int64_t rough_ns = 20 * MS;
static const int64_t sleepers_ns = 1000 * MS;

struct sysmon_state sysmon = { .until = { (uint64_t)NEVER_NS } };

static struct note note;	/* it sleeps here */

struct monitor mon;

/* ---- looking ---- */

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
attend(uint32_t bit, bool on)
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
	bool asleep = a_load_relaxed(&sched.n_off[OFF_ASLEEP]) != 0;

	attend(ATTEND_MONITOR, mon.n_asked || asleep ||
	    a_load_relaxed(&sched.n_off[OFF_LOOSE]));
	attend(ATTEND_SLEEPERS, asleep || (mon.slept_at &&
	    mon.now - mon.slept_at < sleepers_ns));
}

static bool
takes_sleepers(void)
{
	for (uint32_t i = 0; i < mon.n_take; i++)
		if (mon.take[i].why == WEFT_TAKEN_ASLEEP)
			return true;
	return false;
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
 * watcher that finds no P idle leaves the poller to us: expire.c.)
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
	uint64_t preempted = a_load_relaxed(&stalls.preempted) +
	    a_load_relaxed(&stalls.pauses);
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
		stuck_look(p_at(i));
	stuck_make_way();
	set_rough();
	if (takes_sleepers())
		mon.slept_at = mon.now;
	set_attention();
	if (retake_try(mon.take, mon.n_take))
		mon.acted = true;
	set_attention();
	stuck_recall();
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

	/* Woken: there is something to see to, maybe more than once. */
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
	int64_t most = mon.waiting ? ROUND_WAITING : ROUND_MAX;

	mon.round = mon.acted ? ROUND_MIN : mon.round * 2;
	if (mon.round > most || mon.busy_at != mon.now)
		mon.round = most;	/* or nobody has a P */
	if (fall_asleep()) {
		a_store_relaxed(&sysmon.slow, 1);
		os_asleep_forget(true);
		sleep_for(FOREVER);
		/* sc: pairs with sysmon_asleep */
		a_store_sc(&sysmon.deep, 0);
		mon.round = ROUND_MIN;
	} else {
		nap();
	}
	a_store_relaxed(&sysmon.slow, 0);
}

static void *
sysmon_main(void *arg)
{
	(void)arg;
	os_sigmask_set(os_sigmask_all());
	os_thread_precise_sleep();
	os_thread_short_slice();
	mon.round = ROUND_MIN;
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

	mon.slice = slice_us ? slice_us * US : ROUND_MAX;
	mon.always = slice_us != 0;
	if (started)
		return 0;
	err = os_thread_start(sysmon_main, NULL, STACK_BYTES);
	started = err == 0;
	return err;
}

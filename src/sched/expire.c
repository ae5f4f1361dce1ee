/* SPDX-License-Identifier: MIT */
/*
 * Timers fire on time whether their P is busy, idle or gone.
 *
 * A P that runs goroutines checks its own timers whenever it switches; a
 * spinning M checks all of them. While any P is idle one idle M, the
 * *watcher*, sleeps only until the earliest timer of all Ps: so a timer of a P
 * that is stuck in a long computation fires too. When the watcher wakes it
 * takes an idle P and searches as a spinner does.
 *
 * The danger is a timer armed just as the last M goes to sleep. Both sides
 * write first and read second, sequentially consistent, as in idle.c:
 *
 *	the armer (expire_arm)		the parking M
 *	1. publishes the heap's		1. marks its P idle, uncounts
 *	   first time			2. checks all heaps (idle_park)
 *	2. if a P is idle and the	3. publishes until when it sleeps
 *	   watcher sleeps longer	4. checks all heaps again
 *	   than that: pokes it
 *
 * If 1 comes before 4 the watcher sees the timer; else 2 sees the watcher's
 * time and pokes it. If there is no watcher, 2 pokes any idle M, which becomes
 * the watcher; if no M is idle either, it has a new one started, which finds
 * nothing, parks, and watches. An M that spins will park or find work; one
 * that finds work calls expire_notify again (idle_stop_spinning). An M that
 * parks while another one is the watcher makes sure that this one does not
 * sleep too long: the armer may not have poked it because no P was idle.
 *
 * The watcher is woken for work only if no other M is idle.
 *
 * The watcher also waits for the network: it sleeps in the poller, if there is
 * one (netpoll.c), and then there is a watcher even if no timer is armed. But
 * not while no P is idle: then each event would wake it, and all it could do
 * is to queue. Then Ps poll, or the monitor does.
 */
#include "expire.h"

#include "events.h"
#include "fatal.h"
#include "idle.h"
#include "monitor.h"
#include "netpoll.h"
#include "sched.h"

struct timer_heap expire_common = TIMER_HEAP_INIT;

static uint32_t
procs_now(void)
{
	/* sc: pairs with world_resize: p_at of each is there */
	return a_load_sc(&sched.procs);
}

/* Every heap: those of all Ps in use, and the common one. */
#define each_heap(h)							\
	for (uint32_t i_ = 0, n_ = procs_now(); i_ <= n_; i_++)		\
		for (struct timer_heap *h = i_ < n_ ?			\
		    &p_at(i_)->timers : &expire_common; h; h = NULL)

/* ---- firing ---- */

/*
 * A thread that takes goroutines from a heap, and will queue them, is counted
 * in the heap's `firing`. Not in one word for all heaps, which every P that has
 * timers would write.
 */
static bool
runtime_ended(void)
{
	return a_load_relaxed(&sched.stopping) & STOP_ENDED;
}

bool
expire_run(struct timer_heap *h)
{
	struct m *mp = m_self();
	struct glist woken = {0};
	struct p *pp;
	int64_t now;
	bool some;

	if (timer_heap_first(h) == NEVER_NS || runtime_ended())
		return false;
	now = os_now_ns();
	if (timer_heap_first(h) > now)
		return false;
	/* sc: pairs with expire_pending: they leave the heap, not queued yet */
	a_add_sc(&h->firing, 1);
	timer_heap_run(h, now, &woken);
	some = woken.n > 0;
	events_count(TR_TIMERS, woken.n);
	/* While the P shares they must be urgent to have their part. Read once:
	 * outside, a signal may find that the P was retaken, and clear it. */
	pp = mp ? m_p(mp) : NULL;
	if (pp && !a_load_relaxed(&pp->fair.share))
		sched_ready_list(&woken);
	else
		sched_ready_urgent(&woken);
	a_add_sc(&h->firing, -1u);	/* sc: the same */
	return some;
}

bool
expire_run_all(void)
{
	bool some = false;

	each_heap(h)
		some |= expire_run(h);
	return some;
}

/* ---- what is due ---- */

bool
expire_due_slow(struct p *pp)
{
	int64_t first = (int64_t)a_load_relaxed(&pp->timers.first);
	int64_t common = (int64_t)a_load_relaxed(&expire_common.first);
	uint64_t now = cpu_cycles();

	if (now - pp->clock_read_at < cpu_cycles_few_us())
		return false;
	if (common < first)
		first = common;
	if (first <= os_now_ns())
		return true;		/* at each call until they have run */
	pp->clock_read_at = now;
	return false;
}

int64_t
expire_next(void)
{
	int64_t next = NEVER_NS;

	each_heap(h) {
		int64_t first = timer_heap_first(h);

		if (first < next)
			next = first;
	}
	return next;
}

bool
expire_due_any(void)
{
	int64_t next = expire_next();

	return next != NEVER_NS && next <= os_now_ns();
}

/* sc: pairs with expire_run. After the check of the heaps, and of what else a
 * timer takes goroutines from (readable.c): not a load, which could be done
 * earlier. */
static bool
is_firing(struct timer_heap *h)
{
	return a_add_sc(&h->firing, 0) != 0;	/* sc: see above */
}

/* A heap may be fired by a thread without a P while its P is retired: so those
 * of Ps not in use count, too. */
bool
expire_pending(void)
{
	struct p *pp;

	each_heap(h)
		if (timer_heap_first(h) != NEVER_NS && timer_heap_pending(h))
			return true;
	for (uint32_t i = 0; i < PROCS_MAX && (pp = p_at(i)); i++)
		if (is_firing(&pp->timers))
			return true;
	return is_firing(&expire_common);
}

/* ---- arming ---- */

/* The heap to arm a timer in; between begin and end it is not retired. */
static struct timer_heap *
set_begin(struct m *mp, uint32_t *was)
{
	if (!mp)
		return &expire_common;
	*was = rt_enter(mp);
	return m_p(mp) ? &m_p(mp)->timers : &expire_common;
}

/* `earlier` is a result as of timer_heap_add. 0 or -errno. */
static int
set_end(struct m *mp, uint32_t was, int earlier, int64_t when)
{
	if (earlier > 0)
		expire_notify(when);
	if (mp)
		rt_leave(mp, was);
	return earlier < 0 ? earlier : 0;
}

int
expire_try_arm(struct timer *t, int64_t when)
{
	struct m *mp = m_self();
	uint32_t was = 0;
	struct timer_heap *h = set_begin(mp, &was);

	return set_end(mp, was, timer_heap_add(h, t, when), when);
}

int
expire_rearm(struct timer *t, int64_t when, int64_t period, bool *prior)
{
	struct m *mp = m_self();
	uint32_t was = 0;
	struct timer_heap *h = set_begin(mp, &was);

	return set_end(mp, was, timer_heap_set(h, t, when, period, prior),
	    when);
}

noreturn static cold void
fatal_no_memory(void)
{
	fatal("out of memory: no room for a timer");
}

void
expire_arm(struct timer *t, int64_t when)
{
	if (unlikely(expire_try_arm(t, when) != 0))
		fatal_no_memory();
}

void
expire_arm_g(struct g *gp, int64_t when)
{
	struct m *mp = m_self();
	uint32_t was = 0;
	struct timer_heap *h = set_begin(mp, &was);

	if (unlikely(set_end(mp, was, timer_heap_add_g(h, gp, when),
	    when) != 0))
		fatal_no_memory();
}

static cold void
poke_watcher(void)
{
	struct m *mp = NULL;

	lock_take(&sched.lock);
	if (sched.watcher)
		mp = sched.watcher;
	else if (sched.n_idle_m)
		mp = container_of(sched.idle_m.next, struct m, idle);
	if (mp)
		netpoll_poke(&mp->note);
	lock_drop(&sched.lock);
	if (!mp)
		idle_wake();
}

void
expire_poke_watcher(void)
{
	poke_watcher();
}

void
expire_need_watcher(void)
{
	/* sc: pairs with idle_park and idle_sleep */
	if (netpoll_on() && a_load_sc(&sched.n_idle_p) &&
	    !a_load_sc(&netpoll.sleeper))
		poke_watcher();
}

void
expire_notify(int64_t when)
{
	if (when == NEVER_NS)
		return;
	/* sc: pairs with idle_park; the time was published with sc before */
	if (!a_load_sc(&sched.n_idle_p)) {
		monitor_timer_set(when);
		return;
	}
	/* sc: pairs with expire_watch */
	if (when < (int64_t)a_load_sc(&sched.watch_until))
		poke_watcher();
}

/* ---- watching ---- */

void
expire_unwatch(void)
{
	check(lock_held(&sched.lock));
	sched.watcher = NULL;
	/* sc: pairs with expire_notify, which then finds no watcher */
	a_store_sc(&sched.watch_until, (uint64_t)NEVER_NS);
}

/*
 * sched.lock held. This watcher sleeps on its note: no P was idle, and the
 * monitor polled. The M that has just made a P idle takes its place.
 */
static bool
sleeps_on_note(struct m *watcher)
{
	return netpoll_on() &&
	    a_load_relaxed(&netpoll.sleeper) != &watcher->note;
}

/*
 * Publishes until when this M sleeps, if it is the watcher or can become it.
 * If another M is, that one shall not sleep longer. Under the lock, under
 * which m_idle_remove ends the watch of an M that it takes off the list.
 */
static bool
claim_watch(struct m *mp, int64_t until)
{
	bool mine;

	lock_take(&sched.lock);
	if (mp->idle.next && (sched.watcher ? sleeps_on_note(sched.watcher) :
	    until != NEVER_NS || netpoll_on()))
		sched.watcher = mp;
	mine = sched.watcher == mp;
	if (mine)
		/* sc: pairs with expire_notify; the caller checks next */
		a_store_sc(&sched.watch_until, (uint64_t)until);
	else if (sched.watcher &&
	    until < (int64_t)a_load_relaxed(&sched.watch_until))
		netpoll_poke(&sched.watcher->note);
	lock_drop(&sched.lock);
	return mine;
}

bool
expire_watch(struct m *mp, int64_t *until)
{
	int64_t next;

	*until = runtime_ended() ? NEVER_NS : expire_next();
	while (claim_watch(mp, *until)) {
		next = expire_next();
		if (runtime_ended() || next >= *until)
			return true;
		*until = next;
	}
	*until = NEVER_NS;
	return false;
}

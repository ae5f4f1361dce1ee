/* SPDX-License-Identifier: MIT */
/*
 * Timers fire on time whether their P is busy, idle or gone.
 *
 * A P that runs goroutines looks at its own timers whenever it switches; an M
 * that looks for work looks at all of them. While any P is idle one idle M,
 * the *watcher*, sleeps only until the earliest timer of all Ps: so one that
 * belongs to a P stuck in a long computation fires too. When it wakes it takes
 * an idle P and searches as a spinner does.
 *
 * The danger is a timer set just as the last M goes to sleep. Both sides write
 * first and look second, sequentially consistent, as in idle.c:
 *
 *	who sets (expire_arm)		who rests
 *	1. publishes the heap's		1. marks its P idle, uncounts
 *	   first time			2. looks at all heaps (idle_park)
 *	2. if a P is idle and the	3. publishes until when it sleeps
 *	   watcher sleeps longer	4. looks at all heaps again
 *	   than that: pokes it
 *
 * If 1 comes before 4 the watcher sees the timer; else 2 sees the watcher's
 * time and pokes it. If there is no watcher, 2 pokes any idle M, which becomes
 * the watcher; if no M is idle either, it has a new one started, which finds
 * nothing, rests, and watches. If somebody spins, it will rest or find work;
 * one that finds work announces the next timer anew (idle_stop_spinning). An M
 * that rests while another one is the watcher makes sure that that one does
 * not sleep too long: no idle P may have been the reason not to poke it.
 *
 * An M that is the watcher is woken for work only if no other is idle.
 *
 * The watcher also waits for the network: it sleeps in the poller, if there is
 * one (netpoll.c), and then there is a watcher even if no timer is set. But not
 * while no P is idle: then each event would wake it, and all it could do is to
 * queue. Ps look for themselves, or the monitor listens.
 */
#include "expire.h"

#include "fatal.h"
#include "idle.h"
#include "monitor.h"
#include "netpoll.h"
#include "sched.h"

struct timer_heap expire_common = TIMER_HEAP_INIT;

static uint32_t
procs_now(void)
{
	/* sc: pairs with world_resize: so many Ps are there */
	return a_load_sc(&sched.procs);
}

/* Every heap: those of all Ps in use, and the common one. */
#define each_heap(h)							\
	for (uint32_t i_ = 0, n_ = procs_now(); i_ <= n_; i_++)	\
		for (struct timer_heap *h = i_ < n_ ? &p_at(i_)->timers :	\
		    &expire_common; h; h = NULL)

/* ---- firing ---- */

/* Who has taken goroutines from a heap and is about to queue them. */
static a32 firing;

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
	int64_t now;
	bool some;

	if (timer_heap_first(h) == NEVER_NS || runtime_ended())
		return false;
	now = os_now_ns();
	if (timer_heap_first(h) > now)
		return false;
	/* sc: pairs with expire_pending: not in the heap, not queued yet */
	a_add_sc(&firing, 1);
	timer_heap_run(h, now, &woken);
	some = woken.n > 0;
	/* On a P that shares with urgent ones these have their part, too. */
	if (mp && m_p(mp) && !a_load_relaxed(&m_p(mp)->fair.share))
		sched_ready_list(&woken);
	else
		sched_ready_urgent(&woken);
	a_add_sc(&firing, -1u);		/* sc: the same */
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

/* ---- looking ---- */

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
		return true;		/* and again until they are run */
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

bool
expire_pending(void)
{
	each_heap(h)
		if (timer_heap_first(h) != NEVER_NS && timer_heap_pending(h))
			return true;
	/* sc: pairs with expire_run: after the look at the heaps, and at what
	 * else a timer takes goroutines from (readable.c); hence no load */
	return a_add_sc(&firing, 0) != 0;
}

/* ---- setting ---- */

/* The heap to set a timer in; between begin and end it is not retired. */
static struct timer_heap *
set_begin(struct m *mp, uint32_t *was)
{
	if (!mp)
		return &expire_common;
	*was = rt_enter(mp);
	return m_p(mp) ? &m_p(mp)->timers : &expire_common;
}

/* `earlier` is what work/timer_heap.h says of it. 0 or -errno. */
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

	return set_end(mp, was, timer_heap_set(h, t, when, period, prior), when);
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

	if (unlikely(set_end(mp, was, timer_heap_add_g(h, gp, when), when) != 0))
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
	/* sc: pairs with expire_notify, which then finds nobody */
	a_store_sc(&sched.watch_until, (uint64_t)NEVER_NS);
}

/*
 * sched.lock held. This watcher sleeps on its note: no P was idle, and the
 * network was the monitor's. Who has just made one idle takes its place.
 */
static bool
sleeps_on_note(struct m *watcher)
{
	return netpoll_on() &&
	    a_load_relaxed(&netpoll.sleeper) != &watcher->note;
}

/*
 * Says until when this M sleeps, if it is the watcher or can become it. If
 * another one is, that one shall not sleep longer. Under the lock: who takes
 * the watcher off the idle list ends its watch there.
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
		/* sc: pairs with expire_notify; the caller looks next */
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

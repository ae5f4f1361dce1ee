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
 *	who sets (alarm_set)		who rests
 *	1. publishes the heap's		1. marks its P idle, uncounts
 *	   first time			2. looks at all heaps (idle_rest)
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

struct timers alarm_common = TIMERS_INIT;

static uint32_t
procs_now(void)
{
	/* sc: pairs with world_resize: so many Ps are there */
	return a_load_sc(&sched.procs);
}

/* Every heap: those of all Ps in use, and the common one. */
#define each_heap(h)							\
	for (uint32_t i_ = 0, n_ = procs_now(); i_ <= n_; i_++)	\
		for (struct timers *h = i_ < n_ ? &p_at(i_)->timers :	\
		    &alarm_common; h; h = NULL)

/* ---- firing ---- */

/* Who has taken goroutines from a heap and is about to queue them. */
static a32 firing;

static bool
over(void)
{
	return a_load_relaxed(&sched.stopping) & STOP_ENDED;
}

bool
alarm_run(struct timers *h)
{
	struct m *mp = m_self();
	struct glist woken = {0};
	int64_t now;
	bool some;

	if (timers_first(h) == NEVER_NS || over())
		return false;
	now = os_now_ns();
	if (timers_first(h) > now)
		return false;
	/* sc: pairs with alarm_pending: not in the heap, not queued yet */
	a_add_sc(&firing, 1);
	timers_run(h, now, &woken);
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
alarm_run_all(void)
{
	bool some = false;

	each_heap(h)
		some |= alarm_run(h);
	return some;
}

/* ---- looking ---- */

bool
alarm_due_slow(struct p *pp)
{
	int64_t first = (int64_t)a_load_relaxed(&pp->timers.first);
	int64_t common = (int64_t)a_load_relaxed(&alarm_common.first);
	uint64_t now = cpu_cycles();

	if (now - pp->looked < cpu_cycles_few_us())
		return false;
	if (common < first)
		first = common;
	if (first <= os_now_ns())
		return true;		/* and again until they are run */
	pp->looked = now;
	return false;
}

int64_t
alarm_next(void)
{
	int64_t next = NEVER_NS;

	each_heap(h) {
		int64_t first = timers_first(h);

		if (first < next)
			next = first;
	}
	return next;
}

bool
alarm_due_anywhere(void)
{
	int64_t next = alarm_next();

	return next != NEVER_NS && next <= os_now_ns();
}

bool
alarm_pending(void)
{
	each_heap(h)
		if (timers_first(h) != NEVER_NS && timers_pending(h))
			return true;
	/* sc: pairs with alarm_run: after the look at the heaps, and at what
	 * else a timer takes goroutines from (readable.c); hence no load */
	return a_add_sc(&firing, 0) != 0;
}

/* ---- setting ---- */

/* The heap to set a timer in; between begin and end it is not retired. */
static struct timers *
set_begin(struct m *mp, uint32_t *was)
{
	if (!mp)
		return &alarm_common;
	*was = rt_enter(mp);
	return m_p(mp) ? &m_p(mp)->timers : &alarm_common;
}

/* `earlier` is what work/timer_heap.h says of it. 0 or -errno. */
static int
set_end(struct m *mp, uint32_t was, int earlier, int64_t when)
{
	if (earlier > 0)
		alarm_announce(when);
	if (mp)
		rt_leave(mp, was);
	return earlier < 0 ? earlier : 0;
}

int
alarm_try_set(struct timer *t, int64_t when)
{
	struct m *mp = m_self();
	uint32_t was = 0;
	struct timers *h = set_begin(mp, &was);

	return set_end(mp, was, timers_add(h, t, when), when);
}

int
alarm_reset(struct timer *t, int64_t when, int64_t period, bool *prior)
{
	struct m *mp = m_self();
	uint32_t was = 0;
	struct timers *h = set_begin(mp, &was);

	return set_end(mp, was, timers_set(h, t, when, period, prior), when);
}

noreturn static cold void
die_of_memory(void)
{
	fatal("out of memory: no room for a timer");
}

void
alarm_set(struct timer *t, int64_t when)
{
	if (unlikely(alarm_try_set(t, when) != 0))
		die_of_memory();
}

void
alarm_set_g(struct g *gp, int64_t when)
{
	struct m *mp = m_self();
	uint32_t was = 0;
	struct timers *h = set_begin(mp, &was);

	if (unlikely(set_end(mp, was, timers_add_g(h, gp, when), when) != 0))
		die_of_memory();
}

static cold void
announce_slow(void)
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
alarm_rewatch(void)
{
	announce_slow();
}

void
alarm_want_watcher(void)
{
	/* sc: pairs with idle_rest and doze */
	if (netpoll_on() && a_load_sc(&sched.n_idle_p) &&
	    !a_load_sc(&netpoll.sleeper))
		announce_slow();
}

void
alarm_announce(int64_t when)
{
	if (when == NEVER_NS)
		return;
	/* sc: pairs with idle_rest; the time was published with sc before */
	if (!a_load_sc(&sched.n_idle_p)) {
		sysmon_alarm(when);
		return;
	}
	/* sc: pairs with alarm_watch */
	if (when < (int64_t)a_load_sc(&sched.watch_until))
		announce_slow();
}

/* ---- watching ---- */

void
alarm_unwatch(void)
{
	check(lock_held(&sched.lock));
	sched.watcher = NULL;
	/* sc: pairs with alarm_announce, which then finds nobody */
	a_store_sc(&sched.watch_until, (uint64_t)NEVER_NS);
}

/*
 * sched.lock held. This watcher sleeps on its note: no P was idle, and the
 * network was the monitor's. Who has just made one idle takes its place.
 */
static bool
is_aside(struct m *watcher)
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
	if (mp->idle.next && (sched.watcher ? is_aside(sched.watcher) :
	    until != NEVER_NS || netpoll_on()))
		sched.watcher = mp;
	mine = sched.watcher == mp;
	if (mine)
		/* sc: pairs with alarm_announce; the caller looks next */
		a_store_sc(&sched.watch_until, (uint64_t)until);
	else if (sched.watcher &&
	    until < (int64_t)a_load_relaxed(&sched.watch_until))
		netpoll_poke(&sched.watcher->note);
	lock_drop(&sched.lock);
	return mine;
}

bool
alarm_watch(struct m *mp, int64_t *until)
{
	int64_t next;

	*until = over() ? NEVER_NS : alarm_next();
	while (claim_watch(mp, *until)) {
		next = alarm_next();
		if (over() || next >= *until)
			return true;
		*until = next;
	}
	*until = NEVER_NS;
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * Which thread asks the kernel for ready descriptors, and when.
 *
 *   - A P that has run out of its own and the global queue's work polls,
 *     without sleeping, before it searches other Ps.
 *   - A P that has work polls every 61st switch, if no P has polled for some
 *     50 us: goroutines that the network wakes are not starved by those that
 *     keep each other busy.
 *   - While hogs are seen (the monitor says so), a P also polls whenever a
 *     goroutine begins to wait for a descriptor, and what it finds comes
 *     first; some times in a row.
 *   - While a P is idle, the watcher (expire.c) sleeps in the poller rather
 *     than on its note; it stays there when no P is idle any more.
 *   - If there is no watcher and no P has polled since the monitor's last
 *     round, they are stuck: then the monitor sleeps in the poller. Goroutines
 *     that these two wake while all Ps are busy are urgent.
 *
 * So a program that is busy with its network never pays for the waking of a
 * thread, only for the poll.
 *
 * A thread that sleeps in the poller can also be woken by its note. Both sides
 * write first and read second:
 *
 *	the sleeper				the waker
 *	1. sleeper = its note			1. marks the note
 *	2. reads the note			2. if sleeper is that note:
 *	3. sleeps in the poller			   wakes the poller,
 *	4. sleeper = NULL			   else wakes the note's futex
 *	5. reads the note
 *
 * If the waker's 2 finds another sleeper or none, its target has not done 1
 * yet, and will see the mark in 2; or it sleeps on its note; or it has done 4,
 * and sees the mark in 5. A wake-up of the poller that comes too late ends the
 * next sleep too early, which is harmless: every sleeper checks its conditions
 * and sleeps again. One that is consumed by a thread that polls without
 * sleeping is posted again.
 *
 * One thread at a time sleeps there. A thread that finds another one there (the
 * monitor sleeps in it, and a P has become idle; or the last watcher was woken,
 * and has not left yet) leaves its note in `next_sleeper`, wakes the poller and
 * sleeps on its note; the one that leaves pokes that note. The first writes
 * next_sleeper before it tries to get in a second time, the second reads it
 * after it has left: so one of the two succeeds. Two may want to get in, the
 * monitor and a new watcher. Then the later one pokes the other: the monitor
 * finds that there is a watcher, and gives up; the watcher tries again.
 */
#include "netpoll.h"

#include "desc.h"
#include "events.h"
#include "expire.h"
#include "hard.h"
#include "insn.h"
#include "os.h"
#include "poller.h"
#include "ring.h"
#include "sched.h"

enum { TURN_FEW_US = 20 };	/* some 50 us */

struct netpoll netpoll;
static struct lock once = LOCK_INIT(RANK_POLLER);
static bool forked;		/* there is no scheduler, and no watcher */

/* No lock held: each record has one. */
static void
register_own_fds(void)
{
	int own[2];

	os_poller_fds(own);
	desc_own(own[0]);
	desc_own(own[1]);
}

/*
 * The watcher may sleep on its note already, for a timer that is far away: it
 * is poked.
 */
int
netpoll_start(void)
{
	bool opened = false;
	int err = 0;

	if (netpoll_on())
		return 0;
	lock_take(&once);
	if (!netpoll_on()) {
		err = os_poller_open();
		opened = !err;
		if (opened)
			/* sc: pairs with netpoll_on in idle_sleep: it sees
			 * this, or the poke */
			a_store_sc(&netpoll.on, 1);
	}
	lock_drop(&once);
	if (opened)
		register_own_fds();
	hard_pause();
	if (!err && !forked)
		expire_poke_watcher();
	return err;
}

/* Another thread may have held the lock. */
void
netpoll_forked(void)
{
	once = (struct lock)LOCK_INIT(RANK_POLLER);
	forked = true;
	a_store_relaxed(&netpoll.on, 0);
	os_poller_close();
	ring_forked();
	desc_forked();
}

/* ---- polling ---- */

/*
 * While goroutines are on the list, and on no queue, `firing` counts this
 * thread: else all would seem to be asleep. If there are any, the caller's
 * netpoll_fired uncounts it. True: the poller was woken, too.
 */
static bool
poll_events(int64_t timeout_ns, struct glist *woken)
{
	struct poller_event ev[POLLER_MAX];
	bool broken;
	int n = os_poller_wait(ev, timeout_ns, &broken);

	a_add_relaxed(&netpoll.polls, 1);
	if (!n)
		return broken;
	a_add_relaxed(&netpoll.events, (uint64_t)n);
	a_add_sc(&netpoll.firing, 1);	/* sc: pairs with netpoll_has_waiters */
	hard_pause();
	for (int i = 0; i < n; i++) {
		if (ring_has_tag(ev[i].tag))
			ring_event(ev[i].tag, woken);
		else
			desc_event(ev[i].tag, ev[i].what, woken);
	}
	events_count(TR_NETPOLL, woken->n);
	if (!woken->n)
		netpoll_fired();
	return broken;
}

/*
 * The same for a thread that polls without sleeping. A wake-up consumed here
 * was meant for the sleeper: the kernel has woken that, it finds nothing and
 * sleeps on. So it is posted again. If no thread sleeps there now, the target
 * has already left.
 */
static void
poll_events_now(struct glist *woken)
{
	bool broken = poll_events(0, woken);

	hard_pause();
	if (unlikely(broken) && a_load_relaxed(&netpoll.sleeper))
		os_poller_wake();
}

void
netpoll_fired(void)
{
	a_add_sc(&netpoll.firing, -1u);	/* sc: pairs with netpoll_has_waiters */
}

bool
netpoll_has_waiters(void)
{
	/*
	 * sc: pairs with poll_events: a goroutine that is not found waiting is
	 * counted there, or queued. Not a load, which might be done before the
	 * search: either we see poll_events's count, or it comes after that.
	 */
	return desc_any_waiters() || ring_any_waiters() ||
	    a_add_sc(&netpoll.firing, 0) != 0;
}

void
netpoll_poll_no_p(void)
{
	struct glist woken = {0};

	poll_events_now(&woken);
	if (!woken.n)
		return;
	sched_ready_urgent(&woken);
	netpoll_fired();
}

bool
netpoll_verify(void)
{
	struct glist woken = {0};
	bool more;

	os_poller_check();
	a_add_sc(&netpoll.firing, 1);	/* sc: pairs with netpoll_has_waiters */
	a_store_relaxed(&netpoll.unverified, 0);
	/* A waiter is pushed first and reads unverified second: it sees this,
	 * or we see it in the queue. */
	os_barrier_all();
	more = desc_verify(&woken);
	if (more)
		netpoll_waiter_added();
	sched_ready_list(&woken);
	netpoll_fired();
	return more;
}

/* All Ps that search come here: it is written no more often than needed. */
static void
note_poll(void)
{
	uint64_t now = cpu_cycles();

	if (now - a_load_relaxed(&netpoll.last_poll) > cpu_cycles_few_us())
		a_store_relaxed(&netpoll.last_poll, now);
}

static bool
poll_once(void (*ready)(struct glist *l), bool beside)
{
	struct glist woken = {0};
	bool some;

	/* pairs with netpoll_start: the poller is there */
	if (!a_load_acq(&netpoll.on))
		return false;
	/* Even if we do not poll: the monitor, if it sleeps there, leaves. */
	note_poll();
	if (a_load_relaxed(&netpoll.polling) ||
	    (!beside && a_load_relaxed(&netpoll.sleeper)) ||
	    !a_cas_acq(&netpoll.polling, 0, 1))	/* pairs with below */
		return false;
	hard_pause();
	poll_events_now(&woken);
	a_store_rel(&netpoll.polling, 0);	/* pairs with above */
	some = woken.n > 0;
	if (some) {
		ready(&woken);
		netpoll_fired();
	}
	return some;
}

bool
netpoll_poll(void)
{
	return poll_once(sched_ready_list, false);
}

/* Even if the monitor sleeps there: this is faster than its wake-up. */
bool
netpoll_poll_urgent(void)
{
	return poll_once(sched_ready_urgent, true);
}

cold void
netpoll_poll_soon_slow(void)
{
	struct m *mp = m_self();
	struct p *pp;

	if (!mp)
		return;
	rt_enter(mp);
	pp = m_p(mp);
	if (pp && !pp->poll_first) {
		pp->poll_first = true;
		pp->fair.global_kept = pp->fair.global_at;
		pp->fair.global_at = 0;	/* the next pick is on g0 */
	}
	rt_leave_out(mp);
}

bool
netpoll_due(void)
{
	/* relaxed: poll_once checks again */
	return a_load_relaxed(&netpoll.on) &&
	    cpu_cycles() - a_load_relaxed(&netpoll.last_poll) >
	    TURN_FEW_US * cpu_cycles_few_us();
}

/*
 * While hogs are seen what it finds is urgent: it would wait behind the
 * goroutine that the global queue gives next, maybe for a whole slice.
 */
void
netpoll_poll_if_due(void)
{
	if (!netpoll_due())
		return;
	if (a_load_relaxed(&netpoll.hogs_seen))
		netpoll_poll_urgent();
	else
		netpoll_poll();
}

/* ---- sleeping ---- */

static void
wake_sleeper(struct note *n)
{
	/* sc: pairs with enter_poller and leave_poller; the mark was made with
	 * sc */
	if (a_load_sc(&netpoll.sleeper) == n)
		os_poller_wake();
	else
		note_futex_wake(n);
}

void
netpoll_wake(struct note *n)
{
	note_mark(n, NOTE_WOKEN);
	wake_sleeper(n);
}

void
netpoll_poke(struct note *n)
{
	if (note_mark(n, NOTE_POKED))
		wake_sleeper(n);
}

/* True if the thread of this note may sleep in the poller now. */
static bool
enter_poller(struct note *n)
{
	struct note *other;

	/* sc: pairs with leave_poller, and with netpoll_wake */
	if (a_cas_sc(&netpoll.sleeper, NULL, n))
		return true;
	hard_pause();
	/* sc: pairs with leave_poller */
	other = a_xchg_sc(&netpoll.next_sleeper, n);
	if (other && other != n)
		netpoll_poke(other);
	hard_pause();
	if (a_cas_sc(&netpoll.sleeper, NULL, n)) {	/* sc: the same */
		a_cas_relaxed(&netpoll.next_sleeper, n, NULL);
		return true;
	}
	if (a_load_relaxed(&netpoll.sleeper))
		os_poller_wake();
	return false;
}

/*
 * The next sleeper may be in the poller already, by its second try: then the
 * poke must wake it there. Otherwise the mark would be left in its note, and
 * keep the next poke from waking it.
 */
static void
leave_poller(void)
{
	struct note *next;

	/* sc: pairs with enter_poller, and with netpoll_wake */
	a_store_sc(&netpoll.sleeper, NULL);
	hard_pause();
	/* sc: pairs with enter_poller */
	if (!a_load_sc(&netpoll.next_sleeper))
		return;
	next = a_xchg_sc(&netpoll.next_sleeper, NULL);	/* sc: the same */
	hard_pause();
	if (next)
		netpoll_poke(next);
}

static bool
deadline_passed(int64_t end)
{
	return end != NEVER_NS && os_now_ns() >= end;
}

enum note_end
netpoll_sleep(struct note *n, int64_t timeout_ns, struct glist *woken)
{
	int64_t end = NEVER_NS;
	enum note_end mark;

	if (!enter_poller(n)) {
		mark = note_wait(n, timeout_ns);
		a_cas_relaxed(&netpoll.next_sleeper, n, NULL);
		return mark;
	}
	if (timeout_ns >= 0 &&
	    __builtin_add_overflow(os_now_ns(), timeout_ns, &end))
		end = NEVER_NS;
	hard_pause();
	mark = note_try_wait(n);
	if (mark == NOTE_TIMEOUT)
		poll_events(timeout_ns, woken);
	hard_pause();
	leave_poller();
	if (mark == NOTE_TIMEOUT)
		mark = note_try_wait(n);
	if (mark == NOTE_TIMEOUT && (woken->n || !deadline_passed(end)))
		mark = NOTE_POKED;
	return mark;
}

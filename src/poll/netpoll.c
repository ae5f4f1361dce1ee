/* SPDX-License-Identifier: MIT */
/*
 * Who asks the kernel which descriptors are ready, and when.
 *
 *   - A P that has run out of its own and the global queue's work looks,
 *     without sleeping, before it looks at other Ps.
 *   - One that has work looks every 61st switch, if nobody has looked for some
 *     50 us: who comes from the network is not starved by those who keep each
 *     other busy.
 *   - While there are goroutines that do not let others run by themselves
 *     (the monitor says so), a P also looks whenever one begins to wait for a
 *     descriptor, and those whom it finds come first; some times in a row.
 *   - While a P is idle, the watcher (expire.c) sleeps in the poller rather
 *     than on its note; it stays there when none is any more.
 *   - If there is no watcher and no P has looked since the monitor last did,
 *     they are stuck: then the monitor sleeps in the poller. Whom these wake
 *     while all Ps are busy is urgent.
 *
 * So a program that is busy with its network never pays for the waking of a
 * thread, only for the look.
 *
 * Who sleeps in the poller can also be woken by its note. Both sides write
 * first and look second:
 *
 *	who sleeps				who wakes
 *	1. sleeper = its note			1. marks the note
 *	2. looks at the note			2. if sleeper is that note:
 *	3. sleeps in the poller			   breaks the poller,
 *	4. sleeper = NULL			   else rouses the note
 *	5. looks at the note
 *
 * If the waker's 2 finds another sleeper or none, the one it wants has not
 * done 1 yet, and will see the mark in 2; or it sleeps on its note; or it has
 * done 4, and sees the mark in 5. A break that comes too late ends the next
 * sleep too early, which does no harm: every sleeper looks around and sleeps
 * again. One that was fetched by somebody who only looks is made once more.
 *
 * One at a time sleeps there. Who finds it taken (the monitor is just in it,
 * and a P has become idle; or the last watcher was woken, and has not left yet)
 * leaves its note in `next`, breaks the poller and sleeps on its note; who
 * leaves pokes that. It says so before it tries to get in a second time, who
 * leaves looks after it has left: so one of the two works. There may be two
 * who want to, the monitor and a new watcher. Then the later one pokes the
 * other, who looks around: the monitor finds that there is a watcher, and lets
 * it be; the watcher tries again.
 */
#include "netpoll.h"

#include "desc.h"
#include "expire.h"
#include "hard.h"
#include "insn.h"
#include "os.h"
#include "poller.h"
#include "sched.h"

enum { TURN_FEW_US = 20 };	/* some 50 us */

struct netpoll netpoll;
static struct lock once = LOCK_INIT(RANK_POLLER);
static bool forked;		/* there is no scheduler, and nobody watches */

/* No lock held: these have one each. */
static void
register_own_fds(void)
{
	int own[2];

	os_poller_fds(own);
	desc_own(own[0]);
	desc_own(own[1]);
}

/*
 * Somebody may sleep on its note already, as the watcher of a timer that is far
 * away.
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
			/* sc: pairs with idle_sleep: it knows, or hears of it next */
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

/* Others may have held the lock. */
void
netpoll_forked(void)
{
	once = (struct lock)LOCK_INIT(RANK_POLLER);
	forked = true;
	a_store_relaxed(&netpoll.on, 0);
	os_poller_close();
	desc_forked();
}

/* ---- fetching ---- */

/*
 * While they are on the list, and on no queue, `firing` counts: else all would
 * seem to be asleep. If any are, netpoll_fired uncounts. True: there was a
 * break, too.
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
	for (int i = 0; i < n; i++)
		desc_event(ev[i].tag, ev[i].what, woken);
	if (!woken->n)
		netpoll_fired();
	return broken;
}

/*
 * The same for one who only looks. A break that he gets is not for him: the
 * kernel has woken the sleeper, who finds nothing and sleeps on. So it is made
 * once more. If nobody sleeps there now, whom it was for has left by himself.
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
	 * sc: pairs with poll_events: who is not found waiting is counted there, or
	 * queued. Not a load, which might be done before the look: either we
	 * see poll_events's count, or it comes after our look.
	 */
	return desc_any_waiters() || a_add_sc(&netpoll.firing, 0) != 0;
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
	/* Who waits queues first and looks second: it sees this, or we see
	 * it in the queue. */
	os_barrier_all();
	more = desc_verify(&woken);
	if (more)
		netpoll_waiter_added();
	sched_ready_list(&woken);
	netpoll_fired();
	return more;
}

static bool
poll_once(void (*ready)(struct glist *l), bool beside)
{
	struct glist woken = {0};
	bool some;

	/* pairs with netpoll_start: the poller is there */
	if (!a_load_acq(&netpoll.on))
		return false;
	/* Even if we do not: the monitor, if it sleeps there, shall leave. */
	a_store_relaxed(&netpoll.last_poll, cpu_cycles());
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

/* Even if the monitor sleeps there: we are faster than its waking. */
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
		pp->fair.global_at = 0;	/* g0 takes it from there */
	}
	rt_leave_out(mp);
}

bool
netpoll_due(void)
{
	/* relaxed: who looks asks again */
	return a_load_relaxed(&netpoll.on) &&
	    cpu_cycles() - a_load_relaxed(&netpoll.last_poll) >
	    TURN_FEW_US * cpu_cycles_few_us();
}

/*
 * Whom it finds would wait behind the one that the global queue gives next;
 * that may be for a whole slice.
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
	/* sc: pairs with enter_poller and leave_poller; the mark was made with sc */
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

/* True if this note's sleeper may sleep in the poller now. */
static bool
enter_poller(struct note *n)
{
	struct note *other;

	/* sc: pairs with leave_poller, and with netpoll_wake */
	if (a_cas_sc(&netpoll.sleeper, NULL, n))
		return true;
	hard_pause();
	other = a_xchg_sc(&netpoll.next_sleeper, n);	/* sc: pairs with leave_poller */
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
 * Who is next may be in the poller already, by its second try: then it must
 * hear of the poke there. If it did not, the mark would be left in its note,
 * and keep the next poke from waking it.
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

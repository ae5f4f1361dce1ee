/* SPDX-License-Identifier: MIT */
/*
 * The life of an M: made on demand, by the thread in weft_run, asleep when
 * there is nothing to do, ended when there are too many.
 *
 * `procs` idle Ms stay for good and sleep without a timeout, so that an idle
 * program makes no system calls. One that becomes idle beyond that ends if it
 * is not needed for a second.
 */
#include "m.h"

#include <errno.h>
#include <string.h>

#include "deadlock.h"
#include "events.h"
#include "expire.h"
#include "fatal.h"
#include "idle.h"
#include "netpoll.h"
#include "preempt.h"
#include "sched.h"
#include "slab.h"
#include "watch.h"

enum {
	M_STACK_BYTES = 256 * 1024,
	/* What is before it is kept for the next thread. */
	M_NEW = offsetof(struct m, thread_state),
	/* Idle Ms that are looked at for a near one, under the lock. */
	NEAR_MAX = 32
};
#define DECAY_NS (INT64_C(1000000000))
#define REFUSED_NS (INT64_C(10000000))

struct slab m_slab = SLAB_INIT(struct m);

void (*watch_thread)(struct m *mp, bool begins);

struct each {
	void (*fn)(struct m *mp, void *arg);
	void *arg;
};

static void
each_record(void *rec, void *each)
{
	const struct each *e = each;

	e->fn(rec, e->arg);
}

void
m_each(void (*fn)(struct m *mp, void *arg), void *arg)
{
	struct each e = { fn, arg };

	slab_each(&m_slab, each_record, &e);
}

/* ---- the idle list: sched.lock held ---- */

void
m_idle_put(struct m *mp)
{
	check(lock_held(&sched.lock));
	check(!mp->idle.next && !m_p(mp));
	/* Last in, first out: its data is in the cache. */
	mp->idle.next = sched.idle_m.next;
	mp->idle.prev = &sched.idle_m;
	sched.idle_m.next->prev = &mp->idle;
	sched.idle_m.next = &mp->idle;
	sched.n_idle_m++;
	if (unlikely(!topology.flat))
		mp->position = topology_here();
	a_store_relaxed(&mp->surplus,
	    sched.n_idle_m > a_load_relaxed(&sched.procs));
}

bool
m_idle_remove(struct m *mp)
{
	check(lock_held(&sched.lock));
	if (!mp->idle.next)
		return false;
	list_remove(&mp->idle);
	sched.n_idle_m--;
	if (sched.watcher == mp)
		expire_unwatch();
	return true;
}

struct m *
m_idle_get(void)
{
	struct m *mp;

	if (list_empty(&sched.idle_m))
		return NULL;
	mp = container_of(sched.idle_m.next, struct m, idle);
	/* The watcher last: otherwise another M would have to take over. */
	if (mp == sched.watcher && mp->idle.next != &sched.idle_m)
		mp = container_of(mp->idle.next, struct m, idle);
	m_idle_remove(mp);
	return mp;
}

/* Not closer than a shared cache: the thread that asks is on the core. */
struct m *
m_idle_get_near(uint32_t position)
{
	struct list *it = sched.idle_m.next;
	struct m *best = NULL;
	enum distance d, least = DISTANCES;

	if (likely(topology.flat))
		return m_idle_get();
	for (int n = 0; n < NEAR_MAX && it != &sched.idle_m; it = it->next) {
		struct m *mp = container_of(it, struct m, idle);

		d = topology_distance(position, mp->position);
		if (mp != sched.watcher && d < least) {
			best = mp;
			least = d;
		}
		n = least <= DISTANCE_CACHE ? NEAR_MAX : n + 1;
	}
	if (!best)
		return m_idle_get();
	m_idle_remove(best);
	return best;
}

/* ---- sleeping ---- */

/* Most of the time it is where it was: no other core's copy is lost. */
cold void
m_locate_slow(struct p *pp)
{
	uint32_t here = topology_here();

	if (a_load_relaxed(&sched.position[pp->id]) == here)
		return;
	a_store_relaxed(&sched.position[pp->id], here);
	g_move(&pp->gs, topology_node(here));
	stack_move(&pp->stacks, topology_node(here));
}

void
m_acquire(struct m *mp, struct p *pp)
{
	check(!m_p(mp) && pp->state == P_RUNNING);
	check(a_load_relaxed(&mp->inside));
	pp->has_pinned_m = mp->pinned != NULL;
	if (unlikely(pp->has_pinned_m))
		pp->fair.global_at = 0;
	a_store_relaxed(&mp->pp, pp);
	a_store_rel(&pp->mp, mp);	/* pairs with stuck_check */
	m_locate(pp);
	events_p_start(mp, pp);
}

struct p *
m_release(struct m *mp)
{
	struct p *pp = m_p(mp);

	check(a_load_relaxed(&mp->inside));
	events_p_stop(mp);
	a_store_relaxed(&pp->mp, NULL);
	a_store_relaxed(&mp->pp, NULL);
	return pp;
}

/* The timeout is over. True if it is off the list, uncounted, and may end. */
static bool
leave_idle(struct m *mp)
{
	bool off = false;

	lock_take(&sched.lock);
	if (sched.n_idle_m > a_load_relaxed(&sched.procs))
		off = m_idle_remove(mp);
	sched.n_m -= off;
	a_store_relaxed(&mp->surplus, false);
	lock_drop(&sched.lock);
	/* It may have been the watcher, or just been poked to become it. */
	if (off) {
		expire_notify(expire_next());
		expire_need_watcher();
	}
	return off;
}

/* The longest sleep: 1, 10, 100 ms while deadlock checks are to be made. */
static int64_t
idle_timeout_ns(struct m *mp)
{
	static const int64_t ns[DEADLOCK_RETRIES + 1] =
	    { 0, 100000000, 10000000, 1000000 };

	if (mp->deadlock_retries)
		return ns[mp->deadlock_retries];
	return a_load_relaxed(&mp->surplus) ? DECAY_NS : FOREVER;
}

/* It slept for that long. True if the M may end. */
static bool
idle_timed_out(struct m *mp)
{
	if (!mp->deadlock_retries)
		return leave_idle(mp);
	mp->deadlock_retries = deadlock_check() ? mp->deadlock_retries - 1 : 0;
	return false;
}

/*
 * A timer is due. With a P the M goes on as a spinner and searches. If all Ps
 * are busy it runs the timers; what they wake goes to the global queue.
 */
static bool
take_p_for_timers(struct m *mp)
{
	if (idle_reacquire(mp))
		return true;
	expire_run_all();
	return false;
}

/*
 * The network has woken goroutines. With a P the M goes on as a spinner, and
 * queues them there. If all Ps are busy they are urgent.
 */
static bool
ready_polled(struct m *mp, struct glist *woken)
{
	bool with_p = idle_reacquire(mp);

	if (with_p)
		sched_ready_list(woken);
	else
		sched_ready_urgent(woken);
	*woken = (struct glist){0};
	netpoll_fired();
	return with_p;
}

/*
 * One sleep of at most that long, or until a timer is due. The watcher sleeps
 * in the poller, if a P is idle.
 */
static enum note_end
idle_sleep(struct m *mp, bool watch, int64_t until, struct glist *woken)
{
	int64_t limit = idle_timeout_ns(mp);

	if (until != NEVER_NS) {
		int64_t left = os_left_ns(until);

		if (limit < 0 || left < limit)
			limit = left;
	}
	/* sc: pairs with expire_need_watcher: if a P becomes idle after this,
	 * we are poked, or its M becomes the watcher */
	if (watch && netpoll_on() && a_load_sc(&sched.n_idle_p))
		return netpoll_sleep(&mp->note, limit, woken);
	return note_wait(&mp->note, limit);
}

/*
 * The sleep timed out. True if the M does not sleep again: it has a P, or
 * *exits says that it may end.
 */
static bool
sleep_timed_out(struct m *mp, int64_t until, bool *exits)
{
	*exits = false;
	if (until != NEVER_NS && until <= os_now_ns())
		return take_p_for_timers(mp);
	return *exits = idle_timed_out(mp);
}

/* Not the thread of a pinned goroutine, which may have set its affinity. */
void
m_move_here(struct m *mp)
{
	if (!mp->pinned || !mp->pinned->pins)
		mp->cpus_saved = os_thread_move_here(m_tid(mp), &mp->cpus);
}

void
m_restore_cpus(struct m *mp)
{
	if (mp->cpus_saved)
		os_thread_restore_cpus(&mp->cpus);
	mp->cpus_saved = false;
}

/*
 * An M that is woken has a P. One that times out and may not end is needed, or
 * being woken right now. One that is poked may have become surplus, or there
 * is a timer to wait for.
 */
bool
m_sleep(struct m *mp)
{
	struct glist woken = {0};
	enum note_end end;

	do {
		int64_t until;
		bool watch = expire_watch(mp, &until);
		bool over = false, exits = false;

		end = idle_sleep(mp, watch, until, &woken);
		if (end == NOTE_POKED && woken.n)
			over = ready_polled(mp, &woken);
		else if (end == NOTE_TIMEOUT)
			over = sleep_timed_out(mp, until, &exits);
		if (over) {
			mp->deadlock_retries = 0;
			return !exits;
		}
	} while (end != NOTE_WOKEN);
	mp->deadlock_retries = 0;
	note_clear(&mp->note);
	m_restore_cpus(mp);
	mp->spinning = mp->nextspin;
	m_acquire(mp, mp->nextp);
	mp->nextp = NULL;
	if (woken.n) {
		sched_ready_list(&woken);
		netpoll_fired();
	}
	return true;
}

/* Those that have been idle longest: the end of the list. */
void
m_idle_trim(void)
{
	struct list *it;
	uint32_t procs;

	lock_take(&sched.lock);
	procs = a_load_relaxed(&sched.procs);
	it = sched.idle_m.prev;
	for (uint32_t n = sched.n_idle_m; n > procs; n--, it = it->prev) {
		struct m *mp = container_of(it, struct m, idle);

		if (a_load_relaxed(&mp->surplus))
			continue;
		a_store_relaxed(&mp->surplus, true);
		netpoll_poke(&mp->note);
	}
	lock_drop(&sched.lock);
}

void
m_halt(void)
{
	struct note never = {0};

	for (;;)
		note_sleep(&never, FOREVER);
}

/* ---- begin and end ---- */

static struct m *
record_get(void)
{
	struct m *mp;
	uint32_t one = 1;

	lock_take(&sched.lock);
	mp = sched.free_m;
	if (mp)
		sched.free_m = mp->free_link;
	lock_drop(&sched.lock);
	return mp ? mp : slab_carve(&m_slab, &one);
}

static void
record_put(struct m *mp)
{
	lock_take(&sched.lock);
	mp->free_link = sched.free_m;
	sched.free_m = mp;
	lock_drop(&sched.lock);
}

/* Its pinned goroutine has ended, and so does the thread: on g0. */
static void
end_pinned(struct m *mp)
{
	struct p *pp = m_p(mp) ? m_release(mp) : NULL;

	lock_take(&sched.lock);
	rt_uncount_detached(mp);
	sched.n_m--;
	lock_drop(&sched.lock);
	if (pp)
		p_hand_off(pp);
}

/* Begins with the P it was given, or idle. False if it shall end. */
static bool
begin(struct m *mp)
{
	lock_take(&sched.lock);
	sched.n_making--;
	lock_drop(&sched.lock);
	if (!mp->nextp)
		return idle_park_new(mp);
	m_acquire(mp, mp->nextp);
	mp->nextp = NULL;
	return true;
}

static void *
m_main(void *arg)
{
	struct m *mp = arg;

	self()->mp = mp;
	a_store_relaxed(&mp->tid, (uint32_t)os_thread_id());
	a_store_relaxed(&mp->alive, true);
	thread_state_locate(&mp->thread_state);
	os_thread_bounds(&mp->own_lo, &mp->own_hi);
	mp->me = self();
	self()->lock_wait = &mp->lock_wait;
	os_sigmask_set(sched.sigmask);
	os_thread_precise_sleep();
	frame_reset_fpctl();
	/* The record's last thread may have ended with the signal pending:
	 * the verdict would stay SENT, and no other signal be sent. */
	a_store_relaxed(&mp->verdict, VERDICT_IDLE);
	a_store_relaxed(&mp->no_sigstack,
	    os_sigstack_install(&mp->sigstack) != 0);
	a_store_relaxed(&mp->can_signal, !a_load_relaxed(&mp->no_sigstack));
	if (a_load_relaxed(&mp->no_sigstack))
		say("weft: warning: no memory for a signal stack: an overflow "
		    "on thread %d will not be reported\n", mp->id);
	san_thread(&mp->san);
	if (watch_thread)
		watch_thread(mp, true);
	if (begin(mp))
		sched_loop(mp);
	if (mp->exits)
		end_pinned(mp);
	a_store_relaxed(&mp->alive, false);
	a_store_relaxed(&mp->can_signal, false);
	if (watch_thread)
		watch_thread(mp, false);
	os_sigstack_remove(&mp->sigstack);
	self()->mp = NULL;
	record_put(mp);
	return NULL;
}

static void
uncount_thread(void)
{
	lock_take(&sched.lock);
	sched.n_m--;
	sched.n_making--;
	lock_drop(&sched.lock);
}

/* At the limit a program goes on with the threads it has, but is told. */
static cold void
say_limit(void)
{
	static a32 said;

	if (a_cas_relaxed(&said, 0, 1))
		say("weft: warning: all %u threads are in use: goroutines "
		    "wait until one is free (weft_config.max_threads, "
		    "WEFT_MAX_THREADS)\n", sched.max_m);
}

/* Counts one more thread: its id, or -EAGAIN if there are enough. */
static int
count_thread(void)
{
	int id = -EAGAIN;

	lock_take(&sched.lock);
	if (sched.n_m < sched.max_m) {
		id = sched.next_m_id++;
		sched.n_m++;
		sched.n_making++;
	}
	lock_drop(&sched.lock);
	if (id < 0)
		say_limit();
	return id;
}

/* A new thread, with P pp if that is not NULL. 0 or -errno. */
static cold int
m_make(struct p *pp)
{
	struct m *mp;
	int err, id = count_thread();

	if (id < 0)
		return id;
	mp = record_get();
	if (!mp) {
		uncount_thread();
		return -ENOMEM;
	}
	memset((char *)mp + M_NEW, 0, sizeof *mp - M_NEW);
	a_store_relaxed(&mp->inside, 1);
	mp->id = id;
	mp->nextp = pp;
	err = os_thread_start(m_main, mp, M_STACK_BYTES);
	if (err) {
		uncount_thread();
		record_put(mp);
	}
	return err;
}

int
m_make_first(struct p *pp)
{
	return m_make(pp);
}

static a32 wanted;
static a64 refused_at;		/* by the kernel, or by max_m */

/* Not if the last one was refused within REFUSED_NS. */
bool
m_can_make(void)
{
	int64_t at = (int64_t)a_load_relaxed(&refused_at);

	check(lock_held(&sched.lock));
	return sched.n_m < sched.max_m &&
	    (!at || os_now_ns() - at > REFUSED_NS);
}

void
m_request(void)
{
	/* pairs with m_make_requested; the poke comes after */
	a_store_rel(&wanted, 1);
	note_poke(&sched.run_note);
}

/* The kernel refused it, or max_m is reached: the monitor tries again. */
static cold void
not_made(void)
{
	a_store_relaxed(&refused_at, (uint64_t)os_now_ns());
	lock_take(&sched.lock);
	idle_want_thread();
	lock_drop(&sched.lock);
}

/*
 * Not if an M is idle by now, or being made: one that finds work requests the
 * next, if there is more.
 */
static bool
still_wanted(void)
{
	bool yes;

	lock_take(&sched.lock);
	yes = !sched.n_idle_m && !sched.n_making;
	lock_drop(&sched.lock);
	return yes;
}

void
m_make_requested(void)
{
	/* pairs with m_request */
	if (a_xchg_acq(&wanted, 0) && still_wanted() && m_make(NULL) != 0)
		not_made();
}

int
m_start(struct m *mp, struct p *pp, bool spin)
{
	if (!mp) {
		m_request();
		return -EAGAIN;
	}
	mp->nextp = pp;
	mp->nextspin = spin;
	netpoll_wake(&mp->note);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Idle Ps and Ms, spinning, and why no M sleeps while there is work for it.
 *
 * An M that has run out of its own work *spins*: it counts itself in
 * n_spinning and searches other Ps' queues. At most half as many Ms spin as
 * Ps are busy. One that finds nothing gives its P up and sleeps.
 *
 * The danger is work queued just as the last M goes to sleep. Both sides
 * write first and read second, all of it sequentially consistent:
 *
 *	the queuer (sched_submit, a yield)	the parking M (idle_park)
 *	1. puts the goroutine on a queue	1. marks its P idle
 *	2. if a P is idle			2. uncounts itself as spinning
 *	   and no M spins: wakes one		3. checks all queues again
 *
 * In the single total order of these steps either the check (3) comes after
 * the put and finds it, or the put comes after the marks and 2 finds an idle P
 * and no spinner. If 2 finds a spinner it relies on it:
 *
 *   - a spinner that parks does so by the steps above (one that stops with
 *     the world does not check, but world_start does);
 *   - a spinner that finds work uncounts itself first and then checks whether
 *     there is more (idle_stop_spinning), and wakes another M if so;
 *   - a waker counts a spinner (0 -> 1) before it has a P and an M for it. If
 *     no P is idle then it uncounts it *under the lock* under which Ps become
 *     idle: a P that becomes idle later is followed by a check (3) after that,
 *     and so after the put of every queuer that relied on the count.
 *
 * A check must not miss a goroutine that moves from queue to queue. Out of the
 * global queue: the check reads its length first, and the mover wrote that
 * length after it filled its own ring. By stealing: only spinners steal, and
 * they check again when they stop spinning. From runnext to the ring: see
 * runq_empty. A yielding goroutine is on no queue while it switches, so its
 * return to one counts as queueing.
 *
 * Which one is woken: on a machine that is not flat an M that last ran near
 * the waker, and a P that was last seen there (os/topology.h). The kernel
 * mostly wakes a thread where it ran before, and what the waker has queued is
 * in the caches there. On a flat one the M that has slept for the shortest
 * time, and the first P.
 *
 * Rejected: Go's flag for Ms that park without having spun (ours all check
 * again, parking is rare enough); waking one more thread whenever a spinner
 * finds work (ours checks first: a futex call costs more than reading a few
 * queues); handing an idle P a goroutine directly (needs the lock on every
 * ready); a backoff that doubles up to four times while nothing is worth
 * stealing (an HTTP server with a connection for each request used 8 % less
 * CPU, but the sieve took 11 % longer and echo 4 %: what could be stolen
 * waits).
 */
#include "idle.h"

#include "sched.h"

#include "deadlock.h"
#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "monitor.h"
#include "pin.h"
#include "world.h"

enum {
	SPIN_BACKOFF_NS = 30 * 1000,
	NEAR_MAX = 64	/* idle Ps that are looked at for a near one */
};

/* ---- idle Ps: sched.lock held ---- */

void
p_idle_put(struct p *pp)
{
	check(lock_held(&sched.lock));
	check(runq_empty(&pp->q));
	check(pp->state == P_RUNNING || pp->state == P_STOPPED);
	pp->state = P_IDLE;
	/* sc: pairs with idle_wake */
	a_or_sc(&sched.idle_mask[pp->id / 64], UINT64_C(1) << pp->id % 64);
	a_add_sc(&sched.n_idle_p, 1);	/* sc: pairs with idle_wake */
}

/* sched.lock held. */
static struct p *
idle_get(struct p *pp)
{
	uint64_t bit = UINT64_C(1) << pp->id % 64;

	check(pp->state == P_IDLE);
	pp->state = P_RUNNING;
	sched.idle_gen++;
	/* sc: pairs with idle_wake, which may find no idle P now */
	a_and_sc(&sched.idle_mask[pp->id / 64], ~bit);
	a_add_sc(&sched.n_idle_p, -1u);	/* sc: the same */
	if (unlikely(monitor_asleep()))
		monitor_wake();
	return pp;
}

struct p *
p_idle_get(void)
{
	check(lock_held(&sched.lock));
	for (uint32_t w = 0; w < MASK_WORDS; w++) {
		uint64_t bits = a_load_relaxed(&sched.idle_mask[w]);

		if (bits)
			return idle_get(p_at(w * 64 +
			    (uint32_t)__builtin_ctzll(bits)));
	}
	return NULL;
}

struct p *
p_idle_get_near(struct p *near)
{
	check(lock_held(&sched.lock));
	if (near && near->state == P_IDLE)
		return idle_get(near);
	return p_idle_get();
}

/* The nearest of the first idle Ps; NULL if there is none. */
static struct p *
nearest_idle(uint32_t position)
{
	enum distance d, least = DISTANCES;
	struct p *best = NULL;
	int n = 0;

	for (uint32_t w = 0; w < MASK_WORDS && n < NEAR_MAX; w++) {
		uint64_t bits = a_load_relaxed(&sched.idle_mask[w]);

		for (; bits && n < NEAR_MAX; bits &= bits - 1, n++) {
			uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(bits);

			d = topology_distance(position,
			    a_load_relaxed(&sched.position[id]));
			if (d < least) {
				best = p_at(id);
				least = d;
			}
			if (least <= DISTANCE_CACHE)
				return best;
		}
	}
	return best;
}

struct p *
p_idle_get_at(uint32_t position)
{
	struct p *pp;

	check(lock_held(&sched.lock));
	if (likely(topology.flat))
		return p_idle_get();
	pp = nearest_idle(position);
	return pp ? idle_get(pp) : NULL;
}

bool
p_is_idle(uint32_t id)
{
	/* sc: pairs with p_idle_get: a stale bit would hide a queue */
	return a_load_sc(&sched.idle_mask[id / 64]) >> id % 64 & 1;
}

/* ---- spinning ---- */

bool
idle_start_spinning(struct m *mp)
{
	uint32_t busy;

	if (mp->spinning)
		return true;
	busy = a_load_relaxed(&sched.procs) - a_load_relaxed(&sched.n_idle_p);
	if (2 * a_load_relaxed(&sched.n_spinning) >= busy)
		return false;
	mp->spinning = true;
	a_add_sc(&sched.n_spinning, 1);	/* sc: pairs with idle_wake */
	return true;
}

static void
uncount(struct m *mp)
{
	mp->spinning = false;
	/* sc: pairs with idle_wake; the caller checks the queues next */
	must(a_add_sc(&sched.n_spinning, -1u) != 0);
}

/* The global queue first: see the head. */
bool
idle_any_work(void)
{
	/* sc: pairs with world_resize: no P may be missed */
	uint32_t procs = a_load_sc(&sched.procs);

	if (globq_len(&sched.globq))
		return true;
	for (uint32_t i = 0; i < procs; i++)
		if (!p_is_idle(i) && !runq_empty(&p_at(i)->q))
			return true;
	return false;
}

void
idle_wake_if_work(void)
{
	if (idle_any_work())
		idle_wake();
}

void
idle_stop_spinning(struct m *mp)
{
	hard_pause();
	uncount(mp);
	idle_wake_if_work();
	expire_notify(expire_next());
	expire_need_watcher();
}

/* ---- waking ---- */

/*
 * Not before the P is idle and its work is queued: the monitor would find
 * nothing that it could do, and clear no_thread.
 */
void
idle_want_thread(void)
{
	check(lock_held(&sched.lock));
	a_store_relaxed(&sched.no_thread, 1);
	if (monitor_asleep())
		monitor_wake();
}

/*
 * Undoes a start for which there was no M. Queuers relied on the spinner that
 * we had counted: we check in its place, if there is an M now that could do
 * the work. (If not, the one that was requested checks when it is made, which
 * is after this; if the kernel refuses it, the monitor tries again.)
 */
static cold void
start_failed(struct p *pp)
{
	bool last = false, look = false;

	lock_take(&sched.lock);
	if (a_load_relaxed(&sched.stopping) == STOP_WORLD) {
		last = world_stopped(pp);
	} else {
		p_idle_put(pp);
		look = !list_empty(&sched.idle_m);
		if (!look)
			idle_want_thread();
	}
	/* sc: pairs with idle_wake; under the lock: see the head */
	a_add_sc(&sched.n_spinning, -1u);
	lock_drop(&sched.lock);
	if (last)
		note_wake(&sched.stop_note);
	if (look)
		idle_wake_if_work();
}

cold void
idle_wake_slow(void)
{
	struct m *self_m = m_self(), *mp;
	uint32_t here;
	struct p *pp;

	/* sc: pairs with idle_park and idle_stop_spinning */
	if (!a_cas_sc(&sched.n_spinning, 0, 1))
		return;
	hard_pause();
	here = topology.flat ? 0 : topology_here();
	lock_take(&sched.lock);
	pp = p_idle_get_at(here);
	if (!pp) {
		/* sc: under the lock: see the head */
		a_add_sc(&sched.n_spinning, -1u);
		lock_drop(&sched.lock);
		return;
	}
	mp = m_idle_get_near(here);
	if (!mp && (mp = pin_take_any())) {
		/* sc: under the lock: see the head. It does not spin. */
		a_add_sc(&sched.n_spinning, -1u);
		lock_drop(&sched.lock);
		m_start(mp, pp, false);
		idle_wake_if_work();
		return;
	}
	lock_drop(&sched.lock);
	/* If it has a P and may use it, it is inside. */
	if (self_m && a_load_relaxed(&self_m->inside) && m_p(self_m))
		a_bump(&m_p(self_m)->stats.wakes, 1);
	if (m_start(mp, pp, true) != 0)
		start_failed(pp);
}

/* ---- parking ---- */

/* Under the lock: gives P and M to the idle lists, unless there is work. */
static bool
release_if_no_work(struct m *mp)
{
	bool rest;

	lock_take(&sched.lock);
	rest = !a_load_relaxed(&sched.stopping) && !globq_len(&sched.globq);
	if (rest) {
		p_idle_put(m_release(mp));
		m_idle_put(mp);
	}
	lock_drop(&sched.lock);
	return rest;
}

/*
 * There is work after all: off the idle list again with a P, unless another
 * thread woke us meanwhile (then it has given us a P) or no P is idle (then
 * all are busy, and their Ms search).
 */
bool
idle_reacquire(struct m *mp)
{
	struct p *pp = NULL;

	lock_take(&sched.lock);
	if (mp->idle.next && (pp = p_idle_get_at(mp->position)))
		m_idle_remove(mp);
	lock_drop(&sched.lock);
	if (!pp)
		return false;
	m_acquire(mp, pp);
	mp->spinning = true;
	a_add_sc(&sched.n_spinning, 1);	/* sc: pairs with idle_wake */
	return true;
}

/* Switches of all Ps but ours: while it changes, goroutines come and go. */
static uint64_t
activity(struct m *mp)
{
	uint32_t procs = a_load_relaxed(&sched.procs);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < procs; i++)
		if (p_at(i) != m_p(mp))
			sum += a_load_relaxed(&p_at(i)->stats.switches);
	return sum;
}

/*
 * A spinner that found only queues whose owners keep up, or none at all while
 * other Ps switch, backs off and searches again. It stays counted, with its P,
 * so that queuers do not wake other Ms for what is not worth stealing. (Two
 * goroutines that hand something back and forth would otherwise wake a thread
 * every few microseconds, each time in vain.) So a goroutine that is worth
 * stealing waits for at most one backoff; and no timer waits for us.
 */
static bool
spin_backoff(struct m *mp)
{
	int64_t ns = SPIN_BACKOFF_NS, next;
	uint64_t active;

	if (!mp->spinning)
		return false;
	active = activity(mp);
	if (active == mp->last_activity && !idle_any_work())
		return false;
	mp->last_activity = active;
	next = expire_next();
	if (next != NEVER_NS && os_left_ns(next) < ns)
		ns = os_left_ns(next);
	if (ns > 0)
		os_sleep_ns(ns);
	return true;
}

/* If all Ps are idle: is it a deadlock? */
static void
check_deadlock(struct m *mp)
{
	if (a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs))
		mp->deadlock_retries = deadlock_check() ? DEADLOCK_RETRIES : 0;
}

/* On the idle list: the last check (3), then sleeps. */
static bool
recheck_and_sleep(struct m *mp)
{
	if (idle_any_work() || expire_due_any()) {
		if (idle_reacquire(mp))
			return true;
		/*
		 * We have been given a P, maybe with work of its own, or all
		 * are busy. While we were counted queuers relied on us to
		 * check.
		 */
		idle_wake();
	} else {
		check_deadlock(mp);
	}
	return m_sleep(mp);
}

bool
idle_park(struct m *mp)
{
	if (spin_backoff(mp) || !release_if_no_work(mp))
		return true;
	hard_pause();
	if (mp->spinning)
		uncount(mp);
	return recheck_and_sleep(mp);
}

bool
idle_park_new(struct m *mp)
{
	lock_take(&sched.lock);
	if (a_load_relaxed(&sched.stopping) & STOP_ENDED) {
		lock_drop(&sched.lock);
		m_halt();
	}
	m_idle_put(mp);
	lock_drop(&sched.lock);
	return recheck_and_sleep(mp);
}

/*
 * The goroutine it left was queued, followed by idle_wake, before: so it need
 * not check all queues. But there may be an idle P, and it is awake.
 */
bool
idle_park_detached(struct m *mp)
{
	struct p *pp = NULL;

	lock_take(&sched.lock);
	rt_uncount_detached(mp);
	if (a_load_relaxed(&sched.stopping) & STOP_ENDED) {
		lock_drop(&sched.lock);
		m_halt();
	}
	if (!a_load_relaxed(&sched.stopping) && globq_len(&sched.globq) &&
	    !mp->must_migrate)
		pp = p_idle_get_near(mp->old_p);
	if (!pp)
		m_idle_put(mp);
	mp->must_migrate = false;
	lock_drop(&sched.lock);
	if (pp) {
		m_acquire(mp, pp);
		return true;
	}
	check_deadlock(mp);
	return m_sleep(mp);
}

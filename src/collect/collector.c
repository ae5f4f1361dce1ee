/* SPDX-License-Identifier: MIT */
/*
 * What a garbage collector needs of the scheduler: weft/collector.h is the
 * contract, gc/ is the collector. In a program without one nothing of this is
 * used.
 *
 * The stop, by the collector's thread, which is no M:
 *
 *	1. The world is stopped (sched/world.c): no M has a P. Goroutines that
 *	   compute were preempted or paused, or have lost their P.
 *	2. Threads that run a goroutine without a P are halted by the signal
 *	   (preempt/halt.h). If one does not answer, all go on.
 *	3. The collector stops the plain threads that it knows, by its own
 *	   means.
 *	4. The roots are read (roots.c), and all is marked.
 *	5. In the opposite order they go on: plain threads, halted threads, the
 *	   world.
 *
 * Threads that run no goroutine go on meanwhile: Ms that sleep or fire timers,
 * the monitor, plain threads that the collector does not know. They may free
 * blocks of the library, so the lock of their list is held. No halted thread
 * holds a lock of the runtime; but malloc is not called: one may be in the
 * middle of that.
 */
#include <errno.h>

#include "deadlock.h"
#include "debug_env.h"
#include "halt.h"
#include "helper.h"
#include "parksema.h"
#include "preempt.h"
#include "procs.h"
#include "roots.h"
#include "sched.h"
#include "start.h"
#include "user_block.h"
#include "world.h"

struct self *roots_threads;

static const int64_t look_ns = 100 * 1000;

enum stopped { STOPPED_DOWN, STOPPED_WORLD, STOPPED_ENDED };

static struct {
	enum stopped how;	/* the collector's thread */
	bool held;		/* the same: STOPPED_DOWN already */
	struct lock lock;	/* of roots_threads */
} stop = { .lock = LOCK_INIT(RANK_USER_BLOCK) };

public int
weft_collector_set_(uint64_t signals)
{
	run_open_signals = signals;
	return user_blocks_list() ? 0 : -EBUSY;
}

/* ---- the stop ---- */

static void
find_without_signal(struct m *mp, void *arg)
{
	bool *found = arg;

	*found |= a_load_relaxed(&mp->alive) &&
	    (!preempt_signal() || a_load_relaxed(&mp->no_sigstack));
}

/*
 * True if there is no runtime, and none begins. One that begins is waited for:
 * it needs locks of the loader for that, which a collector may hold later.
 */
static bool
hold_down(void)
{
	while (!sched_hold_down()) {
		if (sched_is_up() || sched_has_ended())
			return false;
		os_sleep_ns(look_ns);
	}
	return true;
}

public bool
weft_world_can_stop_(void)
{
	bool found = false;

	stop.held = hold_down();
	if (!stop.held)
		m_each(find_without_signal, &found);
	return !found;
}

/* Before the runtime begins it cannot begin (hold_down); after its end there
 * are Ms that go on without it. */
static enum stopped
stop_goroutines(void)
{
	for (;;) {
		if (stop.held)
			return STOPPED_DOWN;
		if (procs_stop_world())
			return STOPPED_WORLD;
		if (sched_has_ended()) {
			world_end();
			return STOPPED_ENDED;
		}
		os_sleep_ns(look_ns);	/* it ends */
	}
}

static void
start_goroutines(void)
{
	if (stop.how == STOPPED_WORLD)
		procs_start_world();
	else if (stop.how == STOPPED_DOWN)
		sched_release_down();
	stop.held = false;
}

public int
weft_world_stop_(void)
{
	int err;

	stop.how = stop_goroutines();
	err = stop.how == STOPPED_DOWN ? 0 :
	    halt_all(stop.how == STOPPED_WORLD);
	if (err)
		start_goroutines();
	else
		user_blocks_hold();
	return err;
}

public void
weft_world_start_(void)
{
	user_blocks_release();
	halt_release();
	start_goroutines();
}

/* ---- plain threads ---- */

/* The lock held: the link to it, or NULL. */
static struct self **
find_thread(struct self *me)
{
	struct self **at = &roots_threads;

	while (*at && *at != me)
		at = &(*at)->collect_next;
	return *at ? at : NULL;
}

/* The lock held, and that of the heap: no collection reads the list. */
static bool
add_or_remove(struct self *me, bool add)
{
	struct self **at = find_thread(me);

	if (add == (at != NULL))
		return false;
	if (!add) {
		*at = me->collect_next;
		return true;
	}
	me->collect_next = roots_threads;
	roots_threads = me;
	return true;
}

public int
weft_collector_thread_(bool begin)
{
	struct self *me = self();
	bool changed;

	if (me->mp)
		return -EPERM;
	lock_take(&stop.lock);
	changed = add_or_remove(me, begin);
	lock_drop(&stop.lock);
	return changed;
}

/* ---- a cache for each M ---- */

public void **
weft_cache_enter_(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	/* It is in a signal handler of the program's, or very deep. */
	if (!gp || a_load_relaxed(&mp->inside) || gp->regions == UINT8_MAX)
		return NULL;
	gp->regions++;
	return &mp->collect_cache;
}

public void
weft_cache_leave_(void)
{
	m_g(m_self())->regions--;
}

struct caches {
	void (*fn)(void *cache, void *arg);
	void *arg;
};

static void
call_with_cache(struct m *mp, void *arg)
{
	const struct caches *c = arg;

	if (mp->collect_cache)
		c->fn(mp->collect_cache, c->arg);
}

public void
weft_caches_(void (*fn)(void *cache, void *arg), void *arg)
{
	struct caches c = { fn, arg };

	m_each(call_with_cache, &c);
}

/* ---- the collector's threads, and those that wait for it ---- */

public int
weft_collector_start_(void (*fn)(void *arg), void *arg)
{
	return helper_start(fn, arg);
}

public void
weft_collector_threads_(int n)
{
	helper_count_more(n);
}

/* What is missed while it is counted is checked after it. */
public void
weft_collecting_(bool begin)
{
	bool last;

	lock_take(&sched.lock);
	sched.collecting += begin ? 1u : -1u;
	last = sched.collecting == 0;
	lock_drop(&sched.lock);
	if (last && sched_is_up())
		deadlock_check();
}

public bool
weft_in_call_(void)
{
	struct m *mp = m_self();

	return mp && a_load_relaxed(&mp->in_call);
}

/* The list of blocks is whole in the child. */
public void
weft_collector_forks_(bool begin)
{
	if (begin)
		user_blocks_hold();
	else
		user_blocks_release();
}

/*
 * There was no runtime. What other threads had locked or were doing is over;
 * those that a collector has started are gone.
 */
public bool
weft_collector_forked_(void)
{
	struct self *me = self();
	bool known = find_thread(me) != NULL;

	user_blocks_release();
	if (!sched_is_down())
		return false;
	sched.lock = (struct lock)LOCK_INIT(RANK_SCHED);
	sched.collecting = 0;
	helper_forked();
	stop.lock = (struct lock)LOCK_INIT(RANK_USER_BLOCK);
	me->collect_next = NULL;
	roots_threads = known ? me : NULL;
	return true;
}

public void
weft_collect_wait_(uint32_t *count)
{
	parksema_acquire((a32 *)count, WAIT_COLLECT);
}

public void
weft_collect_wake_(uint32_t *count, uint32_t n)
{
	parksema_release((a32 *)count, n);
}

public bool
weft_debug_number_(const char *key, int64_t *value)
{
	*value = debug_env_num(key, INT64_MIN);
	return *value != INT64_MIN;
}

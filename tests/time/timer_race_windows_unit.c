/* SPDX-License-Identifier: MIT */
/*
 * Moments between two steps of the scheduler, held on to: a timer has left its
 * heap and its goroutine is not queued yet; one ran and set a timer while a
 * deadlock was looked for; an M that leaves was just asked to wait for timers.
 * There is no runtime here, only its records, with no Ps.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "deadlock.h"
#include "expire.h"
#include "plain_thread.h"
#include "sched.h"
#include "t.h"

/* So many threads that none here counts as foreign. */
enum { THREADS = 100 };

static void
setup(void)
{
	list_init(&sched.idle_m);
	a_store_relaxed(&sched.stopping, 0);
	sched.n_m = THREADS;
}

static void
nap(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* Until a thread sleeps on a lock that we hold. */
static void
await_sleeper(struct lock *l)
{
	while (a_load_relaxed(&l->word) != LOCK_SLEEPERS)
		nap(1);
}

/* ---- fired, and not queued yet ---- */

static struct timer timer;
static struct p idle_p;
static atomic_bool fires, go_on;

static void
fire(struct timer *t, int64_t now, struct glist *woken)
{
	(void)t, (void)now, (void)woken;
	fires = true;
	while (!go_on)
		nap(1);
}

PLAIN_THREAD(run_heap, EQ(expire_run(&idle_p.timers), false))

/* The heap of a P that is not in use: it is not looked at, as if the timer had
 * left it. */
TEST(one_about_to_wake_is_counted)
{
	pthread_t t;

	setup();
	EQ(expire_pending(), false);
	timer_init(&timer, fire);
	a_store_rel(&sched.allp[0], &idle_p);	/* pairs with p_at */
	idle_p.timers = (struct timer_heap)TIMER_HEAP_INIT;
	timer_heap_add(&idle_p.timers, &timer, 1);
	EQ(pthread_create(&t, NULL, run_heap, NULL), 0);
	while (!fires)
		nap(1);
	EQ(expire_pending(), true);
	/* no deadlock, but ask again: it may wake no goroutine */
	EQ(deadlock_check(), true);
	go_on = true;
	EQ(pthread_join(t, NULL), 0);
	EQ(expire_pending(), false);
}

/* ---- no goroutine runs, no timer is set, and yet ---- */

PLAIN_THREAD(check_it, EQ(deadlock_check(), false))

/*
 * The deadlock check is held up between the look at the Ps that are idle and
 * the one at the last heap, where it finds nothing. Meanwhile a P ran.
 */
TEST(a_p_ran_between_two_looks)
{
	pthread_t t;

	setup();
	lock_take(&expire_common.lock);
	a_store_sc(&expire_common.first, 1);	/* sc: as publish does */
	EQ(pthread_create(&t, NULL, check_it, NULL), 0);
	await_sleeper(&expire_common.lock);
	lock_take(&sched.lock);
	sched.idle_gen++;	/* a P was taken, and is idle again */
	lock_drop(&sched.lock);
	a_store_sc(&expire_common.first, (uint64_t)NEVER_NS);	/* sc: same */
	lock_drop(&expire_common.lock);
	EQ(pthread_join(t, NULL), 0);
}

/* ---- one leaves ---- */

static struct m leaving, staying;

PLAIN_THREAD(sleep_and_leave, EQ(m_sleep(&leaving), false))

/*
 * An idle M that is one too many has slept long enough. Before it gets the
 * lock a timer is set, and it is asked to wait for that. It leaves, but tells
 * another one.
 */
TEST(a_leaving_watcher_passes_the_watch_on)
{
	int64_t hour = os_now_ns() + INT64_C(3600000000000);
	pthread_t t;

	setup();
	lock_take(&sched.lock);
	m_idle_put(&staying);
	m_idle_put(&leaving);
	a_store_relaxed(&sched.n_idle_p, 1);
	lock_drop(&sched.lock);
	EQ(pthread_create(&t, NULL, sleep_and_leave, NULL), 0);
	nap(100);		/* if this is too short: it is asked before */
	lock_take(&sched.lock);
	await_sleeper(&sched.lock);
	a_store_sc(&expire_common.first, (uint64_t)hour);	/* sc: same */
	note_poke(&leaving.note);
	lock_drop(&sched.lock);
	EQ(pthread_join(t, NULL), 0);
	EQ(note_wait(&staying.note, 0), NOTE_POKED);
}

/* SPDX-License-Identifier: MIT */
/*
 * pthread mutexes, reader-writer locks and condition variables on goroutines,
 * through the hooks: they give what they give on threads. A goroutine that
 * parks with one held comes back on its thread; one that waits for a lock
 * parks.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <dlfcn.h>
#include <pthread.h>

#include "counter.h"
#include "hooked.h"
#include "leave_thread.h"
#include "plain_thread.h"
#include "run_env.h"

enum { MANY = 200, MOVES = 12, MS = 40 };

/* ---- kinds of mutexes ---- */

struct kind {
	const char *name;
	int type, robust, protocol;
};
static const struct kind kinds[] = {
	{ "normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED,
	    PTHREAD_PRIO_NONE },
	{ "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED,
	    PTHREAD_PRIO_NONE },
	{ "recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED,
	    PTHREAD_PRIO_NONE },
	{ "error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED,
	    PTHREAD_PRIO_NONE },
	{ "robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
	    PTHREAD_PRIO_NONE },
	{ "robust, recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST,
	    PTHREAD_PRIO_NONE },
	{ "inheriting", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED,
	    PTHREAD_PRIO_INHERIT },
};
enum { KINDS = sizeof kinds / sizeof kinds[0], NORMAL = 0, RECURSIVE = 2,
	CHECKING = 3, ROBUST = 4 };

static void
mutex_make(pthread_mutex_t *m, int k)
{
	pthread_mutexattr_t a;

	EQ(pthread_mutexattr_init(&a), 0);
	EQ(pthread_mutexattr_settype(&a, kinds[k].type), 0);
	EQ(pthread_mutexattr_setrobust(&a, kinds[k].robust), 0);
	EQ(pthread_mutexattr_setprotocol(&a, kinds[k].protocol), 0);
	EQ(pthread_mutex_init(m, &a), 0);
	EQ(pthread_mutexattr_destroy(&a), 0);
}

#define SAME(kind, a, b)						\
	do {								\
		int got_ = (a);						\
									\
		if (got_ != (b))					\
			t_fail(kinds[kind].name, got_, #a " == " #b);	\
	} while (0)

/* ---- held over waits ---- */

/* One of its own; inside it waits in all ways, and the thread stays. */
static void
hold_over_waits(int k)
{
	pthread_mutex_t m;
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	int tid, v = 1;

	mutex_make(&m, k);
	SAME(k, pthread_mutex_lock(&m), 0);
	tid = thread_id();
	for (int i = 0; i < MOVES; i++) {
		leave_thread(i % LEAVE_WAYS);
		weft_chan_send(c, &v);
		OK(weft_chan_recv(c, &v));
		SAME(k, thread_id() == tid, 1);
	}
	SAME(k, pthread_mutex_unlock(&m), 0);
	SAME(k, pthread_mutex_trylock(&m), 0);
	weft_yield();
	SAME(k, pthread_mutex_unlock(&m), 0);
	SAME(k, pthread_mutex_destroy(&m), 0);
	weft_chan_release(c);
}

static void
hold_over_waits_all(void)
{
	uint64_t held = hooks_now().held_parks;
	weft_waitgroup wg = {0};

	for (int i = 0; i < 4 * KINDS; i++)
		weft_waitgroup_go(&wg, hold_over_waits, i % KINDS);
	weft_waitgroup_wait(&wg);
	OK(hooks_now().held_parks > held);
}

GTEST(held_over_waits, 1) { hold_over_waits_all(); }
GTEST(held_over_waits_on_four, 4) { hold_over_waits_all(); }
ETEST(held_by_goroutines_that_move, 2, "WEFT_MIGRATE=1")
{
	hold_over_waits_all();
}

/* It is free to move again once the last of several is unlocked. */
static void
nested(void)
{
	pthread_mutex_t m[3];
	uint64_t held;

	for (int i = 0; i < 3; i++)
		mutex_make(&m[i], RECURSIVE);
	for (int i = 0; i < 300; i++) {
		EQ(pthread_mutex_lock(&m[i % 3]), 0);
		if (i % 50 == 0)
			weft_yield();
	}
	for (int i = 0; i < 300; i++) {
		if (i % 50 == 0)
			weft_sleep(WEFT_US);
		EQ(pthread_mutex_unlock(&m[i % 3]), 0);
	}
	held = hooks_now().held_parks;
	for (int i = 0; i < 10; i++)
		weft_sleep(WEFT_US);
	EQ(hooks_now().held_parks, held);
}

ETEST(nested_300_deep, 2, "WEFT_MIGRATE=1") { nested(); }

static void
park_without(void)
{
	for (int i = 0; i < 10; i++)
		leave_thread(i % LEAVE_WAYS);
}

GTEST(nothing_held, 2)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, park_without);
	weft_waitgroup_wait(&wg);
	EQ(hooks_now().held_parks, 0);
}

/* ---- results ---- */

struct held {
	pthread_mutex_t m;
	int k;
	weft_event taken, free;
};

/* A goroutine that holds it, parked, until it is told. */
static void
holder(struct held *h)
{
	SAME(h->k, pthread_mutex_lock(&h->m), 0);
	weft_event_set(&h->taken);
	weft_event_wait(&h->free);
	SAME(h->k, pthread_mutex_unlock(&h->m), 0);
}

/* The limit is over, and not too early. */
static void
late(int k, int (*lock)(pthread_mutex_t *m), pthread_mutex_t *m)
{
	double start = t_now();

	SAME(k, lock(m), ETIMEDOUT);
	SAME(k, t_now() - start >= MS / 1e3, 1);
}

static int
timed(pthread_mutex_t *m)
{
	struct timespec when = in_ms(CLOCK_REALTIME, MS);

	return pthread_mutex_timedlock(m, &when);
}

static int
clocked(pthread_mutex_t *m)
{
	struct timespec when = in_ms(CLOCK_MONOTONIC, MS);

	return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &when);
}

static int
clocked_real(pthread_mutex_t *m)
{
	struct timespec when = in_ms(CLOCK_REALTIME, MS);

	return pthread_mutex_clocklock(m, CLOCK_REALTIME, &when);
}

static void
try_while_held(struct held *h)
{
	struct timespec past = { 1, 0 }, bad = { 1, 1000000000 };

	SAME(h->k, pthread_mutex_trylock(&h->m), EBUSY);
	SAME(h->k, pthread_mutex_timedlock(&h->m, &past), ETIMEDOUT);
	SAME(h->k, pthread_mutex_timedlock(&h->m, &bad), EINVAL);
	SAME(h->k, pthread_mutex_clocklock(&h->m, 999, &past), EINVAL);
	late(h->k, timed, &h->m);
	if (kinds[h->k].protocol != PTHREAD_PRIO_INHERIT)
		late(h->k, clocked, &h->m);
	late(h->k, clocked_real, &h->m);
}

THREAD_JOB(try_thread, struct held, h, try_while_held(h))

/* What can be locked is, whatever the limit. */
static void
try_while_free(struct held *h)
{
	struct timespec past = { 1, 0 }, bad = { 1, -1 };

	SAME(h->k, pthread_mutex_trylock(&h->m), 0);
	SAME(h->k, pthread_mutex_unlock(&h->m), 0);
	SAME(h->k, pthread_mutex_timedlock(&h->m, &past), 0);
	SAME(h->k, pthread_mutex_unlock(&h->m), 0);
	SAME(h->k, pthread_mutex_timedlock(&h->m, &bad), 0);
	SAME(h->k, pthread_mutex_unlock(&h->m), 0);
}

static void
results_of(int k)
{
	struct held h = { .k = k };
	weft_waitgroup wg = {0};

	mutex_make(&h.m, k);
	weft_waitgroup_go(&wg, holder, &h);
	weft_event_wait(&h.taken);
	try_while_held(&h);
	thread_run_blocking(try_thread, &h);
	weft_event_set(&h.free);
	SAME(k, pthread_mutex_lock(&h.m), 0);
	SAME(k, pthread_mutex_unlock(&h.m), 0);
	weft_waitgroup_wait(&wg);
	try_while_free(&h);
	SAME(k, pthread_mutex_destroy(&h.m), 0);
}

static void
results(void)
{
	for (int k = 0; k < KINDS; k++)
		results_of(k);
}

GTEST(try_and_timed, 2) { results(); }
ETEST(try_and_timed_that_move, 2, "WEFT_MIGRATE=1") { results(); }

/* The owner is told of its error, and others are not the owner. */
static void
unlock_as_other(pthread_mutex_t *m)
{
	EQ(pthread_mutex_unlock(m), EPERM);
	EQ(pthread_mutex_trylock(m), EBUSY);
}

static void
check_errors(void)
{
	weft_waitgroup wg = {0};
	pthread_mutex_t m;

	mutex_make(&m, CHECKING);
	EQ(pthread_mutex_unlock(&m), EPERM);
	EQ(pthread_mutex_lock(&m), 0);
	EQ(pthread_mutex_lock(&m), EDEADLK);
	EQ(timed(&m), EDEADLK);
	EQ(pthread_mutex_trylock(&m), EBUSY);
	weft_waitgroup_go(&wg, unlock_as_other, &m);
	weft_waitgroup_wait(&wg);
	weft_yield();
	EQ(pthread_mutex_lock(&m), EDEADLK);
	EQ(pthread_mutex_unlock(&m), 0);
	EQ(pthread_mutex_unlock(&m), EPERM);
	EQ(pthread_mutex_destroy(&m), 0);
}

GTEST(error_checking, 1) { check_errors(); }
ETEST(error_checking_that_moves, 2, "WEFT_MIGRATE=1") { check_errors(); }

static void
relock(void)
{
	weft_waitgroup wg = {0};
	pthread_mutex_t m;

	mutex_make(&m, RECURSIVE);
	for (int i = 0; i < 5; i++) {
		EQ(i % 2 ? pthread_mutex_lock(&m) : pthread_mutex_trylock(&m),
		    0);
		weft_yield();
	}
	weft_waitgroup_go(&wg, unlock_as_other, &m);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < 5; i++) {
		EQ(pthread_mutex_unlock(&m), 0);
		weft_yield();
	}
	EQ(pthread_mutex_unlock(&m), EPERM);
}

GTEST(recursive, 1) { relock(); }
ETEST(recursive_that_moves, 2, "WEFT_MIGRATE=1") { relock(); }

/* ---- the owner is dead ---- */

static void *
die_with(void *m)
{
	EQ(pthread_mutex_lock(m), 0);
	return NULL;
}

static void
revive(pthread_mutex_t *m)
{
	EQ(pthread_mutex_lock(m), EOWNERDEAD);
	weft_yield();
	EQ(pthread_mutex_consistent(m), 0);
	EQ(pthread_mutex_unlock(m), 0);
	EQ(pthread_mutex_lock(m), 0);
	EQ(pthread_mutex_unlock(m), 0);
}

ETEST(owner_died, 2, "WEFT_MIGRATE=1")
{
	pthread_mutex_t m;

	mutex_make(&m, ROBUST);
	thread_run_blocking(die_with, &m);
	revive(&m);
	thread_run_blocking(die_with, &m);
	EQ(pthread_mutex_trylock(&m), EOWNERDEAD);
	EQ(pthread_mutex_unlock(&m), 0);
	for (int i = 0; i < 3; i++)
		EQ(timed(&m), ENOTRECOVERABLE);
	EQ(pthread_mutex_trylock(&m), ENOTRECOVERABLE);
}

/* It dies while a goroutine waits. */
struct dying {
	pthread_mutex_t m;
	int taken, die;
};

static void *
die_when_told(void *arg)
{
	struct dying *d = arg;

	EQ(pthread_mutex_lock(&d->m), 0);
	counter_set(&d->taken, 1);
	while (!counter_get(&d->die))
		usleep(1000);
	return NULL;
}

GTEST(owner_dies_while_others_wait, 1)
{
	struct dying d = {0};
	weft_waitgroup wg = {0};
	pthread_t t;
	uint64_t waits;

	mutex_make(&d.m, ROBUST);
	t = thread_start(die_when_told, &d);
	while (!counter_get(&d.taken))
		weft_sleep(WEFT_MS);
	waits = hooks_now().lock_parks + hooks_now().lock_blocks;
	weft_waitgroup_go(&wg, revive, &d.m);
	while (hooks_now().lock_parks + hooks_now().lock_blocks == waits)
		weft_sleep(WEFT_MS);
	counter_set(&d.die, 1);
	weft_waitgroup_wait(&wg);
	weft_blocking(thread_join, &t);
}

/* ---- many waiters ---- */

static int inside, total;

/* Exclusion, also while the one inside is parked. */
static void
enter(pthread_mutex_t *m, int k)
{
	SAME(k, pthread_mutex_lock(m), 0);
	EQ(counter_add(&inside, 1), 1);
	total++;
	if (total % 16 == 0)
		weft_yield();
	EQ(counter_add(&inside, -1), 0);
	SAME(k, pthread_mutex_unlock(m), 0);
}

/* All wait while the owner is parked: few threads, and all get it. */
static void
wait_many(int k)
{
	struct held h = { .k = k };
	weft_waitgroup wg = {0};
	uint64_t waits;

	total = 0;
	mutex_make(&h.m, k);
	weft_waitgroup_go(&wg, holder, &h);
	weft_event_wait(&h.taken);
	waits = hooks_now().lock_parks;
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, enter, &h.m, k);
	if (!GETS_TO(lock_parks, waits + MANY))
		t_fail(kinds[k].name, 0, "did not park");
	FEW_THREADS();
	weft_event_set(&h.free);
	weft_waitgroup_wait(&wg);
	EQ(total, MANY);
	SAME(k, pthread_mutex_destroy(&h.m), 0);
}

GTEST(many_waiters_of_a_normal_mutex, 1) { wait_many(NORMAL); }
GTEST(many_waiters_of_a_recursive_mutex, 1) { wait_many(RECURSIVE); }
GTEST(many_waiters_of_a_checking_mutex, 2) { wait_many(CHECKING); }
GTEST(many_waiters_of_an_adaptive_mutex, 2) { wait_many(1); }
ETEST(many_waiters_that_move, 2, "WEFT_MIGRATE=1") { wait_many(RECURSIVE); }

/* Of a lock that a plain thread has. */
struct outside {
	pthread_mutex_t m;
	int taken, free;
};

static void *
hold_on_thread(void *arg)
{
	struct outside *o = arg;

	EQ(pthread_mutex_lock(&o->m), 0);
	counter_set(&o->taken, 1);
	while (!counter_get(&o->free))
		usleep(1000);
	EQ(pthread_mutex_unlock(&o->m), 0);
	return NULL;
}

GTEST(many_waiters_of_a_plain_threads_mutex, 1)
{
	struct outside o = {0};
	weft_waitgroup wg = {0};
	uint64_t waits = hooks_now().lock_parks;
	pthread_t t;

	mutex_make(&o.m, NORMAL);
	t = thread_start(hold_on_thread, &o);
	while (!counter_get(&o.taken))
		weft_sleep(WEFT_MS);
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, enter, &o.m, NORMAL);
	OK(GETS_TO(lock_parks, waits + MANY));
	FEW_THREADS();
	counter_set(&o.free, 1);
	weft_waitgroup_wait(&wg);
	EQ(total, MANY);
	weft_blocking(thread_join, &t);
}

/* Goroutines and plain threads, all at once, again and again. */
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
enum { TURNS = 300, THREADS = 4 };

static void
turns(void)
{
	for (int i = 0; i < TURNS; i++)
		enter(&shared, NORMAL);
}

PLAIN_THREAD(turns_thread, turns())

static void
contend(void)
{
	weft_waitgroup wg = {0};
	pthread_t t[THREADS];

	threads_start(t, THREADS, turns_thread, NULL);
	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, turns);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < THREADS; i++)
		weft_blocking(thread_join, &t[i]);
	EQ(total, (20 + THREADS) * TURNS);
}

GTEST(threads_and_goroutines, 1) { contend(); }
GTEST(threads_and_goroutines_on_four, 4) { contend(); }
ETEST(threads_and_goroutines_that_move, 2, "WEFT_MIGRATE=1") { contend(); }

/* ---- a lock of its own each ---- */

static void
park_under_own(weft_waitgroup *parked, weft_event *go)
{
	pthread_mutex_t m;

	mutex_make(&m, RECURSIVE);
	EQ(pthread_mutex_lock(&m), 0);
	weft_waitgroup_done(parked);
	weft_event_wait(go);
	EQ(pthread_mutex_unlock(&m), 0);
}

/* That costs a thread each, and works. */
GTEST(thousand_parked_under_locks, 2)
{
	int n = (int)t_scale(1000);
	uint64_t held = hooks_now().held_parks;
	weft_waitgroup parked = {0}, wg = {0};
	weft_event go = {0};

	weft_waitgroup_add(&parked, n);
	for (int i = 0; i < n; i++)
		weft_waitgroup_go(&wg, park_under_own, &parked, &go);
	weft_waitgroup_wait(&parked);
	OK(GETS_TO(held_parks, held + (uint64_t)n));
	weft_event_set(&go);
	weft_waitgroup_wait(&wg);
}

/* ---- an unlock of what was not seen locked ---- */

/* libc's own, by its address: no hook sees that. */
static int
lock_unseen(pthread_mutex_t *m)
{
	int (*lock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))
	    dlsym(RTLD_NEXT, "pthread_mutex_lock");

	OK(lock != NULL && lock != pthread_mutex_lock);
	return lock(m);
}

ETEST(unlock_of_unseen, 2, "WEFT_MIGRATE=1")
{
	pthread_mutex_t unseen, seen;
	uint64_t held;

	mutex_make(&unseen, NORMAL);
	mutex_make(&seen, RECURSIVE);
	for (int i = 0; i < 5; i++) {
		EQ(lock_unseen(&unseen), 0);
		EQ(pthread_mutex_unlock(&unseen), 0);
	}
	/* The count is right still: one that is held is known to be. */
	held = hooks_now().held_parks;
	EQ(pthread_mutex_lock(&seen), 0);
	weft_sleep(WEFT_US);
	OK(hooks_now().held_parks > held);
	EQ(pthread_mutex_unlock(&seen), 0);
	held = hooks_now().held_parks;
	weft_sleep(WEFT_US);
	EQ(hooks_now().held_parks, held);
}

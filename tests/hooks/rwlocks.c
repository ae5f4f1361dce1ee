/* SPDX-License-Identifier: MIT */
/* pthread reader-writer locks and condition variables, through the hooks. */
#define _GNU_SOURCE 1
#include <weft.h>

#include <pthread.h>

#include "counter.h"
#include "hooked.h"
#include "leave_thread.h"
#include "plain_thread.h"
#include "run_env.h"

enum { MANY = 200, MOVES = 12, MS = 40 };

/* ---- reader-writer locks ---- */

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

static void
over_waits(int (*lock)(pthread_rwlock_t *))
{
	pthread_rwlock_t own = PTHREAD_RWLOCK_INITIALIZER;
	int tid;

	EQ(lock(&own), 0);
	tid = thread_id();
	for (int i = 0; i < MOVES; i++) {
		leave_thread(i % LEAVE_WAYS);
		EQ(thread_id(), tid);
	}
	EQ(pthread_rwlock_unlock(&own), 0);
	EQ(pthread_rwlock_trywrlock(&own), 0);
	EQ(pthread_rwlock_unlock(&own), 0);
}

ETEST(held_over_waits, 2, "WEFT_MIGRATE=1")
{
	uint64_t held = hooks_now().held_parks;
	weft_waitgroup wg = {0};

	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, over_waits, i % 2 ?
		    pthread_rwlock_wrlock : pthread_rwlock_rdlock);
	weft_waitgroup_wait(&wg);
	OK(hooks_now().held_parks > held);
}

struct holding {
	int (*lock)(pthread_rwlock_t *);
	weft_event taken, free;
};

static void
hold(struct holding *h)
{
	EQ(h->lock(&rw), 0);
	weft_event_set(&h->taken);
	weft_event_wait(&h->free);
	EQ(pthread_rwlock_unlock(&rw), 0);
}

#define LATE(call, clock)						\
	do {								\
		struct timespec when = in_ms(clock, MS);		\
		double start = t_now();					\
									\
		EQ(call, ETIMEDOUT);					\
		OK(t_now() - start >= MS / 1e3);			\
	} while (0)

static void
try_while_written(void)
{
	struct timespec bad = { 1, 1000000000 };

	EQ(pthread_rwlock_tryrdlock(&rw), EBUSY);
	EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
	EQ(pthread_rwlock_timedrdlock(&rw, &bad), EINVAL);
	EQ(pthread_rwlock_timedwrlock(&rw, &bad), EINVAL);
	LATE(pthread_rwlock_timedrdlock(&rw, &when), CLOCK_REALTIME);
	LATE(pthread_rwlock_timedwrlock(&rw, &when), CLOCK_REALTIME);
	LATE(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &when),
	    CLOCK_MONOTONIC);
	LATE(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &when),
	    CLOCK_MONOTONIC);
	LATE(pthread_rwlock_clockwrlock(&rw, CLOCK_REALTIME, &when),
	    CLOCK_REALTIME);
}

static void
try_while_read(void)
{
	EQ(pthread_rwlock_tryrdlock(&rw), 0);
	EQ(pthread_rwlock_unlock(&rw), 0);
	EQ(pthread_rwlock_rdlock(&rw), 0);
	EQ(pthread_rwlock_unlock(&rw), 0);
	EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
	LATE(pthread_rwlock_timedwrlock(&rw, &when), CLOCK_REALTIME);
}

static void
try_while(int (*lock)(pthread_rwlock_t *), void (*try)(void))
{
	struct holding h = { .lock = lock };
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, hold, &h);
	weft_event_wait(&h.taken);
	try();
	thread_call_blocking(try);
	weft_event_set(&h.free);
	weft_waitgroup_wait(&wg);
	EQ(pthread_rwlock_trywrlock(&rw), 0);
	EQ(pthread_rwlock_unlock(&rw), 0);
}

GTEST(results_while_written, 2)
{
	try_while(pthread_rwlock_wrlock, try_while_written);
}

GTEST(results_while_read, 2)
{
	try_while(pthread_rwlock_rdlock, try_while_read);
}

/* Its own writer is told of its error. */
ETEST(error_of_its_own, 2, "WEFT_MIGRATE=1")
{
	EQ(pthread_rwlock_wrlock(&rw), 0);
	EQ(pthread_rwlock_wrlock(&rw), EDEADLK);
	weft_yield();
	EQ(pthread_rwlock_rdlock(&rw), EDEADLK);
	EQ(pthread_rwlock_unlock(&rw), 0);
}

static int writers, readers, written;

static void
enter(int nr)
{
	if (nr % 4) {
		EQ(pthread_rwlock_rdlock(&rw), 0);
		counter_add(&readers, 1);
		EQ(counter_get(&writers), 0);
		weft_yield();
		counter_add(&readers, -1);
	} else {
		EQ(pthread_rwlock_wrlock(&rw), 0);
		EQ(counter_add(&writers, 1), 1);
		EQ(counter_get(&readers), 0);
		written++;
		weft_yield();
		counter_add(&writers, -1);
	}
	EQ(pthread_rwlock_unlock(&rw), 0);
}

static void
wait_many(int (*lock)(pthread_rwlock_t *), int nr_step)
{
	struct holding h = { .lock = lock };
	uint64_t waits = hooks_now().lock_parks;
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, hold, &h);
	weft_event_wait(&h.taken);
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, enter, i * nr_step);
	OK(GETS_TO(lock_parks, waits + MANY));
	FEW_THREADS();
	weft_event_set(&h.free);
	weft_waitgroup_wait(&wg);
	EQ(written, nr_step == 4 ? MANY : MANY / 4);
}

/* Readers and writers wait for a writer; writers for a reader. */
GTEST(many_wait_for_a_writer, 1) { wait_many(pthread_rwlock_wrlock, 1); }
GTEST(writers_wait_for_a_reader, 2) { wait_many(pthread_rwlock_rdlock, 4); }
ETEST(many_wait_and_move, 2, "WEFT_MIGRATE=1")
{
	wait_many(pthread_rwlock_wrlock, 1);
}

PLAIN_THREAD(enter_thread, for (int i = 0; i < 200; i++) enter(i))

static void
enter_often(void)
{
	for (int i = 0; i < 200; i++)
		enter(i);
}

static void
contend(void)
{
	weft_waitgroup wg = {0};
	pthread_t t[3];

	threads_start(t, 3, enter_thread, NULL);
	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, enter_often);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < 3; i++)
		weft_blocking(thread_join, &t[i]);
	EQ(written, 23 * 50);
}

GTEST(threads_and_goroutines, 2) { contend(); }
ETEST(threads_and_goroutines_that_move, 2, "WEFT_MIGRATE=1") { contend(); }

/* ---- condition variables ---- */

enum { ITEMS = 400, MAKERS = 4, USERS = 4, ROOM = 4 };

static struct {
	pthread_mutex_t m;
	pthread_cond_t more, less;
	int n, made, used;
} queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
	PTHREAD_COND_INITIALIZER, 0, 0, 0 };

static void
make_items(void)
{
	for (int i = 0; i < ITEMS; i++) {
		EQ(pthread_mutex_lock(&queue.m), 0);
		while (queue.n == ROOM)
			EQ(pthread_cond_wait(&queue.less, &queue.m), 0);
		queue.n++;
		queue.made++;
		EQ(pthread_cond_signal(&queue.more), 0);
		EQ(pthread_mutex_unlock(&queue.m), 0);
	}
}

static void
use_items(void)
{
	for (int i = 0; i < ITEMS; i++) {
		EQ(pthread_mutex_lock(&queue.m), 0);
		while (queue.n == 0)
			EQ(pthread_cond_wait(&queue.more, &queue.m), 0);
		queue.n--;
		queue.used++;
		EQ(pthread_cond_signal(&queue.less), 0);
		EQ(pthread_mutex_unlock(&queue.m), 0);
	}
}

PLAIN_THREAD(make_thread, make_items())
PLAIN_THREAD(use_thread, use_items())

/* Half of them are goroutines; all want the same lock. */
static void
exchange(void)
{
	weft_waitgroup wg = {0};
	pthread_t t[(MAKERS + USERS) / 2];
	int n = 0;

	for (int i = 0; i < MAKERS / 2; i++) {
		t[n++] = thread_start(make_thread, NULL);
		weft_waitgroup_go(&wg, make_items);
	}
	for (int i = 0; i < USERS / 2; i++) {
		t[n++] = thread_start(use_thread, NULL);
		weft_waitgroup_go(&wg, use_items);
	}
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < n; i++)
		weft_blocking(thread_join, &t[i]);
	EQ(queue.n, 0);
	EQ(queue.made, MAKERS * ITEMS);
	EQ(queue.used, USERS * ITEMS);
}

GTEST(queue_of_threads_and_goroutines, 1) { exchange(); }
GTEST(queue_on_four, 4) { exchange(); }
ETEST(queue_of_goroutines_that_move, 2, "WEFT_MIGRATE=1") { exchange(); }

/* The limit is over; the lock is held again, and by this goroutine. */
static void
wait_late(void)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec bad = { 1, 1000000000 };

	EQ(pthread_mutex_lock(&m), 0);
	EQ(pthread_cond_timedwait(&c, &m, &bad), EINVAL);
	LATE(pthread_cond_timedwait(&c, &m, &when), CLOCK_REALTIME);
	LATE(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &when),
	    CLOCK_MONOTONIC);
	EQ(pthread_mutex_lock(&m), EDEADLK);
	EQ(pthread_mutex_unlock(&m), 0);
	EQ(pthread_mutex_unlock(&m), EPERM);
	EQ(pthread_cond_wait(&c, &m), EPERM);
}

ETEST(condition_too_late, 2, "WEFT_MIGRATE=1") { wait_late(); }

/* A wait lets the lock go: another gets it, and is not in the way. */
static void
wake_other(void)
{
	EQ(pthread_mutex_lock(&queue.m), 0);
	queue.n = 1;
	EQ(pthread_cond_broadcast(&queue.more), 0);
	EQ(pthread_mutex_unlock(&queue.m), 0);
}

static void
await_other(void)
{
	EQ(pthread_mutex_lock(&queue.m), 0);
	while (queue.n == 0)
		EQ(pthread_cond_wait(&queue.more, &queue.m), 0);
	queue.used++;
	weft_yield();
	EQ(pthread_mutex_unlock(&queue.m), 0);
}

ETEST(broadcast, 1, "WEFT_MIGRATE=1")
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 50; i++)
		weft_waitgroup_go(&wg, await_other);
	while (hooks_now().lock_blocks + hooks_now().lock_parks +
	    hooks_now().announced == 0 && queue.used == 0)
		weft_sleep(WEFT_MS);
	wake_other();
	weft_waitgroup_wait(&wg);
	EQ(queue.used, 50);
}

/* The lock that a wait released is not counted as held. */
static void
after_a_wait(void)
{
	uint64_t held;

	await_other();
	held = hooks_now().held_parks;
	for (int i = 0; i < 5; i++)
		weft_sleep(WEFT_US);
	EQ(hooks_now().held_parks, held);
}

GTEST(nothing_is_held_after_a_wait, 1)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, after_a_wait);
	weft_yield();
	wake_other();
	weft_waitgroup_wait(&wg);
}

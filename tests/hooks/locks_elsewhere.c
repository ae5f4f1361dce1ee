/* SPDX-License-Identifier: MIT */
/*
 * pthread locks that goroutines wait for, used where libweft is not to be
 * called: in announced calls, in the child of a fork, and after the runtime
 * has ended. And those of C11, which are counted, too.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#include <weft.h>

#include "child_process.h"
#include "counter.h"
#include "hooked.h"
#include "run_env.h"
#include "t.h"

/* Seconds after which a process that waits for ever is ended. */
enum { HUNG = 15 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void
enter(void)
{
	EQ(pthread_mutex_lock(&m), 0);
	for (volatile int i = 0; i < 200; i++)
		;
	EQ(pthread_mutex_unlock(&m), 0);
}

/* ---- in an announced call ---- */

static void *
enter_blocking(void *arg)
{
	enter();
	return arg;
}

static void
enter_announced(long *stop)
{
	while (!get(stop))
		weft_blocking(enter_blocking, NULL);
}

static void
enter_parked(long *stop)
{
	while (!get(stop))
		enter();
}

/* The unlocks of the former have waiters: the latter. */
static void
announce(void)
{
	enum { EACH = 32 };
	weft_waitgroup wg = {0};
	long stop = 0;

	for (int i = 0; i < EACH; i++) {
		weft_waitgroup_go(&wg, enter_announced, &stop);
		weft_waitgroup_go(&wg, enter_parked, &stop);
	}
	OK(GETS_TO(lock_parks, 1));
	stop_after(1, &stop, &wg);
}

GTEST(in_announced_calls, 2) { announce(); }

/* ---- in the child of a fork ---- */

/*
 * What the goroutines were doing with the lock they do not finish there: as an
 * atfork handler would, the child makes it anew.
 */
static void
use_in_child(void)
{
	int err = pthread_mutex_init(&m, NULL);

	signal(SIGALRM, SIG_DFL);
	alarm(HUNG);
	for (int i = 0; i < 3; i++) {
		err |= pthread_mutex_lock(&m);
		err |= pthread_mutex_unlock(&m);
	}
	_exit(err != 0);
}

/* At any moment of waits and wake-ups of others. */
static void
fork_often(void)
{
	enum { EACH = 16 };
	weft_waitgroup wg = {0};
	long stop = 0;
	int err = 0;

	for (int i = 0; i < EACH; i++)
		weft_waitgroup_go(&wg, enter_parked, &stop);
	OK(GETS_TO(lock_parks, EACH));
	for (int i = 0; i < t_scale(100) && err == 0; i++) {
		pid_t pid = fork();

		if (pid == 0)
			use_in_child();
		err = exit_status(pid);
		weft_sleep(WEFT_US * i);
	}
	EQ(err, 0);
	bump(&stop);
	weft_waitgroup_wait(&wg);
}

GTEST(in_the_child_of_a_fork, 4) { fork_often(); }

/* ---- after the end ---- */

enum { LOCKS = 16 };

static pthread_mutex_t many[LOCKS];

static void
enter_for_ever(pthread_mutex_t *one)
{
	for (;;) {
		pthread_mutex_lock(one);
		pthread_mutex_unlock(one);
	}
}

/* Goroutines may have been stopped with some of the locks held. */
static void
use_at_exit(void)
{
	for (int i = 0; i < 10 * LOCKS; i++)
		if (!pthread_mutex_trylock(&many[i % LOCKS]))
			pthread_mutex_unlock(&many[i % LOCKS]);
}

/* They wait, and wake each other, when the main goroutine returns. */
static void
leave_waiters(void)
{
	for (int i = 0; i < 4 * LOCKS; i++)
		weft_go(enter_for_ever, &many[i % LOCKS]);
	OK(GETS_TO(lock_parks, LOCKS));
}

static void
run_and_exit(void)
{
	alarm(HUNG);
	atexit(use_at_exit);
	run_env(4, "WEFT_SLICE_US=50", leave_waiters);
	exit(0);
}

TEST(at_exit)
{
	int err = 0;

	for (int i = 0; i < t_scale(10) && err == 0; i++) {
		pid_t pid = fork();

		if (pid == 0)
			run_and_exit();
		err = exit_status(pid);
	}
	EQ(err, 0);
}

/* ---- locks of C11 ---- */

/* Its owner is a thread, so the goroutine must come back on that. */
static void
hold_over_sleeps(void)
{
	mtx_t own;

	EQ(mtx_init(&own, mtx_recursive), thrd_success);
	for (int i = 0; i < 10; i++) {
		int tid;

		EQ(mtx_lock(&own), thrd_success);
		tid = thread_id();
		EQ(mtx_trylock(&own), thrd_success);
		usleep(200);
		EQ(thread_id(), tid);
		EQ(mtx_unlock(&own), thrd_success);
		usleep(200);
		EQ(mtx_unlock(&own), thrd_success);
	}
	mtx_destroy(&own);
}

ETEST(c11_mutexes, 2, "WEFT_MIGRATE=1")
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, hold_over_sleeps);
	weft_waitgroup_wait(&wg);
	OK(hooks_now().held_parks > 0);
}

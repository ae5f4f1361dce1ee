/* SPDX-License-Identifier: MIT */
/*
 * weft_thread_hold: a goroutine that holds its thread comes back on it from
 * every wait, whatever the others do, so that a recursive pthread mutex can be
 * unlocked. And weft_can_park.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

#include "counter.h"
#include "plain_thread.h"
#include "t.h"

enum { GOROUTINES = 20, ROUNDS = 50 };

static weft_waitgroup all;
static weft_chan *tokens;
static weft_mutex mutex;
static int pipes[2];

static void
recursive(pthread_mutex_t *m)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	EQ(pthread_mutex_init(m, &a), 0);
	pthread_mutexattr_destroy(&a);
}

static void *
sleep_in_kernel(void *arg)
{
	usleep(200);
	return arg;
}

/* One of the ways to wait, or only to be asked to yield. */
static void
wait_somehow(int k)
{
	char c = 0;
	int v = 1;

	switch (k % 7) {
	case 0: weft_yield(); break;
	case 1: weft_sleep(100 * WEFT_US); break;
	case 2: weft_chan_send(tokens, &v); weft_chan_recv(tokens, &v); break;
	case 3: weft_mutex_lock(&mutex); weft_yield();
		weft_mutex_unlock(&mutex); break;
	case 4: weft_blocking(sleep_in_kernel, NULL); break;
	case 5: EQ(weft_write(pipes[1], "x", 1), 1);
		EQ(weft_read(pipes[0], &c, 1), 1); break;
	default: for (int i = 0; i < 1000; i++)
			weft_checkpoint();
	}
}

static void
holder(int seed)
{
	pthread_mutex_t m;

	recursive(&m);
	for (int i = 0; i < t_scale(ROUNDS); i++) {
		pthread_t thread;

		weft_thread_hold();
		EQ(pthread_mutex_lock(&m), 0);
		thread = pthread_self();
		wait_somehow(seed + i);
		OK(pthread_equal(thread, pthread_self()));
		EQ(pthread_mutex_unlock(&m), 0);
		weft_thread_release();
		wait_somehow(seed + i / 7);
	}
	EQ(pthread_mutex_destroy(&m), 0);
	weft_waitgroup_done(&all);
}

static void
hold_all(void)
{
	EQ(pipe(pipes), 0);
	tokens = weft_chan_make(sizeof(int), 2);
	weft_waitgroup_add(&all, GOROUTINES);
	for (int i = 0; i < GOROUTINES; i++)
		weft_go(holder, i);
	weft_waitgroup_wait(&all);
	weft_chan_release(tokens);
	close(pipes[0]);
	close(pipes[1]);
}

GTEST(same_thread_on_1, 1) { hold_all(); }
GTEST(same_thread_on_2, 2) { hold_all(); }
GTEST(same_thread_on_8, 8) { hold_all(); }

static int
main_holds(int argc, char **argv)
{
	(void)argc, (void)argv;
	hold_all();
	return 0;
}

/* Every checkpoint moves a goroutine that may be moved; slices are short. */
TEST(same_thread_though_others_migrate)
{
	OK(setenv("WEFT_MIGRATE", "1", 1) == 0);
	OK(setenv("WEFT_SLICE_US", "50", 1) == 0);
	EQ(weft_run_with(main_holds, 0, NULL, .procs = 4), 0);
}

/* ---- depth ---- */

GTEST(releases_without_a_hold, 2)
{
	weft_thread_release();
	weft_thread_hold();
	weft_thread_hold();
	weft_thread_release();
	weft_yield();
	weft_thread_release();
	weft_thread_release();
	weft_yield();
}

/* A goroutine may end while it holds: the next one on its record does not. */
static void
ends_holding(void)
{
	weft_thread_hold();
	weft_yield();
	weft_waitgroup_done(&all);
}

GTEST(ends_with_its_goroutine, 2)
{
	for (int i = 0; i < 1000; i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(ends_holding);
		weft_waitgroup_wait(&all);
	}
}

/* Many that are parked with a hold: a thread each, and all are woken. */
static int parked;

static void
parks_holding(weft_event *e)
{
	pthread_t thread = pthread_self();

	weft_thread_hold();
	counter_add(&parked, 1);
	weft_event_wait(e);
	OK(pthread_equal(thread, pthread_self()));
	weft_thread_release();
	weft_waitgroup_done(&all);
}

GTEST(a_hundred_parked, 2)
{
	weft_event e = {0};
	int n = (int)t_scale(100);

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(parks_holding, &e);
	while (counter_get(&parked) < n)
		weft_yield();
	weft_event_set(&e);
	weft_waitgroup_wait(&all);
}

/* ---- weft_can_park ---- */

static int in_handler = -1;

static void
ask_in_handler(int sig)
{
	(void)sig;
	counter_set(&in_handler, weft_can_park());
}

static void *
ask_in_call(void *arg)
{
	*(bool *)arg = weft_can_park();
	return NULL;
}

GTEST(can_park_on_a_goroutine_alone, 2)
{
	struct sigaction a = { .sa_handler = ask_in_handler };
	bool answer = true;

	OK(weft_can_park());
	weft_blocking(ask_in_call, &answer);
	OK(!answer);
	answer = true;
	thread_run(ask_in_call, &answer);
	OK(!answer);
	EQ(sigaction(SIGUSR1, &a, NULL), 0);
	EQ(raise(SIGUSR1), 0);
	EQ(counter_get(&in_handler), 0);
	OK(weft_can_park());
}

TEST(cannot_park_without_a_runtime)
{
	OK(!weft_can_park());
	weft_thread_hold();
	weft_thread_release();
}

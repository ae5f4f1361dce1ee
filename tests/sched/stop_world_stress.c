/* SPDX-License-Identifier: MIT */
/*
 * What stopping the world once got wrong: it forgot work, threads, and that
 * the runtime can end meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <weft.h>

#include "t.h"

static int flag;

static void
raise_flag(void)
{
	__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

/*
 * A goroutine is queued and its spawner stops and starts the world, and then
 * spins: an idle P must take it. (A spinner that stopped with the world had
 * been relied on to.)
 */
GTEST(work_is_remembered, 2)
{
	for (long i = 0; i < t_scale(2000); i++) {
		flag = 0;
		OK(weft_try_go(raise_flag) > 0);
		OK(weft_set_procs(2 + (i & 1)) > 0);
		while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
			sched_yield();
	}
}

static weft_waitgroup all;

static void
busy(void)
{
	for (int i = 0; i < 3; i++) {
		for (volatile int k = 0; k < 3000; k++)
			;
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static int
shrink_and_grow(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (long i = 0; i < t_scale(5000); i++) {
		weft_waitgroup_add(&all, 8);
		for (int k = 0; k < 8; k++)
			weft_go(busy);
		weft_set_procs(1);
		weft_set_procs(4);
		weft_waitgroup_wait(&all);
	}
	return 7;
}

/* With as many threads allowed as procs none may be made while one idles. */
TEST(threads_are_remembered)
{
	weft_config c = { .procs = 4, .max_threads = 4 };

	EQ(weft_run_config(&c, sizeof c, shrink_and_grow, 0, NULL), 7);
}

static pthread_t resizer_thread;
static int quit;

static void *
resizer(void *arg)
{
	for (int i = 0; !__atomic_load_n(&quit, __ATOMIC_ACQUIRE); i++)
		weft_set_procs(1 + (i & 3));
	return arg;
}

static void
forever(void)
{
	for (;;) {
		for (volatile int k = 0; k < 3000; k++)
			;
		weft_yield();
	}
}

static int
return_meanwhile(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 8; i++)
		weft_go(forever);
	pthread_create(&resizer_thread, NULL, resizer, NULL);
	for (int i = 0; i < argc; i++)
		weft_yield();
	return 7;
}

/* A thread that waits for the world to stop gets out when main returns. */
static void
end_while_stopping(int yields)
{
	EQ(weft_run(return_meanwhile, yields, NULL), 7);
	__atomic_store_n(&quit, 1, __ATOMIC_RELEASE);
	pthread_join(resizer_thread, NULL);
}

/* The turn is with a goroutine that never runs again; others wait for it. */
static int in_goroutine, go_on;

static void
want_turn(void)
{
	__atomic_store_n(&in_goroutine, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
		sched_yield();
	weft_set_procs(4);
}

static void *
set_procs_once(void *started)
{
	int r;

	__atomic_store_n((int *)started, 1, __ATOMIC_RELEASE);
	r = weft_set_procs(3);
	OK(r > 0 || r == -EPERM);
	return NULL;
}

static pthread_t queue[3];
static int started[3];

static int
return_before_their_turn(int argc, char **argv)
{
	(void)argc, (void)argv;
	weft_go(want_turn);
	while (!__atomic_load_n(&in_goroutine, __ATOMIC_ACQUIRE))
		weft_yield();
	for (int i = 0; i < 3; i++) {
		pthread_create(&queue[i], NULL, set_procs_once, &started[i]);
		while (!__atomic_load_n(&started[i], __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
		for (int k = 0; k < 1000; k++)
			sched_yield();
	}
	return 7;
}

TEST(end_before_their_turn)
{
	weft_config c = { .procs = 2 };

	EQ(weft_run_config(&c, sizeof c, return_before_their_turn, 0, NULL), 7);
	for (int i = 0; i < 3; i++)
		pthread_join(queue[i], NULL);
}

TEST(end_after_10) { end_while_stopping(10); }
TEST(end_after_50) { end_while_stopping(50); }
TEST(end_after_200) { end_while_stopping(200); }
TEST(end_after_1000) { end_while_stopping(1000); }

/* SPDX-License-Identifier: MIT */
/* Timers that are set before there is a runtime: they fire when there is. */
#include "t.h"

#include <pthread.h>
#include <weft.h>

static weft_chan *after[3];
static weft_timer *ticker, *func;
static weft_event called;
static int64_t made;

enum { WAIT = 20 };	/* seconds */

static void
call(void *arg)
{
	OK(weft_self_id() > 0);
	weft_event_set(arg);
}

static void
set_all(int64_t ns)
{
	made = weft_now();
	for (int i = 0; i < 3; i++)
		after[i] = weft_after(ns + i * WEFT_MS);
	ticker = weft_ticker_make(ns ? ns : 1);
	func = weft_after_func(ns, call, &called);
}

static void
await_all(int64_t ns)
{
	int64_t limit = weft_deadline(WAIT * WEFT_SECOND), when;

	for (int i = 0; i < 3; i++) {
		EQ(weft_chan_recv_until(after[i], &when, limit), true);
		OK(when - made >= ns + i * WEFT_MS);
		weft_chan_release(after[i]);
	}
	for (int i = 0; i < 3; i++)
		EQ(weft_chan_recv_until(weft_timer_chan(ticker), NULL, limit),
		    true);
	OK(weft_event_wait_until(&called, limit));
	weft_timer_free(ticker);
	weft_timer_free(func);
}

static int64_t first;

static int
run_all(int argc, char **argv)
{
	(void)argc, (void)argv;
	await_all(first);
	weft_sleep(WEFT_MS);
	return 3;
}

static void
run(int procs, int64_t ns)
{
	weft_config config = { .procs = procs };

	first = ns;
	set_all(ns);
	EQ(weft_run_config(&config, sizeof config, run_all, 0, NULL), 3);
}

TEST(at_once_on_one) { run(1, 0); }
TEST(at_once_on_two) { run(2, 0); }
TEST(soon_on_one) { run(1, 5 * WEFT_MS); }
TEST(soon_on_two) { run(2, 5 * WEFT_MS); }
TEST(soon_on_eight) { run(8, 5 * WEFT_MS); }

/* The main goroutine computes: another processor is there for the timers. */
static int
compute(int argc, char **argv)
{
	int64_t limit = weft_deadline(WAIT * WEFT_SECOND);

	(void)argc, (void)argv;
	while (!weft_event_is_set(&called) && weft_now() < limit)
		;
	OK(weft_event_is_set(&called));
	return 0;
}

TEST(while_main_computes)
{
	weft_config config = { .procs = 2 };

	set_all(2 * WEFT_MS);
	EQ(weft_run_config(&config, sizeof config, compute, 0, NULL), 0);
}

/* A thread sets them while the runtime starts. */
static weft_event enough;
static weft_waitgroup thread;

static void *
set_some(void *arg)
{
	for (int i = 0; i < 10 || !weft_event_is_set(&enough); i++) {
		weft_timer *t = weft_timer_make(WEFT_US);

		weft_chan_recv(weft_timer_chan(t), NULL);
		weft_timer_free(t);
	}
	weft_waitgroup_done(&thread);
	return arg;
}

static int
see_some(int argc, char **argv)
{
	(void)argc, (void)argv;
	weft_sleep(WEFT_MS);
	weft_event_set(&enough);
	weft_waitgroup_wait(&thread);
	return 0;
}

TEST(while_it_starts)
{
	weft_config config = { .procs = 2 };
	pthread_t t;

	weft_waitgroup_add(&thread, 1);
	EQ(pthread_create(&t, NULL, set_some, NULL), 0);
	EQ(weft_run_config(&config, sizeof config, see_some, 0, NULL), 0);
	EQ(pthread_join(t, NULL), 0);
}

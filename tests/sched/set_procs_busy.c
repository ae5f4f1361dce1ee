/* SPDX-License-Identifier: MIT */
/*
 * The number of processors changes, and main returns, while goroutines loop or
 * are blocked in calls of other libraries: neither waits for them.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <unistd.h>

#include "run_env.h"

enum { KINDS = 4 };

static int fd[2];
static long stop, begun;

static void *
read_one(void *arg)
{
	char c;

	while (read(fd[0], &c, 1) < 0)
		;
	return arg;
}

static void
stuck(int kind)
{
	bump(&begun);
	switch (kind) {
	case 0:
		compute(&stop);
		break;
	case 1:
		read_one(NULL);
		break;
	case 2:
		weft_blocking(read_one, NULL);
		break;
	default:
		weft_pin();
		compute(&stop);
	}
}

static void
start(int n)
{
	EQ(pipe(fd), 0);
	for (int i = 0; i < n; i++)
		weft_go(stuck, i % KINDS);
	await(&begun, n);
}

static void
release(int n)
{
	static const char text[100];

	bump(&stop);
	EQ(write(fd[1], text, (size_t)n), n);
	while (weft_goroutines() > 1)
		weft_sleep(WEFT_MS);
}

static void
resize(void)
{
	static const int procs[] = { 1, 4, 2, 8, 1, 3 };

	for (int i = 0; i < 6; i++) {
		OK(weft_set_procs(procs[i]) > 0);
		EQ(weft_procs(), procs[i]);
		weft_yield();
		weft_sleep(WEFT_MS);
	}
}

static void
resized(void)
{
	start(12);
	resize();
	release(12);
	resize();
}

GTEST(procs_change, 2) { resized(); }
GTEST(procs_change_on_one, 1) { resized(); }
ETEST(procs_change_without_signals, 2, "WEFT_PREEMPT_SIGNAL=-1") { resized(); }
ETEST(procs_change_migrating, 2, "WEFT_MIGRATE=1") { resized(); }

static void *
resizer(void *arg)
{
	resize();
	bump(arg);
	return NULL;
}

/* By a thread, while every goroutine is stuck but main. */
GTEST(procs_change_by_a_thread, 2)
{
	static long done;
	pthread_t t;

	start(8);
	EQ(pthread_create(&t, NULL, resizer, &done), 0);
	await(&done, 1);
	pthread_join(t, NULL);
	release(8);
}

/* ---- main returns ---- */

static int
leaves(int argc, char **argv)
{
	(void)argv;
	start(argc);
	return 12;
}

static void
returns(int procs, const char *env)
{
	weft_config c = { .procs = procs };
	double end;

	if (env)
		putenv((char *)(uintptr_t)env);
	EQ(weft_run_config(&c, sizeof c, leaves, 12, NULL), 12);
	/* Those that loop go on; it is over for all others. */
	EQ(weft_procs(), 0);
	for (end = t_now() + 0.05; t_now() < end;)
		weft_yield();
	bump(&stop);
	EQ(write(fd[1], "abcdefgh", 8), 8);
	for (end = t_now() + 0.05; t_now() < end;)
		weft_yield();
}

TEST(main_returns) { returns(2, NULL); }
TEST(main_returns_on_one) { returns(1, NULL); }
TEST(main_returns_without_signals) { returns(2, "WEFT_PREEMPT_SIGNAL=-1"); }
TEST(main_returns_short_slice) { returns(2, "WEFT_SLICE_US=50"); }
TEST(main_returns_migrating) { returns(2, "WEFT_MIGRATE=1"); }

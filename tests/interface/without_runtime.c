/* SPDX-License-Identifier: MIT */
/* What the functions say when no runtime runs: before it, and after it. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

static int ran;

static void run(int n) { ran += n; }
static void run_arg(void *arg) { ran += *(int *)arg; }

static void
nothing_runs(void)
{
	weft_stats s;
	int one = 1;

	EQ(weft_try_go(run, 1), -EPERM);
	EQ(weft_try_go_opt(WEFT_OPT(.name = "early"), run, 1), -EPERM);
	EQ(weft_spawn(NULL, 0, run_arg, &one, sizeof one), -EPERM);
	EQ(weft_set_procs(2), -EPERM);
	EQ(weft_procs(), 0);
	EQ(weft_self_id(), 0);
	OK(strcmp(weft_self_name(), "") == 0);
	EQ(weft_stats_read_proc(0, &s, sizeof s), -EINVAL);
	weft_stats_read(&s, sizeof s);
	EQ(s.procs, 0);
	weft_yield();
	EQ(ran, 0);
}

static int
main_goroutine(int argc, char **argv)
{
	(void)argv;
	EQ(weft_procs(), 2);
	OK(weft_self_id() > 0);
	return argc;
}

TEST(before)
{
	weft_stats s, zero = {0};

	nothing_runs();
	EQ(weft_goroutines(), 0);
	weft_stats_read(&s, sizeof s);
	OK(memcmp(&s, &zero, sizeof s) == 0);
}

TEST(after)
{
	weft_config c = { .procs = 2 };

	nothing_runs();
	EQ(weft_run_config(&c, sizeof c, main_goroutine, 6, NULL), 6);
	nothing_runs();
}

/*
 * Goroutines and threads that are left when main returns have done nothing
 * wrong if they start another goroutine: it never runs.
 */
static weft_waitgroup left;
static int stop;

static void nothing(void) { }

static void
starts_more(void)
{
	for (;;)
		weft_go(nothing);
}

static int
starts_in_a_group(weft_group *g)
{
	for (;;) {
		weft_group_go(g, starts_in_a_group, g);
		weft_waitgroup_go(&left, nothing);
	}
	return 0;
}

static void *
starts_plainly(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		weft_go(nothing);
	return arg;
}

static int
leaves_many(int argc, char **argv)
{
	static weft_group g = { .limit = 3 };

	(void)argv;
	for (int i = 0; i < 4; i++)
		weft_go(starts_more);
	weft_group_go(&g, starts_in_a_group, &g);
	for (int i = 0; i < 20; i++)
		weft_yield();
	return argc;
}

TEST(those_that_are_left)
{
	pthread_t t;

	EQ(weft_run_with(main_goroutine, 3, NULL, .procs = -1), -EINVAL);
	EQ(weft_run_with(leaves_many, 4, NULL, .procs = 4), 4);
	EQ(pthread_create(&t, NULL, starts_plainly, NULL), 0);
	weft_go(run, 1);
	usleep(20000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	EQ(ran, 0);
	EQ(weft_try_go(run, 1), -EPERM);
}

TEST(after_a_refused_start)
{
	weft_config c = { .procs = -1 };

	EQ(weft_run_config(&c, sizeof c, main_goroutine, 6, NULL), -EINVAL);
	nothing_runs();
	c.procs = 2;
	EQ(weft_run_config(&c, sizeof c, main_goroutine, 6, NULL), 6);
}

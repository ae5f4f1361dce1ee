/* SPDX-License-Identifier: MIT */
/* What the functions say when no runtime runs: before it, and after it. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

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

	EQ(weft_go(run, 1), -EPERM);
	EQ(weft_go_opt(WEFT_OPT(.name = "early"), run, 1), -EPERM);
	EQ(weft_spawn(NULL, run_arg, &one, sizeof one), -EPERM);
	EQ(weft_set_procs(2), -EPERM);
	EQ(weft_procs(), 0);
	EQ(weft_self_id(), 0);
	OK(strcmp(weft_self_name(), "") == 0);
	EQ(weft_stats_read_proc(0, &s), -EINVAL);
	weft_stats_read(&s);
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
	weft_stats_read(&s);
	OK(memcmp(&s, &zero, sizeof s) == 0);
}

TEST(after)
{
	weft_config c = { .procs = 2 };

	nothing_runs();
	EQ(weft_run_config(&c, main_goroutine, 6, NULL), 6);
	nothing_runs();
}

TEST(after_a_refused_start)
{
	weft_config c = { .procs = -1 };

	EQ(weft_run_config(&c, main_goroutine, 6, NULL), -EINVAL);
	nothing_runs();
	c.procs = 2;
	EQ(weft_run_config(&c, main_goroutine, 6, NULL), 6);
}

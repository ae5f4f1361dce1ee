/* SPDX-License-Identifier: MIT */
/* Failing calls return what is wrong and leave errno alone. */
#include <errno.h>
#include <stdint.h>

#include <weft.h>

#include "t.h"

enum { MARK = 12345 };

/* The call returns that, and errno is as it was. */
#define FAILS(call, value) do {						\
	errno = MARK;							\
	EQ(call, value);						\
	EQ(errno, MARK);						\
} while (0)

static void nothing(void) { }
static void nothing_arg(void *arg) { (void)arg; }

static int
zero(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

static int
run(int procs, int threads, size_t stack)
{
	weft_config c = { .procs = procs, .max_threads = threads,
	    .stack = stack };

	return weft_run_config(&c, sizeof c, zero, 0, NULL);
}

TEST(without_a_runtime)
{
	weft_stats s;

	FAILS(weft_try_go(nothing), -EPERM);
	FAILS(weft_spawn(NULL, 0, nothing_arg, NULL, 0), -EPERM);
	FAILS(weft_set_procs(1), -EPERM);
	FAILS(weft_set_procs(0), -EINVAL);
	FAILS(weft_stats_read_proc(0, &s, sizeof s), -EINVAL);
}

TEST(starting)
{
	FAILS(run(-1, 0, 0), -EINVAL);
	FAILS(run(10000, 0, 0), -EINVAL);
	FAILS(run(1, -1, 0), -EINVAL);
	FAILS(run(1, 0, 1), -EINVAL);
	FAILS(run(1, 0, 0), 0);
	FAILS(run(1, 0, 0), -EALREADY);
}

GTEST(in_a_goroutine, 1)
{
	static char big[WEFT_ARG_BYTES + 1];
	weft_opt absurd = { .stack = 1 };
	weft_stats s;

	FAILS(weft_try_go_opt(absurd, nothing), -EINVAL);
	FAILS(weft_spawn(&absurd, sizeof absurd, nothing_arg, NULL, 0),
	    -EINVAL);
	FAILS(weft_spawn(NULL, 0, nothing_arg, big, sizeof big), -E2BIG);
	FAILS(weft_set_procs(0), -EINVAL);
	FAILS(weft_set_procs(1025), -EINVAL);
	FAILS(weft_stats_read_proc(1, &s, sizeof s), -EINVAL);
	FAILS(weft_run(zero, 0, NULL), -EBUSY);
}

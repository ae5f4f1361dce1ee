/* SPDX-License-Identifier: MIT */
/* weft_run: what goes in, what comes out, and when it says no. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "stderr_text.h"
#include "t.h"

/* The environment in which the tests are run must not matter. */
__attribute__((constructor)) static void
clean_environment(void)
{
	unsetenv("WEFT_PROCS");
	unsetenv("WEFT_MAX_THREADS");
	unsetenv("WEFT_STACK");
}

static int runs;

static int
nothing(int argc, char **argv)
{
	(void)argc, (void)argv;
	runs++;
	return 0;
}

static int
count_args(int argc, char **argv)
{
	EQ(argc, 2);
	OK(!strcmp(argv[0], "prog") && !strcmp(argv[1], "arg") && !argv[2]);
	OK(weft_self_id() > 0);
	return argc + 40;
}

TEST(result_and_arguments)
{
	char prog[] = "prog", arg[] = "arg", *argv[] = { prog, arg, NULL };

	EQ(weft_run(count_args, 2, argv), 42);
	EQ(weft_self_id(), 0);
}

static int negative(int argc, char **argv) { (void)argv; return -argc; }

TEST(result_negative)
{
	EQ(weft_run(negative, 1000, NULL), -1000);
}

/* weft_run returns on the thread that called it. */
static int
on_another_thread(int argc, char **argv)
{
	OK(!pthread_equal(pthread_self(), *(pthread_t *)(void *)argv));
	return argc;
}

TEST(caller_thread)
{
	pthread_t me = pthread_self();

	EQ(weft_run(on_another_thread, 3, (char **)(void *)&me), 3);
	OK(pthread_equal(pthread_self(), me));
}

/* ---- again ---- */

static void *
run_busy(void *arg)
{
	(void)arg;
	EQ(weft_run(nothing, 0, NULL), -EBUSY);
	EQ(weft_run_with(nothing, 0, NULL, .procs = 1), -EBUSY);
	return NULL;
}

static void
run_in_goroutine(weft_waitgroup *wg)
{
	run_busy(NULL);
	weft_waitgroup_done(wg);
}

static int
run_again(int argc, char **argv)
{
	weft_waitgroup wg = {0};

	(void)argc, (void)argv;
	run_busy(NULL);
	weft_waitgroup_add(&wg, 1);
	weft_go(run_in_goroutine, &wg);
	weft_waitgroup_wait(&wg);
	thread_run(run_busy, NULL);
	return 5;
}

TEST(only_once)
{
	EQ(weft_run(run_again, 0, NULL), 5);
	EQ(weft_run(nothing, 0, NULL), -EALREADY);
	EQ(weft_run(nothing, 0, NULL), -EALREADY);
	EQ(runs, 0);
}

/* ---- configurations ---- */

static int
procs(int argc, char **argv)
{
	(void)argc, (void)argv;
	return weft_procs();
}

static int
run_procs(int n)
{
	return weft_run_with(procs, 0, NULL, .procs = n);
}

TEST(procs_given)
{
	EQ(run_procs(7), 7);
}

TEST(procs_most)
{
	EQ(run_procs(1024), 1024);
}

static int
cpus(void)
{
	cpu_set_t set;

	EQ(sched_getaffinity(0, sizeof set, &set), 0);
	return CPU_COUNT(&set);
}

TEST(procs_default)
{
	int n = weft_run(procs, 0, NULL);

	OK(n >= 1 && n <= cpus());
}

TEST(procs_zero)
{
	int n = run_procs(0);

	OK(n >= 1 && n <= cpus());
}

/* After each refusal a good configuration still works. */
TEST(procs_bad)
{
	EQ(run_procs(-1), -EINVAL);
	EQ(run_procs(1025), -EINVAL);
	EQ(run_procs(10000), -EINVAL);
	EQ(run_procs(INT32_MIN), -EINVAL);
	EQ(weft_procs(), 0);
	EQ(run_procs(3), 3);
}

static int
run_stack(size_t bytes)
{
	return weft_run_with(nothing, 0, NULL, .procs = 2, .stack = bytes);
}

TEST(stack_bad)
{
	EQ(run_stack(1), -EINVAL);
	EQ(run_stack(4095), -EINVAL);
	EQ(run_stack((size_t)1 << 30), -EINVAL);
	EQ(run_stack(SIZE_MAX), -EINVAL);
	EQ(runs, 0);
	EQ(run_stack(0), 0);
	EQ(runs, 1);
}

TEST(stack_least)
{
	EQ(run_stack(4096), 0);
	EQ(runs, 1);
}

TEST(threads_bad)
{
	weft_config c = { .procs = 1, .max_threads = -1 };

	EQ(weft_run_config(&c, sizeof c, nothing, 0, NULL), -EINVAL);
	c.max_threads = 1;
	EQ(weft_run_config(&c, sizeof c, nothing, 0, NULL), 0);
	EQ(runs, 1);
}

/* weft_config.stack is what goroutines get without an option. */
static void
use_stack(size_t bytes, weft_waitgroup *wg)
{
	volatile char array[bytes];

	array[0] = 1;
	EQ(array[0], 1);
	weft_waitgroup_done(wg);
}

static int
use_default(int argc, char **argv)
{
	weft_waitgroup wg = {0};

	(void)argv;
	weft_waitgroup_add(&wg, 1);
	OK(weft_try_go(use_stack, (size_t)argc, &wg) > 0);
	weft_waitgroup_wait(&wg);
	return 0;
}

TEST(stack_given)
{
	weft_config c = { .procs = 1, .stack = 1 << 20 };

	EQ(weft_run_config(&c, sizeof c, use_default, 1000 * 1000, NULL), 0);
}

/* ---- the environment ---- */

TEST(environment_procs)
{
	setenv("WEFT_PROCS", "3", 1);
	EQ(weft_run(procs, 0, NULL), 3);
}

TEST(environment_comes_second)
{
	setenv("WEFT_PROCS", "3", 1);
	EQ(run_procs(2), 2);
}

TEST(environment_empty)
{
	setenv("WEFT_PROCS", "", 1);
	OK(weft_run(procs, 0, NULL) >= 1);
}

static void
refused(const char *name, const char *value)
{
	struct stderr_text t = stderr_begin();
	char line[96], *text;

	setenv(name, value, 1);
	EQ(weft_run(nothing, 0, NULL), -EINVAL);
	unsetenv(name);
	text = stderr_end(&t);
	snprintf(line, sizeof line, "weft: %s=%s: not a number from ", name,
	    value);
	OK(strncmp(text, line, strlen(line)) == 0);
	free(text);
}

TEST(environment_out_of_range)
{
	refused("WEFT_PROCS", "0");
	refused("WEFT_PROCS", "-1");
	refused("WEFT_PROCS", "1025");
	refused("WEFT_PROCS", "99999999999999999999999");
	refused("WEFT_STACK", "100");
	refused("WEFT_STACK", "1073741824");
	refused("WEFT_MAX_THREADS", "-5");
	EQ(runs, 0);
	EQ(run_procs(2), 2);
}

/* Silence would leave the user to believe that it was heard. */
TEST(environment_not_a_number)
{
	refused("WEFT_PROCS", "many");
	refused("WEFT_PROCS", "4x");
	refused("WEFT_PROCS", "-");
	EQ(runs, 0);
}

TEST(environment_stack)
{
	setenv("WEFT_PROCS", "1", 1);
	setenv("WEFT_STACK", "1048576", 1);
	EQ(weft_run(use_default, 1000 * 1000, NULL), 0);
}

/* ---- the main goroutine ---- */

/* The far end first: it is there without the pages between. */
__attribute__((noinline)) static int
use_four_mib(void)
{
	volatile char array[4 << 20];

	array[0] = 1;
	array[sizeof array - 1] = 2;
	/* or the compiler would do without the array */
	__asm__ volatile("" : : "r"(array) : "memory");
	return array[0] + array[sizeof array - 1];
}

static int
big_frame(int argc, char **argv)
{
	(void)argc, (void)argv;
	return use_four_mib();
}

TEST(main_stack_is_big)
{
	weft_config c = { .procs = 1, .stack = 16384 };

	EQ(weft_run_config(&c, sizeof c, big_frame, 0, NULL), 3);
}

/* ---- goroutines that are left ---- */

static int spinning, late;

static void
spin_for_ever(void)
{
	__atomic_store_n(&spinning, 1, __ATOMIC_RELAXED);
	for (;;)
		__atomic_load_n(&spinning, __ATOMIC_RELAXED);
}

static void
wait_for_ever(weft_waitgroup *wg)
{
	weft_waitgroup_wait(wg);
	late = 1;
}

static int
leave_some(int argc, char **argv)
{
	static weft_waitgroup never;

	(void)argc, (void)argv;
	weft_waitgroup_add(&never, 1);
	for (int i = 0; i < 10; i++)
		OK(weft_try_go(wait_for_ever, &never) > 0);
	OK(weft_try_go(spin_for_ever) > 0);
	while (!__atomic_load_n(&spinning, __ATOMIC_RELAXED))
		weft_yield();
	return 9;
}

TEST(does_not_wait)
{
	weft_config c = { .procs = 2 };

	EQ(weft_run_config(&c, sizeof c, leave_some, 0, NULL), 9);
	EQ(late, 0);
	EQ(weft_run(nothing, 0, NULL), -EALREADY);
}

static void
yield_for_ever(void)
{
	for (;;)
		weft_yield();
}

static int
leave_yielding(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 10; i++)
		OK(weft_try_go(yield_for_ever) > 0);
	for (int i = 0; i < 10; i++)
		weft_yield();
	return argc;
}

TEST(does_not_wait_for_runnable)
{
	weft_config c = { .procs = 2 };

	EQ(weft_run_config(&c, sizeof c, leave_yielding, 9, NULL), 9);
	EQ(weft_procs(), 0);
}

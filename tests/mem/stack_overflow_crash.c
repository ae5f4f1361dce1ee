/* SPDX-License-Identifier: MIT */
/* A goroutine that outgrows its stack: the message says which one it was. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <weft.h>

#include "run_env.h"
#include "t.h"

enum { SMALL = 16384 };

static weft_waitgroup never;
static volatile bool enough;	/* it never is */

/* Keeps the compiler from doing without the array. */
static inline void
escape(volatile char *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noinline)) static int
dig(int depth)
{
	volatile char frame[200];

	frame[0] = (char)depth;
	if (enough)
		return 0;
	return dig(depth + 1) + frame[0];
}

static void recurse(void) { dig(0); }

/* The far end first: only the compiler's probes keep it off other stacks. */
static void
large_array(size_t bytes)
{
	volatile char array[bytes];

	array[0] = 1;
	escape(array);
}

static void
fixed_array(void)
{
	volatile char array[300 * 1024];

	array[0] = 1;
	escape(array);
}

/* Waits for what never comes; the goroutine must end the process. */
static void
wait_for_ever(void)
{
	weft_waitgroup_add(&never, 1);
	weft_waitgroup_wait(&never);
}

static void
small_recursion(void)
{
	weft_go_opt(WEFT_OPT(.name = "deep", .stack = SMALL), recurse);
	wait_for_ever();
}

DIES(recursion_small, 1, "overflowed its stack of 16384 bytes")
{
	small_recursion();
}

DIES(recursion_named, 1, "\"deep\" (recurse, spawned at " __FILE__ ":")
{
	small_recursion();
}

DIES(recursion_on_four, 4, "overflowed its stack of 16384 bytes")
{
	small_recursion();
}

DIES(recursion_default, 1, "overflowed its stack of 196608 bytes")
{
	weft_go(recurse);
	wait_for_ever();
}

DIES(recursion_main, 1, "overflowed its stack of")
{
	recurse();
}

DIES(array_small, 1, "overflowed its stack of 16384 bytes")
{
	weft_go_opt(WEFT_OPT(.name = "wide", .stack = SMALL), fixed_array);
	wait_for_ever();
}

DIES(array_named, 1, "\"wide\" (large_array, spawned at " __FILE__ ":")
{
	weft_go_opt(WEFT_OPT(.name = "wide", .stack = SMALL), large_array,
	    (size_t)300 * 1024);
	wait_for_ever();
}

DIES(array_default, 1, "overflowed its stack of 196608 bytes")
{
	weft_go(fixed_array);
	wait_for_ever();
}

/* A stack that was used before has its guard still. */
static void
use_most(weft_waitgroup *wg)
{
	volatile char array[8 * 1024];

	array[0] = 1;
	escape(array);
	weft_waitgroup_done(wg);
}

DIES(on_a_used_stack, 1, "overflowed its stack of 16384 bytes")
{
	weft_opt small = { .stack = SMALL };
	weft_waitgroup wg = {0};

	for (int i = 0; i < 100; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go_opt(small, use_most, &wg);
		weft_waitgroup_wait(&wg);
	}
	small_recursion();
}

static void
overflow_late(void)
{
	for (int i = 0; i < 10; i++)
		weft_yield();
	dig(0);
}

DIES(after_yields, 2, "(overflow_late, spawned at")
{
	weft_go(overflow_late);
	for (int i = 0; i < 100; i++)
		weft_yield();
	wait_for_ever();
}

/* ---- of a program that has blocked all signals ---- */

static void
block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	EQ(sigprocmask(SIG_SETMASK, &all, NULL), 0);
}

DIES(with_all_blocked, 0, "overflowed its stack of 16384 bytes")
{
	block_all();
	run_env(0, NULL, small_recursion);
}

DIES(main_with_all_blocked, 0, "overflowed its stack of")
{
	block_all();
	run_env(0, NULL, recurse);
}

/* What is no fault stays blocked. */
static int
kill_with_others(int argc, char **argv)
{
	(void)argc, (void)argv;
	raise(SIGTERM);
	raise(SIGUSR1);
	raise(SIGSEGV);
	return 0;
}

static void
on_segv(int sig)
{
	(void)sig;
	_exit(0);
}

TEST(only_faults_are_open)
{
	block_all();
	signal(SIGSEGV, on_segv);
	weft_run(kill_with_others, 0, NULL);
	OK(!"the signal of a fault was blocked");
}

/* SPDX-License-Identifier: MIT */
/*
 * Stacks of goroutines that do not wait: those that compute, are in a blocking
 * call, were preempted, or are paused with their thread. Which of these they
 * are at a moment is not up to the test, so it looks until it has seen them.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft.h>

#include "dumped.h"
#include "run_env.h"
#include "t.h"

#define OUTLINE __attribute__((__noinline__))

static long stop;
static weft_waitgroup all;
static volatile int sink;

static void
need_signals(void)
{
	const char *off = getenv("WEFT_PREEMPT_SIGNAL");

	if (T_SANITIZED || t_valgrind() || (off && *off == '-'))
		t_skip("no signals are sent");
}

OUTLINE static void
compute_here(void)
{
	while (!get(&stop))
		sink = 1;
	sink = 2;
}

static void
computer(void)
{
	compute_here();
	weft_waitgroup_done(&all);
}

/* Dumps until one has the text, or no time is left. */
static bool
seen(const char *state, const char *frame, unsigned flags)
{
	weft_dump_options o = { .flags = flags | WEFT_DUMP_EACH };
	double limit = t_now() + 20;
	bool found = false;

	while (!found && t_now() < limit) {
		char *text = dumped(&o), *at = strstr(text, state);
		char *end = at ? strstr(at, "goroutine") : NULL;

		if (end)
			*end = 0;
		found = at && (!frame || strstr(at, frame));
		free(text);
		if (!found)
			weft_sleep(WEFT_MS);
	}
	return found;
}

/* A macro: a goroutine is known by the name of its function. */
#define START(fn, n) do {						\
	weft_waitgroup_add(&all, n);					\
	for (int i_ = 0; i_ < (n); i_++)				\
		weft_go(fn);						\
	} while (0)

static void
end(void)
{
	bump(&stop);
	weft_waitgroup_wait(&all);
}

GTEST(computing, 2)
{
	need_signals();
	START(computer, 1);
	OK(seen("[running]: computer", "\tcompute_here+0x", 0));
	end();
}

/* More of them than processors. */
GTEST(preempted, 2)
{
	need_signals();
	if (!can_preempt())
		t_skip("they are not preempted in this program");
	START(computer, 6);
	OK(seen("[runnable]: computer", "\tcompute_here+0x", 0));
	OK(seen("[running]: computer", "\tcompute_here+0x", 0));
	end();
}

/* Code that calls a library may not be moved: its thread sleeps with it. */
ETEST(paused, 2, "WEFT_DEBUG=")
{
	double limit = t_now() + 10;
	bool found = false;

	need_signals();
	START(computer, 6);
	while (!found && t_now() < limit) {
		char *text = dumped(NULL), *at = strstr(text, ", paused]: ");

		found = at && strstr(at, "\tcompute_here+0x");
		free(text);
		weft_sleep(WEFT_MS);
	}
	end();
	if (!found)
		t_skip("this program's goroutines are preempted, not paused");
}

static int wire[2];

OUTLINE static void
block_here(void)
{
	char c;

	weft_blocking_enter();
	EQ(read(wire[0], &c, 1), 1);
	weft_blocking_leave();
	sink = 3;
}

static void
caller(void)
{
	block_here();
	weft_waitgroup_done(&all);
}

/* read() is restarted: the call goes on. */
GTEST(in_a_call, 2)
{
	need_signals();
#ifndef __GLIBC__
	t_skip("this libc has no frame tables");
#endif
	EQ(pipe(wire), 0);
	START(caller, 1);
	OK(seen("[in a call]: caller", "\tblock_here+0x", 0));
	OK(seen("[in a call, no stack]: caller", NULL, WEFT_DUMP_NO_SIGNALS));
	EQ(write(wire[1], "x", 1), 1);
	end();
}

/* A call that the runtime was not told of. */
OUTLINE static void
sleep_here(void)
{
	char c;

	EQ(syscall(SYS_read, wire[0], &c, 1), 1);
	sink = 4;
}

static void
sleeper(void)
{
	sleep_here();
	weft_waitgroup_done(&all);
}

GTEST(asleep_in_a_call_of_its_own, 2)
{
	EQ(pipe(wire), 0);
	START(sleeper, 1);
	OK(seen("[running, asleep, no stack]: sleeper", NULL,
	    WEFT_DUMP_NO_SIGNALS));
#ifdef __GLIBC__
	need_signals();
	OK(seen("[running, asleep]: sleeper", "\tsleep_here+0x", 0));
#endif
	EQ(write(wire[1], "x", 1), 1);
	end();
}

/* No signal, no stack; the rest is there. */
ETEST(without_signals, 2, "WEFT_PREEMPT_SIGNAL=-1")
{
	START(computer, 1);
	OK(seen("[running, no stack]: computer", NULL, 0));
	end();
}

/* A pinned goroutine that waits has its thread, and its stack. */
OUTLINE static void
wait_pinned(void)
{
	weft_pin();
	while (!get(&stop))
		weft_sleep(5 * WEFT_MS);
	weft_unpin();
	weft_waitgroup_done(&all);
}

GTEST(pinned, 2)
{
	START(wait_pinned, 1);
	OK(seen("[waiting: sleep]: wait_pinned", "\twait_pinned+0x", 0));
	end();
}

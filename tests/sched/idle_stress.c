/* SPDX-License-Identifier: MIT */
/*
 * A program whose goroutines all wait makes no system calls and uses no CPU.
 * Shown twice: by what the kernel counted for each thread, and by strace
 * (T_SECONDS=10 to look for that long).
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "quiescence.h"

static weft_waitgroup gate;

static double
seconds(void)
{
	const char *s = getenv("T_SECONDS");

	return s ? atof(s) : 2;
}

static void
waiter(void)
{
	weft_waitgroup_wait(&gate);
}

/* This thread is not one of weft's. */
static void *
watch(void *moved)
{
	settle();
	*(long *)moved = activity_in(seconds());
	weft_waitgroup_done(&gate);
	return NULL;
}

static void
idle_program(void *(*thread)(void *), void *arg)
{
	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < 100; i++)
		weft_go(waiter);
	wait_watched(&gate, thread, arg);
}

GTEST(no_thread_moves, 4) { check_idle(idle_program, watch); }

/* ---- under strace ---- */

static void *
mark(void *arg)
{
	(void)arg;
	settle();
	mark_for(seconds());
	weft_waitgroup_done(&gate);
	return NULL;
}

STRACE_SEES_NOTHING(4, idle_program(mark, NULL))

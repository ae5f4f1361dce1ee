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
	long before;

	settle();
	before = activity();
	sleep_for(seconds());
	*(long *)moved = activity() - before;
	weft_waitgroup_done(&gate);
	return NULL;
}

static void
idle_program(void *(*thread)(void *), void *arg)
{
	pthread_t t;

	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < 100; i++)
		weft_go(waiter);
	pthread_create(&t, NULL, thread, arg);
	weft_waitgroup_wait(&gate);
	pthread_join(t, NULL);
}

GTEST(no_thread_moves, 4)
{
	long moved = -1;

	if (OWN_THREAD)
		t_skip("the sanitizer has a thread of its own");
	idle_program(watch, &moved);
	EQ(moved, 0);
}

/* ---- under strace ---- */

static void *
mark(void *arg)
{
	(void)arg;
	settle();
	mark_begin();
	sleep_for(seconds());
	mark_end();
	weft_waitgroup_done(&gate);
	return NULL;
}

GTEST(traced, 4)
{
	only_traced();
	idle_program(mark, NULL);
}

TEST(strace_sees_nothing)
{
	EQ(trace("traced"), 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Compiled with checks (see checks/checks.c), the harness too, constructors
 * and all: endless loops take turns on one processor without a signal.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum { LOOPS = 2, ROUNDS = 20 };

static uint64_t count[LOOPS + 1];
static int done;

__attribute__((constructor)) static void
no_signals(void)
{
	setenv("WEFT_PREEMPT_SIGNAL", "-1", 1);
}

static uint64_t
counted(int i)
{
	return __atomic_load_n(&count[i], __ATOMIC_RELAXED);
}

/* No call, and no way out; it ends with the process. */
static void
endless(int i)
{
	for (;;)
		__atomic_add_fetch(&count[i], 1, __ATOMIC_RELAXED);
}

static void *
on_a_thread(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		__atomic_add_fetch(&count[LOOPS], 1, __ATOMIC_RELAXED);
	return arg;
}

/* Until all have counted on. A loop that does not get its turn hangs this. */
static void
wait_for_all(int n)
{
	uint64_t before[LOOPS + 1];

	for (int i = 0; i < n; i++)
		before[i] = counted(i);
	for (int i = 0; i < n; i++)
		while (counted(i) == before[i])
			weft_sleep(WEFT_MS);
}

/*
 * A loop without checks would lose its processor, once, and would not be asked
 * again, since it has none. So many questions as rounds is more than that.
 */
static void
check_asked(void)
{
	weft_preempt_stats stalls;

	weft_preempt_stats_read(&stalls, sizeof stalls);
	OK(stalls.asked >= ROUNDS);
	EQ(stalls.signals, 0);
}

GTEST(endless_loops_take_turns, 1)
{
	for (int i = 0; i < LOOPS; i++)
		OK(weft_try_go(endless, i) > 0);
	for (int i = 0; i < ROUNDS; i++)
		wait_for_all(LOOPS);
	check_asked();
}

/* A thread that is no goroutine meets the same checks and goes on. */
GTEST(beside_a_plain_thread, 1)
{
	pthread_t thread;

	EQ(pthread_create(&thread, NULL, on_a_thread, NULL), 0);
	for (int i = 0; i < LOOPS; i++)
		OK(weft_try_go(endless, i) > 0);
	for (int i = 0; i < ROUNDS; i++)
		wait_for_all(LOOPS + 1);
	check_asked();
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	EQ(pthread_join(thread, NULL), 0);
}

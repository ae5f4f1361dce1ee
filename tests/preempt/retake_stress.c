/* SPDX-License-Identifier: MIT */
/*
 * Ps are taken from Ms that come back just then. The calls last about as long
 * as the monitor waits before it takes one, so that both meet.
 */
#include <stdlib.h>

#include <weft.h>

#include "t.h"

__attribute__((constructor)) static void
setup(void)
{
	setenv("WEFT_SLICE_US", "50", 0);
	setenv("WEFT_PREEMPT_SIGNAL", "-1", 0);
}

enum { CALLERS = 4, COMPUTERS = 4, YIELDERS = 4 };
static int stop;
static int64_t calls, turns, computed;

static void *
spin(void *us)
{
	double end = t_now() + (double)(intptr_t)us * 1e-6;

	while (t_now() < end)
		;
	return us;
}

static void
caller(int seed)
{
	unsigned x = (unsigned)seed * 2654435761u + 1;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		intptr_t us = 10 + (intptr_t)((x = x * 1103515245 + 12345) >>
		    16) % 60;

		OK(weft_blocking(spin, (void *)us) == (void *)us);
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	}
}

/* Not announced, and away for about a slice (see setup). */
static void
computer(int seed)
{
	unsigned x = (unsigned)seed * 2654435761u + 7;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		spin((void *)(60 + (intptr_t)((x = x * 1103515245 + 12345) >>
		    16) % 60));
		weft_now();
		__atomic_add_fetch(&computed, 1, __ATOMIC_RELAXED);
	}
}

static void
yielder(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		weft_yield();
		__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
	}
}

static bool
has_some(const int64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED) > 0;
}

/* Each kind has its turn, however little the machine gives us: or the time of
 * the test is over. */
static void
meet(void)
{
	int64_t end = weft_deadline((int64_t)(t_share(1) * 1e9));

	stop = 0;
	calls = turns = computed = 0;
	for (int i = 0; i < CALLERS; i++)
		weft_go(caller, i);
	for (int i = 0; i < COMPUTERS; i++)
		weft_go(computer, i);
	for (int i = 0; i < YIELDERS; i++)
		weft_go(yielder);
	weft_sleep_until(end);
	while (!has_some(&calls) || !has_some(&turns) || !has_some(&computed))
		weft_sleep(WEFT_MS);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	while (weft_goroutines() > 1)
		weft_yield();
}

ON_ALL(meet)

/* SPDX-License-Identifier: MIT */
/*
 * What a goroutine costs in memory: little before it runs, a page or so when
 * it waits; and a hundred thousand wait under the kernel's usual limits.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft.h>

#include "run_env.h"
#include "t.h"

static weft_waitgroup gate;
static long running;

enum { MEMORY_IS_OURS = !T_SANITIZED };

static void
waiter(void)
{
	__atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&gate);
}

struct result { long n; int64_t bytes; int done; };

static void *
spawn_all(void *arg)
{
	struct result *r = arg;
	int64_t before = t_resident();

	for (long i = 0; i < r->n; i++)
		OK(weft_try_go(waiter) > 0);
	r->bytes = t_resident() - before;
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The P is kept busy, and is to stay so. */
NO_PREEMPTION

/*
 * A thread spawns while the only P is kept busy, so that none of them runs:
 * then each costs only its record.
 */
GTEST(before_it_runs_300_bytes, 1)
{
	struct result r = { .n = t_scale(50000) };
	pthread_t t;

	weft_waitgroup_add(&gate, 1);
	pthread_create(&t, NULL, spawn_all, &r);
	while (!__atomic_load_n(&r.done, __ATOMIC_ACQUIRE))
		sched_yield();
	EQ(__atomic_load_n(&running, __ATOMIC_RELAXED), 0);
	pthread_join(t, NULL);
	fprintf(stderr, "# %.0f bytes each\n", (double)r.bytes / (double)r.n);
	if (MEMORY_IS_OURS && r.n >= 50000)
		OK(r.bytes <= r.n * 300);
	weft_waitgroup_done(&gate);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(running, r.n);
}

/* Several times, so that records and stacks of the first round serve again. */
GTEST(waiting_5000_bytes, 2)
{
	long n = MEMORY_IS_OURS ? t_scale(100000) : t_scale(20000);

	for (int round = 0; round < 3; round++) {
		int64_t before = t_resident(), bytes;

		running = 0;
		weft_waitgroup_add(&gate, 1);
		for (long i = 0; i < n; i++)
			OK(weft_try_go(waiter) > 0);
		while (__atomic_load_n(&running, __ATOMIC_RELAXED) < n)
			weft_yield();
		bytes = t_resident() - before;
		if (MEMORY_IS_OURS && n >= 100000)
			OK(bytes <= n * 5000);
		if (MEMORY_IS_OURS && round > 0 && n >= 100000)
			OK(bytes <= n * 50);
		weft_waitgroup_done(&gate);
		while (weft_goroutines() > 1)
			weft_yield();
	}
}

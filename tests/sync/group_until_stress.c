/* SPDX-License-Identifier: MIT */
/*
 * Waits for a group that give up about when its last member ends, by time and
 * by context, from goroutines and plain threads. Whatever is first, the result
 * comes once, the group can be used on, and can be gone at once after that.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum { FAILED = -33 };

static long gave_up, ended;

static int
member(int yields, int result)
{
	while (yields-- > 0)
		weft_yield();
	return result;
}

static void
cancel_after(weft_context *ctx, int yields)
{
	while (yields-- > 0)
		weft_yield();
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
}

static bool
wait_once(weft_group *g, int *result, unsigned *seed)
{
	weft_context *ctx;
	bool done;

	if (rand_r(seed) % 2)
		return weft_group_wait_until(g, result,
		    weft_deadline(rand_r(seed) % 20000));
	ctx = weft_context_make(NULL);
	weft_go(cancel_after, weft_context_retain(ctx), rand_r(seed) % 6);
	done = weft_group_wait_context(g, result, ctx);
	weft_context_release(ctx);
	return done;
}

static void
round_of(unsigned *seed)
{
	weft_group g = { .limit = rand_r(seed) % 3 };
	int n = 1 + rand_r(seed) % 4, fails = rand_r(seed) % (n + 1), r = 1;

	for (int i = 0; i < n; i++)
		weft_group_go(&g, member, rand_r(seed) % 6,
		    i == fails ? FAILED : 0);
	while (!wait_once(&g, &r, seed)) {
		__atomic_add_fetch(&gave_up, 1, __ATOMIC_RELAXED);
		if (rand_r(seed) % 4 == 0)
			weft_group_go(&g, member, rand_r(seed) % 4, 0);
	}
	EQ(r, fails < n ? FAILED : 0);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	EQ(weft_group_wait(&g), 0);
}

static void
rounds(unsigned seed, long n)
{
	while (n-- > 0)
		round_of(&seed);
}

static void *
plainly(void *arg)
{
	rounds(12345, t_scale(200));
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
race(void)
{
	unsigned seed = 1;

	while (t_more(1.0)) {
		weft_waitgroup wg = {0};

		for (int i = 0; i < 4; i++)
			weft_waitgroup_go(&wg, rounds, seed++, 50);
		weft_waitgroup_wait(&wg);
	}
	OK(gave_up > 0);
	OK(ended > 0);
}

GTEST(on_1, 1) { race(); }
GTEST(on_2, 2) { race(); }
GTEST(on_8, 8) { race(); }

GTEST(with_a_plain_thread, 2)
{
	pthread_t t;
	int done = 0;

	EQ(pthread_create(&t, NULL, plainly, &done), 0);
	rounds(77, t_scale(200));
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		weft_yield();
	pthread_join(t, NULL);
}

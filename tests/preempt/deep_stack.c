/* SPDX-License-Identifier: MIT */
/* A goroutine that computes is preempted, however much stack it uses. */
#include "run_env.h"

enum { FRAMES = 20000, BYTES = 3 << 20, ROOM = 16 << 20 };

static weft_waitgroup all;
static long stop, arrived;

/* No tail call: it has something to do when it is back. */
__attribute__((__noinline__)) static long
descend(long n)
{
	long r = 0;

	if (n > 0) {
		r = descend(n - 1) + n;
		__asm__ volatile("" : "+r"(r));
	} else {
		bump(&arrived);
		compute(&stop);
	}
	return r;
}

static void
recurses(void)
{
	EQ(descend(FRAMES), (long)FRAMES * (FRAMES + 1) / 2);
	weft_waitgroup_done(&all);
}

__attribute__((__noinline__)) static void
fill(char *p)
{
	memset(p, 1, BYTES);
}

static void
has_a_large_array(void)
{
	char array[BYTES];

	fill(array);
	bump(&arrived);
	compute(&stop);
	EQ(array[BYTES / 2], 1);
	weft_waitgroup_done(&all);
}

/* Alone on the only processor, until it was preempted while it computed. */
static void
disturb(void (*fn)(void))
{
	weft_opt roomy = { .stack = ROOM };
	uint64_t before;

	if (!can_preempt())
		t_skip("this program cannot be preempted");
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go_opt(roomy, fn) > 0);
	await(&arrived, 1);
	before = stalls_now().preempted;
	while (stalls_now().preempted < before + 3)
		weft_yield();
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(stalls_now().taken[WEFT_RETAKE_UNKNOWN], 0);
}

GTEST(a_deep_recursion, 1) { disturb(recurses); }
GTEST(a_large_array, 1) { disturb(has_a_large_array); }

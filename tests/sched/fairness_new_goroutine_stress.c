/* SPDX-License-Identifier: MIT */
/*
 * A goroutine is spawned, and then 200 more that block in the kernel for 2 s,
 * unannounced, as a library does that waits for its server. New goroutines
 * begin newest first; the oldest must not wait until the monitor has taken the
 * processor from each of the others.
 */
#include "fairness.h"

enum { BLOCKERS = 200, MOST_MS = 250 };

static weft_waitgroup began;
static int64_t began_at;
static long blockers, before;	/* that have begun; ... before it */

static void
first(void)
{
	before = get(&blockers);
	began_at = weft_now();
	weft_waitgroup_done(&began);
}

static void
blocks(void)
{
	struct timespec ts = { .tv_sec = 2 };

	__atomic_add_fetch(&blockers, 1, __ATOMIC_RELEASE);
	nanosleep(&ts, NULL);
}

/*
 * It has its turn after a slice: by then all others have begun, if each is
 * noticed at once, or few, if the machine is slow.
 */
static void
begins(void)
{
	int64_t start = weft_now();
	double ms;

	weft_waitgroup_add(&began, 1);
	weft_go(first);
	for (int i = 0; i < BLOCKERS; i++)
		weft_go(blocks);
	weft_waitgroup_wait(&began);
	ms = (double)(began_at - start) / WEFT_MS;
	printf("# %d procs: it began after %.1f ms and %ld others\n",
	    weft_procs(), ms, before);
	OK(before < BLOCKERS || ms <= allowed(MOST_MS));
}

GTEST(begins_before_blockers_on_1, 1) { begins(); }
GTEST(begins_before_blockers_on_2, 2) { begins(); }
GTEST(begins_before_blockers_on_8, 8) { begins(); }

/* SPDX-License-Identifier: MIT */
/*
 * Memory stays flat: whole programs that never free, again and again, beside
 * goroutines that come and go. T_SECONDS=600 is a soak of ten minutes.
 */
#include "programs.h"

static long over;
static weft_waitgroup all;

static void
come_and_go(struct thing *t, uint64_t n)
{
	OK(thing_is(t, n));
	weft_sleep((int64_t)(n % 5) * WEFT_MS);
	OK(thing_is(t, n));
	weft_waitgroup_done(&all);
}

static void
keep_coming(void)
{
	for (uint64_t i = 0; !get(&over); i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(come_and_go, thing_make(i), i);
		if (i % 64 == 0)
			weft_sleep(WEFT_MS);
	}
	weft_waitgroup_done(&all);
}

/* What is in use after a collection, when nothing of a round is left. */
static double
live_mb(void)
{
	weft_gc_stats s;

	EQ(weft_gc_collect(), 0);
	weft_gc_stats_read(&s, sizeof s);
	return (double)s.live_bytes / (1 << 20);
}

/*
 * How much is in use after a round varies: a stale word on a stack keeps a list
 * or a tree of up to 20 MB for a while, as it can in a conservative collector.
 * So the bounds are those of a program with no leak, which hold after any
 * number of rounds: the least that was in use after the last rounds, and a heap
 * of a few times what a round needs at its peak. A round allocates 170 MB.
 */
enum { LIVE_MB = 40, RESIDENT_MB = 300 };

GTEST(memory_stays_flat, 2)
{
	double live, least = 0, resident;
	weft_gc_stats s;
	long rounds = 0;

	weft_waitgroup_add(&all, 1);
	weft_go(keep_coming);
	do {
		everything();
		live = live_mb();
		if (rounds++ % 8 == 0 || live < least)
			least = live;
	} while (rounds < 4 || t_more(2));
	bump(&over);
	weft_waitgroup_wait(&all);
	resident = (double)t_resident() / (1 << 20);
	weft_gc_stats_read(&s, sizeof s);
	printf("# %ld rounds, %lu collections, %lu MB allocated; in use "
	    "%.1f MB after a round, resident %.1f; longest pause %.1f ms\n",
	    rounds, (unsigned long)s.collections,
	    (unsigned long)(s.allocated_bytes >> 20), least, resident,
	    (double)s.pause_max_ns / 1e6);
	OK(least < LIVE_MB);
	OK(resident < RESIDENT_MB);
}

/* SPDX-License-Identifier: MIT */
/*
 * Whole programs that never free: as they are; and with a collection every 100
 * allocations while goroutines are preempted every 50 microseconds and move to
 * another thread at each call.
 *
 * Under gcstress freed objects are cleared before the next collection, so one
 * that was freed too early does not look as before.
 */
#include "programs.h"

static void
run_hard(int procs, const char *more)
{
	weft_config c = { .procs = procs };

	hard = true;
	setenv("WEFT_DEBUG", "gcstress=100", 1);
	if (more)
		OK(putenv((char *)(uintptr_t)more) == 0);
	setenv("WEFT_SLICE_US", "50", 1);
	hogs_body = everything;
	EQ(weft_run_config(&c, sizeof c, hogs_main, 0, 0), 0);
}

static long over;

static void
collect_all_the_time(weft_waitgroup *wg)
{
	while (!get(&over))
		EQ(weft_gc_collect(), 0);
	weft_waitgroup_done(wg);
}

/* Objects come from the caches, as they do not under gcstress. */
static void
beside_collections(void)
{
	weft_waitgroup wg = {0};

	hard = true;
	weft_waitgroup_add(&wg, 1);
	weft_go(collect_all_the_time, &wg);
	do
		everything();
	while (t_more(1.5));
	bump(&over);
	weft_waitgroup_wait(&wg);
}

ETEST(beside_collections_on_one, 1, NULL) { beside_collections(); }
ETEST(beside_collections_on_two, 2, "WEFT_SLICE_US=50")
{
	beside_collections();
}
ETEST(beside_collections_moving, 4, "WEFT_MIGRATE=1") { beside_collections(); }
GTEST(on_one, 1) { everything(); }
GTEST(on_two, 2) { everything(); }
GTEST(on_eight, 8) { everything(); }
TEST(hard_on_one) { run_hard(1, NULL); }
TEST(hard_on_two) { run_hard(2, NULL); }
TEST(hard_and_moving_on_one) { run_hard(1, "WEFT_MIGRATE=1"); }
TEST(hard_and_moving_on_two) { run_hard(2, "WEFT_MIGRATE=1"); }
TEST(hard_and_moving_on_eight) { run_hard(8, "WEFT_MIGRATE=1"); }
TEST(hard_and_never_paused) { run_hard(2, "WEFT_PAUSE=-1"); }

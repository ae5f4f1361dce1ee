/* SPDX-License-Identifier: MIT */
/*
 * Thousands of goroutines that end at once do not have to wait for a slice of
 * an endless loop each: beside more loops than Ps that would take minutes, and
 * a test has one.
 */
#include <string.h>

#include <weft.h>

#include "counter.h"
#include "t.h"

#ifdef WEFT_HARD
TEST(all) { t_skip("in hard mode a spawner yields, behind the loops"); }
#else

enum { LOOPS = 4, NEWBORNS = 20000 };

static int stop;

static void
loop(void)
{
	while (!counter_get(&stop))
		;
}

GTEST(newborns_beside_loops, 2)
{
	weft_waitgroup wg = {0};
	char text[4096];

	weft_preempt_explain(text, sizeof text);
	if (!strstr(text, "can be preempted") && !strstr(text, "are paused"))
		t_skip("loops can neither be preempted nor paused here");
	for (int i = 0; i < LOOPS; i++)
		weft_go(loop);
	weft_sleep(20 * WEFT_MS);	/* they have the Ps by now */
	for (int i = 0; i < NEWBORNS; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go(weft_waitgroup_done, &wg);
	}
	weft_waitgroup_wait(&wg);
	counter_set(&stop, 1);
}
#endif

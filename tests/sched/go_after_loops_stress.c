/* SPDX-License-Identifier: MIT */
/*
 * A goroutine that spawns many endless loops gets the processor back soon, and
 * what it spawns last begins before most of the loops do: it is the newest of
 * its P, and a P that steals newborns does not put them before its own.
 *
 * Loops that can neither be preempted nor paused go on on their threads, at
 * most max_detached of them: with 1,000 of these the rest stands still.
 */
#include <stdio.h>
#include <string.h>

#include <weft.h>

#include "counter.h"
#include "t.h"

#ifdef WEFT_HARD
TEST(all) { t_skip("in hard mode a newborn does not come first"); }
#else

enum { LOOPS = 1000, LAST = 3, MOST = LOOPS / 4 };

static int begun, began_last, ended, stop;
static int before_last;	/* loops that had begun by then */

static void
loop(void)
{
	counter_add(&begun, 1);
	while (!counter_get(&stop))
		;
	counter_add(&ended, 1);
}

static void
last(void)
{
	counter_set(&before_last, counter_get(&begun));
	counter_add(&began_last, 1);
}

static void
spawn_all(void)
{
	char text[4096];

	weft_preempt_explain(text, sizeof text);
	if (!strstr(text, "can be preempted") && !strstr(text, "are paused"))
		t_skip("loops can neither be preempted nor paused here");
	for (int i = 0; i < LOOPS; i++)
		weft_go(loop);
	for (int i = 0; i < LAST; i++)
		weft_go(last);
	while (counter_get(&began_last) < LAST)
		weft_yield();
	printf("# %d of %d loops had begun\n", counter_get(&before_last),
	    LOOPS);
	OK(counter_get(&before_last) <= MOST);
	counter_add(&stop, 1);
	while (counter_get(&ended) < LOOPS)
		weft_yield();
}

GTEST(on_1, 1) { spawn_all(); }
GTEST(on_2, 2) { spawn_all(); }
GTEST(on_8, 8) { spawn_all(); }
#endif

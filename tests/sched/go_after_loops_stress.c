/* SPDX-License-Identifier: MIT */
/*
 * A goroutine that spawns many endless loops gets the processor back soon, and
 * what it spawns last begins before most of the loops do: it is the newest of
 * its P, and a P that steals newborns does not put them before its own.
 */
#include <stdio.h>

#include <weft.h>

#include "t.h"

#ifdef WEFT_HARD
TEST(all) { t_skip("in hard mode a newborn does not come first"); }
#else

enum { LOOPS = 1000, LAST = 3, MOST = LOOPS / 4 };

static long begun, began_last, ended, stop;
static long before_last;	/* loops that had begun by then */

static long
get(const long *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static void
add(long *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELEASE);
}

static void
loop(void)
{
	add(&begun);
	while (!get(&stop))
		;
	add(&ended);
}

static void
last(void)
{
	long n = get(&begun);

	__atomic_store_n(&before_last, n, __ATOMIC_RELAXED);
	add(&began_last);
}

static void
spawn_all(void)
{
	for (int i = 0; i < LOOPS; i++)
		weft_go(loop);
	for (int i = 0; i < LAST; i++)
		weft_go(last);
	while (get(&began_last) < LAST)
		weft_yield();
	printf("# %ld of %d loops had begun\n", get(&before_last), LOOPS);
	OK(get(&before_last) <= MOST);
	add(&stop);
	while (get(&ended) < LOOPS)
		weft_yield();
}

GTEST(on_1, 1) { spawn_all(); }
GTEST(on_2, 2) { spawn_all(); }
GTEST(on_8, 8) { spawn_all(); }
#endif

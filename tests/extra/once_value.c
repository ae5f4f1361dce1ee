/* SPDX-License-Identifier: MIT */
/* weft_once_value: computed once, by one of the callers at the same time. */
#include <weft/extra.h>

#include "t.h"

static int calls;		/* atomic */

static void *
compute(void *arg)
{
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	weft_sleep(WEFT_MS);
	return arg;
}

static void *
never(void *arg)
{
	OK(false);
	return arg;
}

TEST(without_runtime)
{
	weft_once_value v = {0};
	int x;

	OK(weft_once_value_get(&v, compute, &x) == &x);
	OK(weft_once_value_get(&v, never, NULL) == &x);
	EQ(calls, 1);
}

static void
ask(weft_once_value *v, void *arg, void *expect, weft_waitgroup *wg)
{
	OK(weft_once_value_get(v, compute, arg) == expect);
	weft_waitgroup_done(wg);
}

static void
one_computes(void)
{
	weft_once_value v = {0};
	weft_waitgroup wg = {0};
	int x;

	calls = 0;
	weft_waitgroup_add(&wg, 20);
	for (int i = 0; i < 20; i++)
		weft_go(ask, &v, &x, &x, &wg);
	weft_waitgroup_wait(&wg);
	EQ(calls, 1);
}
ON_ALL(one_computes)

static void *
exits(void *arg)
{
	weft_waitgroup_done(arg);
	weft_goexit();
}

static void
ask_exits(weft_once_value *v, weft_waitgroup *wg)
{
	weft_once_value_get(v, exits, wg);
	OK(false);
}

GTEST(no_value, 2)
{
	weft_once_value v = {0};
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	weft_go(ask_exits, &v, &wg);
	weft_waitgroup_wait(&wg);
	OK(!weft_once_value_get(&v, never, &v));
}

DIES(null_function, 1, "null function")
{
	weft_once_value v = {0};

	weft_once_value_get(&v, NULL, NULL);
}

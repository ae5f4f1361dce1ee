/* SPDX-License-Identifier: MIT */
/* Values that belong to one goroutine, and what becomes of them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

static int destroyed;

static void
count(void *value)
{
	__atomic_add_fetch((int *)value, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
}

static weft_gls plain, counted = { count }, other = { count };

/* fn(arg) as a goroutine, to its very end. */
static void
run(void (*fn)(void *), void *arg)
{
	int64_t before = weft_goroutines();

	OK(weft_spawn(NULL, 0, fn, arg, 0) > 0);
	while (weft_goroutines() > before)
		weft_yield();
}

/* ---- setting and getting ---- */

GTEST(set_get_remove, 1)
{
	int x, y;

	OK(weft_gls_get(&plain) == NULL);
	EQ(weft_gls_set(&plain, NULL), 0);
	EQ(weft_gls_set(&plain, &x), 0);
	OK(weft_gls_get(&plain) == &x);
	OK(weft_gls_get(&counted) == NULL);
	EQ(weft_gls_set(&counted, &y), 0);
	OK(weft_gls_get(&counted) == &y);
	EQ(weft_gls_set(&plain, &y), 0);
	OK(weft_gls_get(&plain) == &y);
	EQ(weft_gls_set(&counted, NULL), 0);
	OK(weft_gls_get(&counted) == NULL);
	OK(weft_gls_get(&plain) == &y);
	EQ(weft_gls_set(&plain, NULL), 0);
	OK(weft_gls_get(&plain) == NULL);
	EQ(destroyed, 0);
}

TEST(outside_of_a_goroutine)
{
	int x;

	EQ(weft_gls_set(&plain, &x), -EPERM);
	EQ(weft_gls_set(&plain, NULL), -EPERM);
	OK(weft_gls_get(&plain) == NULL);
}

/* Any number of keys, removed in any order, from the ends and the middle. */
GTEST(many_keys, 1)
{
	enum { N = 100 };
	static weft_gls keys[N];
	static int values[N];
	unsigned seed = 3;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < N; i++)
			EQ(weft_gls_set(&keys[i], &values[i]), 0);
		for (int k = 0; k < N; k++) {
			int i = rand_r(&seed) % N;

			EQ(weft_gls_set(&keys[i], NULL), 0);
			OK(weft_gls_get(&keys[i]) == NULL);
			EQ(weft_gls_set(&keys[k], &values[k]), 0);
		}
		for (int i = 0; i < N; i++) {
			void *v = weft_gls_get(&keys[i]);

			OK(v == &values[i] || v == NULL);
		}
		OK(weft_gls_get(&keys[N - 1]) == &values[N - 1]);
	}
}

static void
keep_own(int i, weft_waitgroup *wg)
{
	int *mine = malloc(2 * sizeof *mine);

	mine[0] = mine[1] = i;
	OK(weft_gls_get(&plain) == NULL);
	EQ(weft_gls_set(&plain, &mine[0]), 0);
	for (int k = 0; k < 20; k++) {
		weft_yield();
		OK(weft_gls_get(&plain) == &mine[0]);
		OK(weft_gls_get(&counted) == (k ? &mine[1] : NULL));
		EQ(weft_gls_set(&counted, &mine[1]), 0);
	}
	EQ(mine[0], i);
	weft_gls_set(&plain, NULL);
	weft_gls_set(&counted, NULL);
	free(mine);
	weft_waitgroup_done(wg);
}

GTEST(each_has_its_own, 4)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1000);
	for (int i = 0; i < 1000; i++)
		OK(weft_try_go(keep_own, i, &wg) > 0);
	weft_waitgroup_wait(&wg);
	EQ(destroyed, 0);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(t_leaks(), 0);
}

/* ---- the end ---- */

static void
set_and_return(void *value)
{
	EQ(weft_gls_set(&plain, value), 0);
	EQ(weft_gls_set(&counted, value), 0);
	EQ(weft_gls_set(&other, value), 0);
}

static void
set_and_exit(void *value)
{
	set_and_return(value);
	weft_goexit();
}

static void
set_and_remove(void *value)
{
	set_and_return(value);
	weft_gls_set(&counted, NULL);
	weft_gls_set(&other, NULL);
}

/* The last one that was set counts, and only that. */
static void
set_twice(void *value)
{
	int wrong = 0;

	weft_gls_set(&counted, &wrong);
	weft_gls_set(&counted, value);
}

GTEST(destroyed_once, 1)
{
	int n = 0;

	run(set_and_return, &n);
	EQ(n, 2);
	run(set_and_exit, &n);
	EQ(n, 4);
	run(set_and_remove, &n);
	EQ(n, 4);
	run(set_twice, &n);
	EQ(n, 5);
	EQ(destroyed, 5);
	EQ(t_leaks(), 0);
}

/* The next goroutine, which gets the same record, finds nothing. */
static void
find_nothing(void *arg)
{
	(void)arg;
	OK(weft_gls_get(&counted) == NULL);
	OK(weft_gls_get(&other) == NULL);
}

GTEST(nothing_is_inherited, 1)
{
	int n = 0;

	weft_gls_set(&counted, &n);
	for (int i = 0; i < 500; i++) {
		run(i % 2 ? set_and_return : set_and_exit, &n);
		run(find_nothing, NULL);
	}
	EQ(n, 1000);
	OK(weft_gls_get(&counted) == &n);
	weft_gls_set(&counted, NULL);
}

/*
 * Enough dead records at once that batches of them travel through the list
 * that all Ps share, whose links are where the values hang.
 */
static void
touch(int *n, weft_waitgroup *wg)
{
	find_nothing(NULL);
	weft_waitgroup_done(wg);
	weft_gls_set(&counted, n);
}

GTEST(records_that_travel, 4)
{
	weft_waitgroup wg = {0};
	int n = 0, n_each = 200 + (int)t_scale(1800);

	for (int round = 0; round < 10; round++) {
		weft_waitgroup_add(&wg, n_each);
		for (int i = 0; i < n_each; i++)
			OK(weft_try_go(touch, &n, &wg) > 0);
		weft_waitgroup_wait(&wg);
		while (weft_goroutines() > 1)
			weft_yield();
		weft_set_procs(round % 4 + 1);
	}
	EQ(n, 10 * n_each);
}

/* ---- a destroy may do anything ---- */

static char story[64];
static int told;

static void
tell(void *arg)
{
	story[told++] = *(char *)arg;
	story[told] = 0;
}

static bool
is_story(const char *want)
{
	int i;

	for (i = 0; want[i] && want[i] == story[i]; i++)
		;
	return want[i] == story[i];
}

static char letter_d = 'd', letter_v = 'v', letter_w = 'w';
static weft_gls told_last = { tell };

static void
defer_and_set(void *arg)
{
	(void)arg;
	weft_gls_set(&told_last, &letter_v);
	EQ(weft_defer(tell, &letter_d), 0);
}

/* A deferred call that sets a value is in time. */
static void
set_late(void *arg)
{
	weft_gls_set(&told_last, arg);
	tell(&letter_d);
}

static void
defer_to_set(void *arg)
{
	weft_defer(set_late, arg);
}

GTEST(after_deferred_calls, 1)
{
	run(defer_and_set, NULL);
	OK(is_story("dv"));
	run(defer_to_set, &letter_w);
	OK(is_story("dvdw"));
}

/* A destroy that defers: that is done too. */
static void destroy_defers(void *arg) { weft_defer(tell, arg); }
static weft_gls defers = { destroy_defers };

static void
set_defers(void *arg)
{
	weft_gls_set(&defers, arg);
	weft_gls_set(&told_last, &letter_v);
}

GTEST(destroy_defers_a_call, 1)
{
	run(set_defers, &letter_d);
	OK(is_story("dv"));
}

/* A destroy that sets its own value again is called so often and no more. */
static int again_n;
static void destroy_again(void *arg);
static weft_gls again = { destroy_again };

static void
destroy_again(void *arg)
{
	OK(weft_gls_get(&again) == NULL);
	again_n++;
	EQ(weft_gls_set(&again, arg), 0);
}

static void
set_again(void *arg)
{
	weft_gls_set(&again, arg);
}

GTEST(destroy_sets_again, 1)
{
	int x;

	run(set_again, &x);
	EQ(again_n, 4);
	run(find_nothing, NULL);
	EQ(t_leaks(), 0);
}

/* A destroy that sets another key: that is destroyed in the next round. */
static void destroy_sets(void *arg) { weft_gls_set(&counted, arg); }
static weft_gls sets = { destroy_sets };

static void
set_sets(void *arg)
{
	weft_gls_set(&sets, arg);
}

GTEST(destroy_sets_another, 1)
{
	int n = 0;

	run(set_sets, &n);
	EQ(n, 1);
}

/* A destroy that ends the goroutine: the others are destroyed all the same. */
static void
destroy_exits(void *arg)
{
	tell(arg);
	weft_goexit();
}

static weft_gls exits[3] = {
	{ destroy_exits }, { destroy_exits }, { destroy_exits }
};

static void
set_exits(void *arg)
{
	for (int i = 0; i < 3; i++)
		weft_gls_set(&exits[i], arg);
	weft_defer(tell, &letter_d);
}

GTEST(destroy_exits_goroutine, 1)
{
	run(set_exits, &letter_w);
	OK(is_story("dwww"));
	EQ(t_leaks(), 0);
}

/* A destroy that lets others run, and is resumed elsewhere. */
static void
destroy_yields(void *arg)
{
	for (int i = 0; i < 10; i++)
		weft_yield();
	count(arg);
}

static weft_gls yields = { destroy_yields };

static void
set_yields(int *n, weft_waitgroup *wg)
{
	weft_gls_set(&yields, n);
	weft_waitgroup_done(wg);
}

GTEST(destroy_yields_and_moves, 4)
{
	weft_waitgroup wg = {0};
	int n = 0;

	weft_waitgroup_add(&wg, 1000);
	for (int i = 0; i < 1000; i++)
		OK(weft_try_go(set_yields, &n, &wg) > 0);
	weft_waitgroup_wait(&wg);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(n, 1000);
}

/* ---- the main goroutine ---- */

/* An exit that does not wait for it is too early. */
static void
destroy_slowly(void *arg)
{
	for (int64_t end = weft_deadline(20 * WEFT_MS); weft_now() < end; )
		weft_yield();
	count(arg);
}

static weft_gls slowly = { destroy_slowly };

static int
main_sets(int argc, char **argv)
{
	(void)argc;
	EQ(weft_gls_set(&slowly, argv), 0);
	return 5;
}

TEST(of_the_main_goroutine)
{
	int n = 0;

	EQ(weft_run(main_sets, 0, (char **)(void *)&n), 5);
	EQ(n, 1);
}

/* ---- it leaves nothing behind ---- */

GTEST(no_growth, 2)
{
	long rounds = t_scale(100000);
	int64_t before = 0;
	int n = 0;

	for (long i = 0; i < rounds; i++) {
		if (i == rounds / 10) {
			while (weft_goroutines() > 1)
				weft_yield();
			before = t_resident();
		}
		OK(weft_spawn(NULL, 0, set_and_return, &n, 0) > 0);
		if (i % 100 == 0)
			while (weft_goroutines() > 1)
				weft_yield();
	}
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(n, 2 * rounds);
	/* ThreadSanitizer keeps 1 KiB of each goroutine. */
	OK(T_SANITIZED || t_resident() - before < 4 << 20);
	EQ(t_leaks(), 0);
}

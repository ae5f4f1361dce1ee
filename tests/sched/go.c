/* SPDX-License-Identifier: MIT */
/* Goroutines: their ids, names and options, and where they may be started. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "samples.h"
#include "t.h"

static weft_waitgroup all;

/* ---- ids ---- */

static void
note_id(int64_t *slot)
{
	*slot = weft_self_id();
	weft_waitgroup_done(&all);
}

/* Returned and seen from inside are the same; no two are. */
static void
check_ids(int64_t *returned, const int64_t *seen, long n)
{
	for (long i = 0; i < n; i++) {
		OK(returned[i] > 0);
		EQ(returned[i], seen[i]);
	}
	returned[n] = weft_self_id();
	qsort(returned, (size_t)n + 1, sizeof *returned, ascending);
	for (long i = 0; i < n; i++)
		OK(returned[i] < returned[i + 1]);
}

GTEST(ids, 4)
{
	long n = t_scale(20000);
	int64_t *returned = calloc((size_t)n + 1, sizeof *returned);
	int64_t *seen = calloc((size_t)n + 1, sizeof *seen);

	weft_waitgroup_add(&all, (int)n);
	for (long i = 0; i < n; i++)
		returned[i] = weft_try_go(note_id, &seen[i]);
	weft_waitgroup_wait(&all);
	check_ids(returned, seen, n);
	free(returned);
	free(seen);
}

static void
same_id_later(void)
{
	int64_t id = weft_self_id();

	for (int i = 0; i < 100; i++) {
		weft_yield();
		EQ(weft_self_id(), id);
	}
	weft_waitgroup_done(&all);
}

GTEST(id_stays, 2)
{
	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		OK(weft_try_go(same_id_later) > 0);
	weft_waitgroup_wait(&all);
}

/* ---- names ---- */

static void
is_named(const char *name)
{
	OK(strcmp(weft_self_name(), name) == 0);
	weft_yield();
	OK(strcmp(weft_self_name(), name) == 0);
	weft_waitgroup_done(&all);
}

#define LETTERS23 "abcdefghijklmnopqrstuvw"

GTEST(names, 1)
{
	char name[] = "copied";

	OK(*weft_self_name() == 0);
	weft_waitgroup_add(&all, 6);
	OK(weft_try_go_opt(WEFT_OPT(.name = "conn"), is_named, "conn") > 0);
	OK(weft_try_go_opt(WEFT_OPT(.name = LETTERS23), is_named,
	    LETTERS23) > 0);
	OK(weft_try_go_opt(WEFT_OPT(.name = LETTERS23 "xyz"), is_named,
	    LETTERS23) > 0);
	OK(weft_try_go_opt(WEFT_OPT(.name = ""), is_named, "") > 0);
	OK(weft_try_go(is_named, "") > 0);
	OK(weft_try_go_opt(WEFT_OPT(.name = name), is_named, "copied") > 0);
	memset(name, 'x', sizeof name - 1);
	weft_waitgroup_wait(&all);
}

/* A record that had a name is used again by one that has none. */
GTEST(name_is_not_inherited, 1)
{
	for (int i = 0; i < 300; i++) {
		weft_waitgroup_add(&all, 2);
		weft_go_opt(WEFT_OPT(.name = "old"), is_named, "old");
		OK(weft_try_go(is_named, "") > 0);
		weft_waitgroup_wait(&all);
	}
}

/* ---- stacks ---- */

/* Uses that many bytes, from the far end. */
static void
use_stack(size_t bytes)
{
	volatile char array[bytes];

	array[0] = 1;
	array[bytes - 1] = 2;
	EQ(array[0] + array[bytes - 1], 3);
	weft_waitgroup_done(&all);
}

GTEST(stack_sizes, 2)
{
	static const size_t sizes[] = { 16384, 65536, 1 << 20, 16 << 20 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		weft_waitgroup_add(&all, 1);
		OK(weft_try_go_opt(WEFT_OPT(.stack = sizes[i]), use_stack,
		    sizes[i] - 8192) > 0);
	}
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(use_stack, 160 * 1024) > 0);
	weft_waitgroup_wait(&all);
}

GTEST(stack_absurd, 1)
{
	int64_t before = weft_goroutines();

	EQ(weft_try_go_opt(WEFT_OPT(.stack = 1), use_stack, 1), -EINVAL);
	EQ(weft_try_go_opt(WEFT_OPT(.stack = 4095), use_stack, 1), -EINVAL);
	EQ(weft_try_go_opt(WEFT_OPT(.stack = (size_t)1 << 30), use_stack, 1),
	    -EINVAL);
	EQ(weft_try_go_opt(WEFT_OPT(.stack = SIZE_MAX), use_stack, 1), -EINVAL);
	EQ(weft_goroutines(), before);
}

/* ---- started by others ---- */

enum { THREADS = 4 };
static int ran;

static void
count(int n)
{
	__atomic_add_fetch(&ran, n, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

static void
grow(int depth)
{
	if (depth > 0) {
		weft_waitgroup_add(&all, 2);
		OK(weft_try_go(grow, depth - 1) > 0);
		OK(weft_try_go(grow, depth - 1) > 0);
	}
	count(1);
}

GTEST(by_goroutines, 4)
{
	int depth = t_scale(10) > 5 ? 12 : 6;

	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(grow, depth) > 0);
	weft_waitgroup_wait(&all);
	EQ(ran, (2 << depth) - 1);
}

static void *
plain(void *arg)
{
	long n = *(long *)arg;

	EQ(weft_self_id(), 0);
	OK(*weft_self_name() == 0);
	for (long i = 0; i < n; i++)
		OK(weft_try_go(count, 1) > 0);
	EQ(weft_self_id(), 0);
	return NULL;
}

GTEST(by_a_thread, 2)
{
	long n = t_scale(1000);

	weft_waitgroup_add(&all, (int)n);
	thread_run(plain, &n);
	weft_waitgroup_wait(&all);
	EQ(ran, n);
}

GTEST(by_threads, 2)
{
	long n = t_scale(5000);
	pthread_t t[THREADS];

	weft_waitgroup_add(&all, (int)n * THREADS);
	threads_start(t, THREADS, plain, &n);
	threads_join(t, THREADS);
	weft_waitgroup_wait(&all);
	EQ(ran, n * THREADS);
}

/* SPDX-License-Identifier: MIT */
/* Collected memory: what each call gives, and what it does with bad input. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <weft.h>
#include <weft/gc.h>

#include "t.h"

static bool
is_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static weft_gc_stats
stats(void)
{
	weft_gc_stats s;

	weft_gc_stats_read(&s, sizeof s);
	return s;
}

/* Garbage that has been something else before. */
GTEST(objects_are_zeroed_and_aligned, 2)
{
	size_t wrong = 0;

	for (int round = 0; round < 3; round++) {
		for (size_t n = 0; n < 3000; n += 7) {
			unsigned char *p = weft_gc_alloc(n);

			wrong += !p || (uintptr_t)p % 16 || !is_zero(p, n);
			if (p)
				memset(p, 0xa5, n);
		}
		EQ(weft_gc_collect(), 0);
	}
	EQ(wrong, 0);
}

GTEST(atomic_ones_are_aligned_and_hold_bytes, 1)
{
	char *p = weft_gc_alloc_atomic(100000), *q = weft_gc_alloc_atomic(1);

	OK(p && q && (uintptr_t)p % 16 == 0 && (uintptr_t)q % 16 == 0);
	memset(p, 'x', 100000);
	EQ(weft_gc_collect(), 0);
	EQ(p[99999], 'x');
}

GTEST(realloc_keeps_what_was_there, 1)
{
	char *p = weft_gc_realloc(NULL, 10);

	strcpy(p, "nine char");
	p = weft_gc_realloc(p, 100000);
	OK(p && strcmp(p, "nine char") == 0);
	p = weft_gc_realloc(p, 10);
	OK(p && strcmp(p, "nine char") == 0);
}

GTEST(strings, 1)
{
	char *s = weft_gc_strdup("abc"), *t = weft_gc_strndup("abcdef", 2);
	char *u = weft_gc_printf("%s-%d", "x", 42);

	EQ(weft_gc_collect(), 0);
	OK(strcmp(s, "abc") == 0 && strcmp(t, "ab") == 0);
	OK(strcmp(u, "x-42") == 0);
	OK(strcmp(weft_gc_strdup(""), "") == 0);
}

GTEST(too_much_is_refused_and_nothing_lost, 1)
{
	char *p = weft_gc_strdup("still here");

	OK(weft_gc_alloc(SIZE_MAX) == NULL);
	OK(weft_gc_alloc_atomic(SIZE_MAX / 2 + 1) == NULL);
	OK(weft_gc_alloc_uncollectable(SIZE_MAX - 100) == NULL);
	OK(weft_gc_realloc(p, SIZE_MAX) == NULL);
	OK(strcmp(p, "still here") == 0);
	weft_gc_free(NULL);
}

static void **list;

/* So many until one is refused. */
T_NOT_INLINED static size_t
fill_up(size_t most)
{
	size_t n = 0;

	for (; n < most; n++) {
		void **p = weft_gc_alloc(1000);

		if (!p)
			break;
		*p = list;
		list = p;
	}
	return n;
}

T_NOT_INLINED static size_t
refused_of(size_t n)
{
	size_t refused = 0;

	for (size_t i = 0; i < n; i++)
		refused += weft_gc_alloc(1000) == NULL;
	return refused;
}

GTEST(a_hard_limit_refuses, 1)
{
	size_t n;

	EQ(weft_gc_set_limit(16 << 20, true), SIZE_MAX);
	n = fill_up(64 << 10);
	OK(n > 8 << 10 && n < 20 << 10);
	EQ(refused_of(1000), 1000);
	list = NULL;
	/* What is garbage now is found when some time has passed. */
	while (refused_of(1))
		weft_sleep(WEFT_MS);
	EQ(refused_of(1000), 0);
	EQ(weft_gc_set_limit(SIZE_MAX, false), 16 << 20);
}

GTEST(a_soft_limit_keeps_the_heap_small, 2)
{
	weft_gc_set_percent(10000);
	weft_gc_set_limit(8 << 20, false);
	for (int i = 0; i < 1000000; i++)
		weft_gc_alloc(64);
	OK(stats().heap_bytes < 24 << 20);
	OK(stats().collections > 3);
}

GTEST(never_means_never, 1)
{
	uint64_t before;

	EQ(weft_gc_set_percent(-1), 100);
	before = stats().collections;
	for (int i = 0; i < 1000000; i++)
		weft_gc_alloc(16);
	EQ(stats().collections, before);
	EQ(weft_gc_collect(), 0);
	EQ(stats().collections, before + 1);
	EQ(weft_gc_set_percent(100), -1);
}

/* Not only after the next collection, which never would come by itself. */
GTEST(a_percentage_and_a_limit_count_from_now_on, 1)
{
	uint64_t before;

	weft_gc_set_percent(-1);
	fill_up(1000);
	EQ(weft_gc_collect(), 0);
	before = stats().collections;
	EQ(weft_gc_set_percent(100), -1);
	for (int i = 0; i < 100000; i++)
		weft_gc_alloc(1000);
	OK(stats().collections > before + 2);
	weft_gc_set_percent(1000000);
	EQ(weft_gc_collect(), 0);
	before = stats().collections;
	weft_gc_set_limit(16 << 20, false);
	for (int i = 0; i < 100000; i++)
		weft_gc_alloc(1000);
	OK(stats().collections > before + 2);
	OK(stats().heap_bytes < 64 << 20);
}

GTEST(memory_stays_flat, 2)
{
	for (int i = 0; i < 3000000; i++)
		weft_gc_alloc(100);
	OK(stats().heap_bytes < 64 << 20);
	OK(stats().allocated_bytes >= 300 * 1000 * 1000);
}

GTEST(counters_fit_smaller_and_larger_structs, 1)
{
	struct { weft_gc_stats s; uint64_t more; } large;
	uint64_t first = 77;

	memset(&large, 0xff, sizeof large);
	EQ(weft_gc_collect(), 0);
	weft_gc_stats_read(&large.s, sizeof large);
	EQ(large.more, 0);
	OK(large.s.collections >= 1 && large.s.forced >= 1);
	OK(large.s.pause_max_ns >= large.s.pause_last_ns);
	weft_gc_stats_read((weft_gc_stats *)(void *)&first, sizeof first);
	OK(first >= 1 && first < 77);
}

/* ---- finalizers and weak links ---- */

static int ended;

static void
count_end(void *object, void *arg)
{
	OK(*(int *)object == 7);
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
}

T_NOT_INLINED static void
make_mortals(int n)
{
	for (int i = 0; i < n; i++) {
		int *p = weft_gc_alloc(32);

		*p = 7;
		EQ(weft_gc_finalizer(p, count_end, &ended), 0);
	}
}

static void
collect_until(const int *count, int least)
{
	for (int i = 0; i < 1000 &&
	    __atomic_load_n(count, __ATOMIC_RELAXED) < least; i++) {
		EQ(weft_gc_collect(), 0);
		weft_sleep(WEFT_MS);
	}
	OK(__atomic_load_n(count, __ATOMIC_RELAXED) >= least);
}

/* Some may be kept by a word that looks like a pointer. */
GTEST(finalizers_run_once_each, 2)
{
	make_mortals(1000);
	collect_until(&ended, 990);
	for (int i = 0; i < 5; i++)
		EQ(weft_gc_collect(), 0);
	weft_sleep(10 * WEFT_MS);
	OK(ended <= 1000);
	OK(stats().finalizers >= 990);
}

static weft_chan *held;

static void
resurrect(void *object, void *arg)
{
	(void)arg;
	weft_send(held, object);
}

T_NOT_INLINED static void
make_resurrected(int n)
{
	for (int i = 0; i < n; i++) {
		int *p = weft_gc_alloc(32);

		*p = 7;
		EQ(weft_gc_finalizer(p, resurrect, NULL), 0);
	}
}

/* A finalizer may wait, and may keep its object. One object would not do: a
 * stale word on a stack may keep it for long. */
GTEST(a_finalizer_is_a_goroutine, 1)
{
	int *p;

	held = weft_chan_of(void *, 0);
	make_resurrected(20);
	EQ(weft_gc_collect(), 0);
	p = weft_recv(held, void *);
	EQ(weft_gc_collect(), 0);
	EQ(*p, 7);
}

GTEST(a_finalizer_can_be_removed, 1)
{
	int *p = weft_gc_alloc(32), here;

	EQ(weft_gc_finalizer(p, count_end, &ended), 0);
	EQ(weft_gc_finalizer(p, NULL, NULL), 0);
	EQ(weft_gc_finalizer((char *)p + 1, count_end, &ended), -EINVAL);
	EQ(weft_gc_finalizer(&here, count_end, &ended), -EINVAL);
	EQ(weft_gc_finalizer(NULL, count_end, &ended), -EINVAL);
	p = NULL;
	for (int i = 0; i < 3; i++)
		EQ(weft_gc_collect(), 0);
	weft_sleep(WEFT_MS);
	EQ(ended, 0);
}

enum { WEAK = 200 };

T_NOT_INLINED static void
make_weak(weft_gc_weak **weak)
{
	for (int i = 0; i < WEAK; i++)
		weak[i] = weft_gc_weak_make(weft_gc_alloc(40));
}

GTEST(weak_links_end_with_their_objects, 1)
{
	weft_gc_weak **weak = weft_gc_alloc(WEAK * sizeof *weak);
	int *kept = weft_gc_alloc(16), left = 0, here;
	weft_gc_weak *link = weft_gc_weak_make(kept);

	make_weak(weak);
	for (int i = 0; i < 3; i++)
		EQ(weft_gc_collect(), 0);
	for (int i = 0; i < WEAK; i++)
		left += weft_gc_weak_get(weak[i]) != NULL;
	OK(left < WEAK / 10);
	OK(weft_gc_weak_get(link) == kept);
	OK(weft_gc_weak_make(&here) == NULL);
	OK(weft_gc_weak_make(NULL) == NULL);
	OK(weft_gc_weak_get(NULL) == NULL);
}

/* ---- elsewhere than on goroutines ---- */

TEST(without_a_runtime)
{
	char *s = weft_gc_strdup("plain");

	for (int i = 0; i < 200000; i++)
		weft_gc_alloc(50);
	EQ(weft_gc_collect(), 0);
	OK(strcmp(s, "plain") == 0);
	make_mortals(100);
	collect_until(&ended, 90);
}

static int
allocate_in_call(void *arg)
{
	char *s = weft_gc_strdup("in a call");

	(void)arg;
	for (int i = 0; i < 100000; i++)
		weft_gc_alloc(i % 700);
	EQ(weft_gc_collect(), 0);
	return strcmp(s, "in a call");
}

static void
call(weft_waitgroup *wg)
{
	weft_blocking_enter();
	EQ(allocate_in_call(NULL), 0);
	weft_blocking_leave();
	weft_waitgroup_done(wg);
}

GTEST(in_announced_calls, 2)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 4);
	for (int i = 0; i < 4; i++)
		weft_go(call, &wg);
	weft_waitgroup_wait(&wg);
}

static void *
plain_thread(void *arg)
{
	char *s;

	(void)arg;
	EQ(weft_gc_thread_begin(), 0);
	s = weft_gc_strdup("on a thread");
	for (int i = 0; i < 50000; i++)
		weft_gc_alloc(i % 300);
	EQ(weft_gc_collect(), 0);
	OK(strcmp(s, "on a thread") == 0);
	weft_gc_thread_end();
	return NULL;
}

static void *
forgetful_thread(void *arg)
{
	(void)arg;
	weft_gc_thread_end();		/* nothing */
	EQ(weft_gc_thread_begin(), 0);
	EQ(weft_gc_thread_begin(), 0);	/* nothing */
	if (!arg)
		return NULL;		/* ends without a word */
	weft_gc_thread_end();
	weft_gc_thread_end();		/* nothing */
	return NULL;
}

GTEST(threads_that_begin_and_end_too_often_or_not, 1)
{
	pthread_t t;
	int yes;

	for (int i = 0; i < 20; i++) {
		EQ(pthread_create(&t, NULL, forgetful_thread,
		    i % 2 ? &yes : NULL), 0);
		weft_blocking_enter();
		pthread_join(t, NULL);
		weft_blocking_leave();
		EQ(weft_gc_collect(), 0);
	}
}

GTEST(on_plain_threads, 2)
{
	pthread_t t[4];

	EQ(weft_gc_thread_begin(), -EPERM);
	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&t[i], NULL, plain_thread, NULL), 0);
	for (int i = 0; i < 100000; i++)
		weft_gc_alloc(i % 300);
	weft_blocking_enter();
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	weft_blocking_leave();
}

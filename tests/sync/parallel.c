/* SPDX-License-Identifier: MIT */
/*
 * Loops over ranges: each index once, results in order, bodies that wait,
 * nest and compute for ever beside others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { N = 10000 };

static unsigned char seen[N];
static size_t least_part;

static void
mark(size_t lo, size_t hi, void *arg)
{
	OK(lo < hi);
	OK(arg == seen);
	for (size_t i = lo; i < hi; i++)
		__atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
}

static void
each_index_once(void)
{
	static const size_t ranges[][2] = { { 0, 0 }, { 5, 5 }, { 7, 3 },
	    { 0, 1 }, { 3, 5 }, { 1, N - 1 }, { 0, N } };

	for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
		size_t begin = ranges[r][0], end = ranges[r][1], wrong = 0;

		memset(seen, 0, sizeof seen);
		weft_parallel_for(begin, end, mark, seen);
		for (size_t i = 0; i < N; i++)
			wrong += seen[i] != (i >= begin && i < end);
		EQ(wrong, 0);
	}
}
ON_ALL(each_index_once)

static void
mark_and_wait(size_t lo, size_t hi, void *arg)
{
	mark(lo, hi, arg);
	weft_sleep(WEFT_MS / 10);
}

static void
bodies_wait(void)
{
	size_t wrong = 0;

	memset(seen, 0, sizeof seen);
	weft_parallel_for(0, 200, mark_and_wait, seen);
	for (size_t i = 0; i < 200; i++)
		wrong += seen[i] != 1;
	EQ(wrong, 0);
}
ON_ALL(bodies_wait)

static void
add(size_t lo, size_t hi, void *into, void *arg)
{
	(void)arg;
	for (size_t i = lo; i < hi; i++)
		*(uint64_t *)into += i;
}

static void
add_up(void *into, const void *from, void *arg)
{
	(void)arg;
	*(uint64_t *)into += *(const uint64_t *)from;
}

static void
nested(size_t lo, size_t hi, void *arg)
{
	for (size_t i = lo; i < hi; i++) {
		uint64_t sum = 0;

		EQ(weft_parallel_reduce(0, i, &sum, sizeof sum, add, add_up,
		    NULL), 0);
		__atomic_add_fetch((uint64_t *)arg, sum, __ATOMIC_RELAXED);
	}
}

static void
nest(void)
{
	uint64_t total = 0, want = 0;

	weft_parallel_for(0, 300, nested, &total);
	for (uint64_t i = 0; i < 300; i++)
		want += i * (i - 1) / 2;
	EQ(total, want);
}
ON_ALL(nest)

/* A sequence that is associative and not commutative; longer than SMALL. */
struct sequence {
	size_t first, last;
	bool broken;
	char more[200];
};

static void
extend(size_t lo, size_t hi, void *into, void *arg)
{
	struct sequence *s = into;

	(void)arg;
	if (!s->last)
		s->first = lo;
	else if (s->last != lo)
		s->broken = true;
	s->last = hi;
}

static void
append(void *into, const void *from, void *arg)
{
	const struct sequence *f = from;
	struct sequence *s = into;

	if (!f->last)
		return;
	if (f->broken)
		s->broken = true;
	extend(f->first, f->last, s, arg);
}

static void
order_is_kept(void)
{
	for (int i = 0; i < 20; i++) {
		struct sequence s = {0};

		EQ(weft_parallel_reduce(0, 100000, &s, sizeof s, extend,
		    append, NULL), 0);
		OK(!s.broken);
		EQ(s.first, 0);
		EQ(s.last, 100000);
	}
}
ON_ALL(order_is_kept)

static void
whole(size_t lo, size_t hi, void *arg)
{
	(void)arg;
	least_part = hi - lo;
}

PLAIN_THREAD(on_plain_thread, weft_parallel_for(0, 77, whole, arg))

GTEST(a_plain_thread_does_it_alone, 1)
{
	thread_run(on_plain_thread, NULL);
	EQ(least_part, 77);
}

GTEST(no_bytes_are_refused, 1)
{
	char c = 0;

	EQ(weft_parallel_reduce(0, 1, &c, 0, extend, append, NULL), -EINVAL);
}

static void
compute(size_t lo, size_t hi, void *stop)
{
	(void)lo, (void)hi;
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		;
}

static void
end_it(int *stop)
{
	weft_sleep(5 * WEFT_MS);
	__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
}

/* A body that computes for ever must not stall the goroutine that ends it. */
GTEST(bodies_are_preempted, 1)
{
	int stop = 0;

	weft_go(end_it, &stop);
	weft_parallel_for(0, 4, compute, &stop);
	OK(stop);
}


static void
exits(size_t lo, size_t hi, void *arg)
{
	(void)lo, (void)hi, (void)arg;
	weft_goexit();
}

DIES(goexit_in_a_body, 1, "weft_goexit: in the function of a future")
{
	weft_parallel_for(0, 10, exits, NULL);
}

static int deferred;

static void count_deferred(void *n) { *(int *)n += 1; }

static void
defers(size_t lo, size_t hi, void *n)
{
	for (size_t i = lo; i < hi; i++)
		weft_defer(count_deferred, n);
}

GTEST(deferred_calls_come_before_it_returns, 1)
{
	weft_parallel_for(0, 10, defers, &deferred);
	EQ(deferred, 10);
}

DIES(null_body, 1, "weft_parallel_for: null function")
{
	weft_parallel_for(0, 1, NULL, NULL);
}

static void
add_length(size_t lo, size_t hi, void *sum)
{
	OK(lo < hi);
	__atomic_fetch_add((size_t *)sum, hi - lo, __ATOMIC_RELAXED);
}

/* The largest range that there is. */
static void
all_indices(void)
{
	size_t sum = 0;

	weft_parallel_for(0, SIZE_MAX, add_length, &sum);
	OK(sum == SIZE_MAX);
}
ON_ALL(all_indices)

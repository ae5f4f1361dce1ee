/* SPDX-License-Identifier: MIT */
/* Fork and join by futures, and loops over ranges. */
#include "bench.h"

#include <stdlib.h>
#include <weft.h>

static long
fib(long n)
{
	weft_future(long) left;
	long right;

	if (n < 2)
		return n;
	weft_future_go(&left, fib, n - 1);
	right = fib(n - 2);
	return weft_future_join(&left) + right;
}

void
bench_fib_future(void)
{
	for (int i = 0; i < 3; i++) {
		double t = bench_now_ns();

		bench_check("fib27_future", fib(27), 196418);
		bench_ms("fib27_future", bench_now_ns() - t);
	}
}

/* A tree of fan-out 10: each node sums up what its children return. */
static long
sky(long num, long size)
{
	weft_future(long) child[10];
	long sum = 0;

	if (size == 1)
		return num;
	for (long i = 0; i < 10; i++)
		weft_future_go(&child[i], sky, num + i * (size / 10),
		    size / 10);
	for (int i = 9; i >= 0; i--)
		sum += weft_future_join(&child[i]);
	return sum;
}

void
bench_skynet_future(void)
{
	for (int i = 0; i < 3; i++) {
		double t = bench_now_ns();

		bench_check("skynet_future", sky(0, 1000000), 499999500000);
		bench_ms("skynet_future", bench_now_ns() - t);
	}
}

static long
child(long i)
{
	return i;
}

void
bench_spawnjoin_future(void)
{
	const long n = 1000000;
	double t = bench_now_ns();
	long sum = 0;

	for (long i = 0; i < n; i++) {
		weft_future(long) f;

		weft_future_go(&f, child, i);
		sum += weft_future_join(&f);
	}
	bench_check("spawnjoin_future", sum, n * (n - 1) / 2);
	bench_ns_op("spawnjoin_future", n, bench_now_ns() - t);
}

enum { ELEMENTS = 100000000 };

/* Not inlined: the same loop as in the peers. */
static __attribute__((noinline)) long
sum_of(const int *v, size_t lo, size_t hi)
{
	long sum = 0;

	for (size_t i = lo; i < hi; i++)
		sum += v[i];
	return sum;
}

static void
sum_part(size_t lo, size_t hi, void *into, void *v)
{
	*(long *)into += sum_of(v, lo, hi);
}

static void
sum_join(void *into, const void *from, void *v)
{
	(void)v;
	*(long *)into += *(const long *)from;
}

/* The sum of so many elements, i % 1024 at i, that were touched before. */
void
bench_pfor(void)
{
	int *v = malloc(ELEMENTS * sizeof *v);
	long want = 0;

	if (!v)
		return;
	for (long i = 0; i < ELEMENTS; i++)
		want += v[i] = (int)(i % 1024);
	for (int i = 0; i < 3; i++) {
		double t = bench_now_ns();
		long sum = 0;

		weft_parallel_reduce(0, ELEMENTS, &sum, sizeof sum, sum_part,
		    sum_join, v);
		bench_check("pfor", sum, want);
		bench_ms("pfor", bench_now_ns() - t);
	}
	free(v);
}

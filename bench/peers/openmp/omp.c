/* SPDX-License-Identifier: MIT */
/*
 * Fork and join by OpenMP: tasks, and a parallel loop.
 *
 * Usage: openmp [WORKLOAD [PROCS]]
 *
 * A task is run to its end by the thread that takes it, on that thread's
 * stack, and may wait only for its children: these workloads are those of the
 * others that need no more. The runtime and its waiting are as they come:
 * OMP_WAIT_POLICY and the like are obeyed if set.
 */
#include "../peer.h"

#include <omp.h>

#ifdef __clang__
#define RUNTIME "libomp of"
#else
#define RUNTIME "libgomp of gcc"
#endif

static long fib(long n)
{
	long left, right;

	if (n < 2)
		return n;
#pragma omp task shared(left)
	left = fib(n - 1);
	right = fib(n - 2);
#pragma omp taskwait
	return left + right;
}

static long sky(long num, long size)
{
	long part[10], sum = 0;

	if (size == 1)
		return num;
	for (int i = 0; i < 10; i++) {
#pragma omp task shared(part) firstprivate(i)
		part[i] = sky(num + i * (size / 10), size / 10);
	}
#pragma omp taskwait
	for (int i = 0; i < 10; i++)
		sum += part[i];
	return sum;
}

static void fib27(void)
{
	double start = now_ns();
	long r = 0;

#pragma omp parallel
#pragma omp single
	r = fib(27);
	msec("fib27_future", now_ns() - start);
	expect("fib27_future", r, 196418);
}

static void skynet(void)
{
	double start = now_ns();
	long r = 0;

#pragma omp parallel
#pragma omp single
	r = sky(0, 1000000);
	msec("skynet_future", now_ns() - start);
	expect("skynet_future", r, 499999500000);
}

static void spawnjoin(long n)
{
	double start = now_ns();
	long done = 0;

#pragma omp parallel
#pragma omp single
	for (long i = 0; i < n; i++) {
#pragma omp task shared(done)
		done++;
#pragma omp taskwait
	}
	nsop("spawnjoin_future", n, now_ns() - start);
	expect("spawnjoin_future", done, n);
}

static void pfor(const int *v)
{
	double start = now_ns();
	long sum = 0;

#pragma omp parallel for reduction(+ : sum)
	for (long i = 0; i < PFOR_ELEMENTS; i += PFOR_RANGE)
		sum += pfor_sum(v, i, i + PFOR_RANGE);
	msec("pfor", now_ns() - start);
	expect("pfor", sum, pfor_expected());
}

static void version(void)
{
	printf("OpenMP %d, " RUNTIME " %s\n", _OPENMP, __VERSION__);
}

int main(int argc, char **argv)
{
	const char *asked = argc > 1 ? argv[1] : "all";

	if (!strcmp(asked, "version"))
		version();
	if (argc > 2)
		omp_set_num_threads(atoi(argv[2]));
	for (int i = 0; i < 3 && wanted(asked, "fib_future"); i++)
		fib27();
	for (int i = 0; i < 3 && wanted(asked, "skynet_future"); i++)
		skynet();
	if (wanted(asked, "spawnjoin_future"))
		spawnjoin(1000000);
	if (wanted(asked, "pfor")) {
		int *v = pfor_make();

		for (int i = 0; i < 3; i++)
			pfor(v);
		free(v);
	}
	return 0;
}

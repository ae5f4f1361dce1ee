/* SPDX-License-Identifier: MIT */
/*
 * What the C and C++ peers share: a clock, the `name value unit` line, the
 * memory this process has resident, page tables counted, and what pfor sums.
 */
#ifndef PEER_H
#define PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Prints what one of n operations took, of elapsed_ns in all. */
static inline void nsop(const char *name, long n, double elapsed_ns)
{
	printf("%-16s %10.1f ns/op\n", name, elapsed_ns / n);
	fflush(stdout);
}

static inline void msec(const char *name, double elapsed_ns)
{
	printf("%-16s %10.1f ms\n", name, elapsed_ns / 1e6);
	fflush(stdout);
}

/* Ends the program if a result is not what it must be. */
static inline void expect(const char *name, long got, long want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s: got %ld, not %ld\n", name, got, want);
	exit(1);
}

/* True if the workload asked for is this one, or all of them. */
static inline int wanted(const char *asked, const char *name)
{
	return !strcmp(asked, "all") || !strcmp(asked, name);
}

static inline long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident;
}

static inline long pagetable_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long bytes = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, "VmPTE:", 6))
			bytes = atol(line + 6) * 1024;
	fclose(f);
	return bytes;
}

static inline long rss_bytes(void)
{
	return resident_pages() * 4096 + pagetable_bytes();
}

/*
 * pfor: the sum of so many elements, i % 1024 at i, in memory that was touched
 * before. Not inlined, so that it is the same loop for all that share it out,
 * whatever the compiler knows of the range. Where a runtime does not choose
 * the ranges, there are a thousand.
 */
enum { PFOR_ELEMENTS = 100000000, PFOR_RANGE = PFOR_ELEMENTS / 1000 };

static __attribute__((noinline, unused)) long
pfor_sum(const int *v, long begin, long end)
{
	long sum = 0;

	for (long i = begin; i < end; i++)
		sum += v[i];
	return sum;
}

static inline int *pfor_make(void)
{
	int *v = (int *)malloc(PFOR_ELEMENTS * sizeof *v);

	if (!v) {
		perror("pfor");
		exit(1);
	}
	for (long i = 0; i < PFOR_ELEMENTS; i++)
		v[i] = i % 1024;
	return v;
}

static inline long pfor_expected(void)
{
	long whole = PFOR_ELEMENTS / 1024, rest = PFOR_ELEMENTS % 1024;

	return whole * (1023 * 1024 / 2) + rest * (rest - 1) / 2;
}

#endif

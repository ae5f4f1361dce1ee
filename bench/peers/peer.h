/* SPDX-License-Identifier: MIT */
/*
 * What the C and C++ peers share: a clock, the `name value unit` line, and
 * the memory this process has resident, page tables counted.
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

#endif

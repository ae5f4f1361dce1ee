/* SPDX-License-Identifier: MIT */
/*
 * A heap and workers, in several kinds, so that the programs of this folder
 * have one text for all of them: heap_weft.h, heap_libgc.h, heap_malloc.h. The
 * build chooses one by -DHEAP. Each has:
 *
 *	void *heap_alloc(size_t bytes)
 *	void heap_free(void *p)		nothing where there is a collector
 *	HEAP_FREES			constant: whether it must be called
 *	int heap_run(int workers, void (*fn)(int worker))
 *		calls fn(0) ... fn(workers - 1) at the same time, and returns
 *		when all have returned: 0 or an error; once in a process
 *
 * Pointers may be in static data, on the stacks of workers, and in what
 * heap_alloc returned.
 */
#ifndef BENCH_GC_HEAP_H
#define BENCH_GC_HEAP_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include HEAP

enum { WORKERS_MAX = 64 };

static inline void
fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static inline double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- running ---- */

/* Each worker writes its own. */
static struct {
	double from, to;
} spans[WORKERS_MAX];
static void (*timed_fn)(int worker);

static void
timed(int worker)
{
	spans[worker].from = now_ns();
	timed_fn(worker);
	spans[worker].to = now_ns();
}

/* heap_run, from when the first worker begins until the last one is done. */
static inline double
run_ns(int workers, void (*fn)(int worker))
{
	double from, to;

	timed_fn = fn;
	if (heap_run(workers, timed) != 0)
		fail("cannot start");
	from = spans[0].from;
	to = spans[0].to;
	for (int i = 1; i < workers; i++) {
		from = spans[i].from < from ? spans[i].from : from;
		to = spans[i].to > to ? spans[i].to : to;
	}
	return to - from;
}

/* ---- arguments, results ---- */

/* Ends the program unless it is a number from 1 to most. */
static inline long
number(const char *text, long most)
{
	char *end;
	long n = text ? strtol(text, &end, 10) : 0;

	if (n < 1 || n > most || *end)
		fail("wrong arguments: the head of the source has them");
	return n;
}

/* The most memory that this process has had resident. */
static inline void
print_memory(const char *name)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%s_memory %.1f MB\n", name, (double)u.ru_maxrss / 1024);
}

#endif

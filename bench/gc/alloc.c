/* SPDX-License-Identifier: MIT */
/*
 * alloc WORKERS OBJECTS
 *
 * The workers together allocate so many objects of 32 bytes. Each keeps its
 * last one, and the one before that is garbage, or is freed. Prints the
 * nanoseconds by object, of all workers together: two that do not hinder each
 * other take half as many as one.
 */
#include <stdint.h>

#include "heap.h"

enum { BYTES = 32, LINE = 64 };

static struct {
	uint64_t *last __attribute__((aligned(LINE)));
} kept[WORKERS_MAX];

static long share;

static void
worker(int id)
{
	uint64_t *p;

	for (long i = 0; i < share; i++) {
		p = heap_alloc(BYTES);
		if (!p)
			fail("alloc: out of memory");
		p[0] = (uint64_t)i;
		heap_free(kept[id].last);
		__atomic_store_n(&kept[id].last, p, __ATOMIC_RELAXED);
	}
}

int
main(int argc, char **argv)
{
	int workers = (int)number(argc > 1 ? argv[1] : NULL, WORKERS_MAX);
	long objects = number(argc > 2 ? argv[2] : NULL, 1L << 40);
	double ns;

	share = (objects + workers - 1) / workers;
	ns = run_ns(workers, worker);
	printf("alloc %.2f ns\n", ns / (double)(share * workers));
	print_memory("alloc");
	return 0;
}

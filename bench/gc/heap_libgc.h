/* SPDX-License-Identifier: MIT */
/* libgc as it is, and threads: see heap.h. */
#define GC_THREADS
#include <gc/gc.h>

#include "heap_threads.h"

enum { HEAP_FREES = 0 };

static inline void *
heap_alloc(size_t bytes)
{
	return GC_MALLOC(bytes);
}

static inline void
heap_free(void *p)
{
	(void)p;
}

static inline int
heap_run(int workers, void (*fn)(int worker))
{
	GC_INIT();
	return heap_run_threads(workers, fn);
}

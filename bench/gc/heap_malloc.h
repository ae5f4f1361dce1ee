/* SPDX-License-Identifier: MIT */
/* malloc, free and threads: see heap.h. */
#include "heap_threads.h"

enum { HEAP_FREES = 1 };

static inline void *
heap_alloc(size_t bytes)
{
	return malloc(bytes);
}

static inline void
heap_free(void *p)
{
	free(p);
}

static inline int
heap_run(int workers, void (*fn)(int worker))
{
	return heap_run_threads(workers, fn);
}

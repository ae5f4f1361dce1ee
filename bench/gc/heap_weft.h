/* SPDX-License-Identifier: MIT */
/* libweft-gc and goroutines: see heap.h. */
#include <weft.h>
#include <weft/gc.h>

enum { HEAP_FREES = 0 };

static int heap_workers;
static void (*heap_worker)(int worker);

static inline void *
heap_alloc(size_t bytes)
{
	return weft_gc_alloc(bytes);
}

static inline void
heap_free(void *p)
{
	(void)p;
}

static int
heap_main(int argc, char **argv)
{
	weft_waitgroup wg = {0};

	(void)argc, (void)argv;
	for (int i = 0; i < heap_workers; i++)
		weft_waitgroup_go(&wg, heap_worker, i);
	weft_waitgroup_wait(&wg);
	return 0;
}

static inline int
heap_run(int workers, void (*fn)(int worker))
{
	heap_workers = workers;
	heap_worker = fn;
	return weft_run(heap_main, 0, NULL);
}

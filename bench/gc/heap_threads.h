/* SPDX-License-Identifier: MIT */
/* Workers that are threads of the kernel: see heap.h. pthread_create may be
 * that of libgc, which then knows their stacks. */
#ifndef HEAP_THREADS_H
#define HEAP_THREADS_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static void (*heap_worker)(int worker);

static void *
heap_thread(void *arg)
{
	heap_worker((int)(intptr_t)arg);
	return NULL;
}

static inline int
heap_run_threads(int workers, void (*fn)(int worker))
{
	pthread_t *threads = calloc((size_t)workers, sizeof *threads);
	int started = 0;

	if (!threads)
		return -1;
	heap_worker = fn;
	while (started < workers && pthread_create(&threads[started], NULL,
	    heap_thread, (void *)(intptr_t)started) == 0)
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return started == workers ? 0 : -1;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Load: goroutines and plain threads that do the same until they are told to
 * stop, each with a seed of its own.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "plain_thread.h"

enum { WORKER_THREADS = 2 };

struct workers {
	weft_waitgroup wg;
	bool stop;		/* atomic */
	pthread_t t[WORKER_THREADS];
};

static struct workers workers;

static inline bool
workers_wanted(void)
{
	return !__atomic_load_n(&workers.stop, __ATOMIC_RELAXED);
}

/* They end with weft_waitgroup_done(&workers.wg). */
static inline void
workers_start(int goroutines, void (*fn)(unsigned seed),
    void *(*thread)(void *seed))
{
	workers.stop = false;
	weft_waitgroup_add(&workers.wg, goroutines + WORKER_THREADS);
	for (int i = 0; i < goroutines; i++)
		weft_go(fn, (unsigned)i);
	for (uintptr_t i = 0; i < WORKER_THREADS; i++)
		workers.t[i] = thread_start(thread, (void *)(i + 100));
}

static inline void
workers_stop(void)
{
	__atomic_store_n(&workers.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&workers.wg);
	threads_join(workers.t, WORKER_THREADS);
}

#endif

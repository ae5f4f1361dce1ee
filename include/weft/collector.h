/* SPDX-License-Identifier: MIT */
/*
 * What libweft offers to a garbage collector. These names are a contract
 * between libweft and libweft-gc, not for programs: they end in an underscore
 * and may change with any version.
 */
#ifndef WEFT_COLLECTOR_H
#define WEFT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From lo up to hi there may be pointers. */
typedef struct weft_range_ {
	void *lo, *hi;
} weft_range_;
typedef void weft_push_(void *lo, void *hi, void *arg);

/*
 * There is a collector: once, before anything else of weft is used. The thread
 * in weft_run is not to block these signals: bit n - 1 for signal n. 0, or
 * -EBUSY if that is too late.
 */
int weft_collector_set_(uint64_t signals);
/* Around a fork, in the parent; and in the child, true if there was no runtime,
 * so that there may be collections. */
void weft_collector_forks_(bool begin);
bool weft_collector_forked_(void);

/*
 * The collector's thread: stops all goroutines, and all threads that run one
 * without a processor; and lets them go on. Plain threads are the collector's
 * own business, while the goroutines are stopped. 0, or -ENOTSUP if a thread
 * cannot be sent the preemption signal, -EBUSY if one does not answer it: then
 * nothing is stopped. Whether there is such a signal is asked before:
 * weft_world_can_stop_. If that is true a stop follows, and weft_run waits
 * until it is over, or was refused; no runtime begins in between. The caller of
 * weft_world_stop_ may hold a lock of the loader: a thread that runs a
 * goroutine takes these where its processor can be retaken.
 */
bool weft_world_can_stop_(void);
int weft_world_stop_(void);
void weft_world_start_(void);

/*
 * The roots, while all goroutines are stopped. Goroutines are in parts, which
 * may be read by several threads at a time. A part, below weft_root_parts_(),
 * has n adjacent records for ever, known at any time: weft_root_records_. Of
 * these at most WEFT_PART_RANGES_ ranges are written to out. weft_roots_: the
 * rest, by one thread.
 */
enum { WEFT_PART_RANGES_ = 64 };
size_t weft_root_parts_(void);
void *weft_root_records_(size_t part, size_t *n);
size_t weft_root_ranges_(void *records, size_t n, weft_range_ *out);
void weft_roots_(weft_push_ *push, void *arg);

/* The calling plain thread will be stopped by the collector; and no more. 1, 0
 * if it was so already, -EPERM if it is no plain thread. With the heap's lock
 * held: no collection goes on. */
int weft_collector_thread_(bool begin);

/*
 * A pointer that belongs to the thread which runs the calling goroutine, and
 * which no other goroutine uses until weft_cache_leave_: no waiting in between.
 * NULL, and nothing to leave, elsewhere.
 */
void **weft_cache_enter_(void);
void weft_cache_leave_(void);
/* All goroutines are stopped: calls fn with each that is set. */
void weft_caches_(void (*fn)(void *cache, void *arg), void *arg);

/* A thread of the collector that runs fn(arg): 0 or -errno. */
int weft_collector_start_(void (*fn)(void *arg), void *arg);
/* It has n more threads, which wake no goroutine. */
void weft_collector_threads_(int n);
/* From each begin to its end goroutines may wait for the collector, or for a
 * lock that it has: no deadlock. Ends with no such lock held. */
void weft_collecting_(bool begin);
/* Is the caller in an announced call? Then it may not wake a goroutine. */
bool weft_in_call_(void);
/* Semaphores for these waits: see weft_semaphore. */
void weft_collect_wait_(uint32_t *count);
void weft_collect_wake_(uint32_t *count, uint32_t n);

/* A number of WEFT_DEBUG; false if it is not set. */
bool weft_debug_number_(const char *key, int64_t *value);

#ifdef __cplusplus
}
#endif

#endif

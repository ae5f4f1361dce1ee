/* SPDX-License-Identifier: MIT */
/*
 * The heap: libgc's, under one lock of ours. libgc knows no goroutines, so it
 * never collects by itself (GC_disable); the collector's thread does that, with
 * the lock held and after it has stopped all of them. So nobody is in the
 * middle of libgc then.
 *
 * libgc clears unused parts of the stack below its caller's, up to 16 KiB, so
 * its functions that allocate run on a stack of ours: goroutines have small
 * stacks, and would keep the pages.
 *
 * Small objects come from a cache of the M, a list for each size, which is
 * filled by a block at a time: see cache.c.
 */
#ifndef WEFT_HEAP_H
#define WEFT_HEAP_H

#define GC_THREADS 1
#define GC_NO_THREAD_REDIRECTS 1
#include <gc/gc.h>
#include <gc/gc_inline.h>
#include <gc/gc_mark.h>
#include <stdbool.h>
#include <stdint.h>
#include <weft.h>
#include <weft/collector.h>
#include <weft/gc.h>

#define unlikely(x)	__builtin_expect(!!(x), 0)
#define public		__attribute__((visibility("default")))

/* What objects are made of: libgc's numbers of kinds. */
enum { KIND_ATOMIC = 0, KIND_NORMAL = 1, KIND_UNCOLLECTABLE = 2 };

/* Dies if the library could not be initialised. */
void heap_check(void);

void heap_lock(void);
void heap_unlock(void);
/* The collector's thread: see lock.h. */
void heap_wake_owed(void);
/* The lock is held: calls fn(arg) on the heap's own stack. */
void heap_call(void (*fn)(void *arg), void *arg);
void gc_on_stack(void (*fn)(void *arg), void *arg, void *top);

/* The lock held: the calling plain thread is stopped by libgc from now on. */
void heap_register_thread(void);

/* The lock held. Bytes that were allocated since the last collection count
 * towards the next. */
void heap_count(size_t bytes);
/* An object that is not in a cache. Takes the lock. */
void *heap_alloc(size_t bytes, int kind);

#endif

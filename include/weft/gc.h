/* SPDX-License-Identifier: MIT */
/*
 * A garbage-collected heap: memory that is freed when no pointer to it is left.
 * A library of its own over libgc, libweft-gc; a program that does not link it
 * pays nothing. Not included by weft.h. docs/gc.md says when to use it.
 *
 * Pointers are found in the stacks and registers of goroutines, in their
 * arguments, deferred calls and local values, in buffers of channels, in
 * contexts, timers, pools and maps, in static data, in collected memory itself,
 * and on the stacks of plain threads that have said so (weft_gc_thread_begin).
 * Not in memory of malloc, unless weft_gc_roots_add names it, and not in
 * thread-local variables. A pointer into the middle of an object, or to the
 * byte behind its end, keeps it. Objects do not move.
 *
 * All calls may be made by goroutines and by plain threads, also in announced
 * calls (weft_blocking), but not in signal handlers. A collection stops threads
 * by a signal: a system call that the kernel does not restart then, such as
 * nanosleep, poll and epoll_wait, fails with EINTR in an announced call, and in
 * one of a library.
 */
#ifndef WEFT_GC_H
#define WEFT_GC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ------------------------------------------------------------ */

/*
 * Memory, aligned to 16 bytes; an object takes a byte more than was asked for,
 * rounded up to a multiple of 16. weft_gc_alloc: zeroed. weft_gc_alloc_atomic:
 * not zeroed, and no pointers are looked for in it; for bytes and numbers.
 * weft_gc_alloc_uncollectable: zeroed, never freed but by weft_gc_free, and
 * what it points to is kept. NULL if there is no memory, or if the limit of
 * weft_gc_set_limit is reached and a collection did not help.
 */
void *weft_gc_alloc(size_t bytes);
void *weft_gc_alloc_atomic(size_t bytes);
void *weft_gc_alloc_uncollectable(size_t bytes);

/*
 * weft_gc_realloc: as realloc, of the same kind as p, which may be NULL; the
 * old object stays as it is if NULL is returned. If the object is moved, its
 * finalizer and its weak link go with it. weft_gc_free frees an object at once,
 * which is needed for uncollectable ones alone: its finalizer is not called,
 * and its weak link gives NULL from then on. NULL is nothing. A pointer that is
 * not to the beginning of an object is fatal.
 */
void *weft_gc_realloc(void *p, size_t bytes);
void weft_gc_free(void *p);

/*
 * Strings without pointers, as strdup, strndup and asprintf: weft_gc_strdup,
 * weft_gc_strndup, weft_gc_printf, weft_gc_vprintf. NULL if there is no memory.
 */
char *weft_gc_strdup(const char *s);
char *weft_gc_strndup(const char *s, size_t most);
char *weft_gc_printf(const char *format, ...)
    __attribute__((__format__(__printf__, 1, 2)));
char *weft_gc_vprintf(const char *format, va_list args)
    __attribute__((__format__(__printf__, 1, 0)));

/*
 * weft_gc_roots_add: pointers are looked for in these bytes of memory, too, as
 * in a block of malloc, until weft_gc_roots_remove with the same arguments,
 * which comes before they are freed. They may overlap, and be added more than
 * once; to remove what was not added does nothing. For few and large pieces: 0,
 * -ENOMEM if there are 1000, -EINVAL for NULL, no bytes, or too many.
 */
int weft_gc_roots_add(void *from, size_t bytes);
void weft_gc_roots_remove(void *from, size_t bytes);

/*
 * A plain thread calls weft_gc_thread_begin before its stack holds the only
 * pointer to an object, and weft_gc_thread_end when it holds none any more; the
 * end of the thread does that, too. They do not nest: a second one does
 * nothing. Not needed on goroutines, nor on the thread that ran main. Not to be
 * begun in a destructor of thread-specific data: its end would not be seen. 0,
 * or -EPERM on a goroutine.
 */
int weft_gc_thread_begin(void);
void weft_gc_thread_end(void);

/* ---- the end of objects ------------------------------------------------ */

/*
 * When nothing points to the object any more, fn(object, arg) is called, once,
 * on a goroutine, one finalizer after another; then the object is collected if
 * fn left no pointer to it. Without a runtime they are called on a thread of
 * their own. fn may wait, and may end its goroutine. weft_gc_finalizer replaces
 * the one before; NULL removes it. If one such object points to another, it
 * goes first; if they point to each other, none of them goes; one may point to
 * itself. Not called at the end of the program. arg is kept and must not point
 * to the object. 0, -EINVAL if the pointer is not to the beginning of an
 * object, -ENOMEM.
 */
int weft_gc_finalizer(void *object, void (*fn)(void *object, void *arg),
    void *arg);

/*
 * A weak link does not keep its object. weft_gc_weak_make gives one, the same
 * for the same object, which is itself collected when the object is gone; to
 * free it does nothing. NULL if there is no memory, or the pointer is not to
 * the beginning of an object. weft_gc_weak_get gives the object, or NULL if it
 * was freed or collected (or its finalizer is due).
 */
typedef struct weft_gc_weak weft_gc_weak;
weft_gc_weak *weft_gc_weak_make(void *object);
void *weft_gc_weak_get(weft_gc_weak *weak);

/* ---- when -------------------------------------------------------------- */

/*
 * weft_gc_collect collects now, and returns when that is done; finalizers may
 * still run. 0, -ENOTSUP if threads cannot be stopped (there is no preemption
 * signal: docs/gc.md), -EBUSY if one did not stop within a second, -EPERM in
 * the child of a fork if the runtime had begun.
 */
int weft_gc_collect(void);

/*
 * By itself it collects when as many bytes were allocated since the last time
 * as `percent` of what was in use then, at least 4 MiB; and after two minutes
 * without a collection, if anything was allocated. weft_gc_set_percent sets
 * that, 100 at first; a negative one: never. Returns the old one.
 */
int weft_gc_set_percent(int percent);

/*
 * weft_gc_set_limit: it collects more often, to keep the heap smaller than so
 * many bytes, whatever the percentage; SIZE_MAX at first: no limit. If what is
 * in use is more than that, the heap grows all the same, unless `hard`: then
 * allocations fail. At the limit it collects when a 32nd part of it was
 * allocated, or some time has passed. Returns the old limit.
 */
size_t weft_gc_set_limit(size_t bytes, bool hard);

/* Counters; times in nanoseconds. */
typedef struct weft_gc_stats {
	uint64_t collections;
	uint64_t forced;	/* ... by weft_gc_collect, and after two
				 * minutes */
	uint64_t heap_bytes;	/* taken from the system */
	uint64_t live_bytes;	/* in use after the last collection */
	uint64_t allocated_bytes;	/* since the start */
	uint64_t pause_ns;	/* for which all was stopped, in total */
	uint64_t pause_last_ns;
	uint64_t pause_max_ns;
	uint64_t finalizers;	/* called */
	uint64_t refused;	/* tries that failed: -ENOTSUP, -EBUSY */
	uint64_t reserved[6];
} weft_gc_stats;

/* As weft_stats_read. */
void weft_gc_stats_read(weft_gc_stats *out, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif

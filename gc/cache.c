/* SPDX-License-Identifier: MIT */
/*
 * Small objects: each M has a cache with a list of free objects for each size
 * and kind. Only the goroutine that the M runs uses it, in a region without
 * preemption, so it needs no lock: a goroutine that is stopped in the middle of
 * it by a collection stays where it is until that is over.
 *
 * The objects of a list are allocated, as libgc sees it. A collection marks
 * them (mark.c), so they stay in the cache. The first word of each is the link
 * to the next; the rest of it is zero, or of no matter in atomic ones.
 *
 * A size has at least one byte more than was asked for, so that a pointer to
 * the end of an object is one into it.
 */
#include "cache.h"

#include <stdlib.h>

#include "cycle.h"
#include "heap.h"

enum { GRANULE = 16, BLOCK_BYTES = 4096 };

static size_t
class_of(size_t bytes)
{
	return bytes / GRANULE;	/* of (class + 1) granules */
}

/* ---- taking one ---- */

static void *
pop(struct cache *c, size_t class, int kind)
{
	void **first = c ? &c->list[kind][class] : NULL;
	void **object = first ? *first : NULL;

	if (!object)
		return NULL;
	*first = *object;
	*object = NULL;
	return object;
}

/* ---- filling ---- */

struct filling {
	size_t bytes;
	int kind;
	void *list;
};

static void
fill_locked(void *arg)
{
	struct filling *f = arg;

	GC_generic_malloc_many(f->bytes, f->kind, &f->list);
}

/* The lock is held, so there is no collection: the list is kept by nobody. */
static void
put_list(size_t class, int kind, void *list)
{
	void **slot = weft_cache_enter_(), **last = list;
	struct cache *c;

	if (!slot)
		return;		/* a plain thread: it is collected some day */
	c = *slot;
	if (!c)
		*slot = c = calloc(1, sizeof *c);
	if (c) {
		while (*last)
			last = *last;
		*last = c->list[kind][class];
		c->list[kind][class] = list;
	}
	weft_cache_leave_();
}

/* An object, and others for the cache. The lock held. */
static void *
fill(size_t class, int kind)
{
	struct filling f = { (class + 1) * GRANULE, kind, NULL };
	void **object, *rest;

	heap_call(fill_locked, &f);
	object = f.list;
	if (!object)
		return NULL;
	rest = *object;
	*object = NULL;
	if (rest)
		put_list(class, kind, rest);
	heap_count(BLOCK_BYTES);
	return object;
}

/* *cached is false if there is no cache: see alloc_small. */
static void *
take(size_t class, int kind, bool *cached)
{
	void **slot = weft_cache_enter_();
	void *object;

	*cached = slot != NULL;
	if (!slot)
		return NULL;
	object = pop(*slot, class, kind);
	weft_cache_leave_();
	return object;
}

/* While it waited for the lock others may have filled this M's cache. */
static void *
take_or_fill(size_t class, int kind)
{
	bool cached;
	void *object;

	heap_lock();
	object = take(class, kind, &cached);
	if (!object)
		object = fill(class, kind);
	heap_unlock();
	return object;
}

static void *
alloc_small(size_t bytes, int kind)
{
	size_t class = class_of(bytes);
	bool cached = false;
	void *object = unlikely(cycle_stress) ? NULL :
	    take(class, kind, &cached);

	if (object)
		return object;
	/* A plain thread: what it would not cache would be lost. */
	if (unlikely(!cached))
		return heap_alloc(bytes, kind);
	if (cycle_allows(bytes, false))
		object = take_or_fill(class, kind);
	if (!object && cycle_allows(bytes, true))
		object = take_or_fill(class, kind);
	return object;
}

public void *
weft_gc_alloc(size_t bytes)
{
	if (bytes < CACHE_MAX)
		return alloc_small(bytes, KIND_NORMAL);
	return heap_alloc(bytes, KIND_NORMAL);
}

public void *
weft_gc_alloc_atomic(size_t bytes)
{
	if (bytes < CACHE_MAX)
		return alloc_small(bytes, KIND_ATOMIC);
	return heap_alloc(bytes, KIND_ATOMIC);
}

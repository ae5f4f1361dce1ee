/* SPDX-License-Identifier: MIT */
/*
 * Records of one type whose memory is never freed: a pointer to one always
 * points to a record of that type, so a late reader sees an old or a new value
 * but never foreign memory. Free lists are kept by the room that owns the
 * type.
 */
#ifndef SLAB_H
#define SLAB_H

#include "atomic.h"
#include "lock.h"

enum { CHUNK_BYTES = 256 * 1024 };

/* At the start of each chunk; records follow, aligned as this is. */
struct chunk {
	struct chunk *next;	/* constant after publication */
	a32 used;		/* records handed out; under the lock */
} cache_aligned;

struct slab {
	uint32_t record_bytes;	/* constant; a multiple of a cache line */
	struct lock lock;
	APTR(struct chunk) chunks;	/* newest first; pushed under lock */
};

#define SLAB_INIT(type) \
	{ .record_bytes = sizeof(type), .lock = LOCK_INIT(RANK_SLAB) }

/*
 * Allocates up to *n adjacent zeroed records that were never used before, and
 * sets *n to how many. NULL if there is no memory. Nothing is touched: a
 * record costs no page until its user writes to it.
 */
void *slab_carve(struct slab *s, uint32_t *n);

/* An iterator over a slab; zero is its beginning. */
struct slab_place {
	struct chunk *chunk;
	uint32_t i;
};

/* The record there, and advances; NULL at the end, which is the beginning
 * again. Takes no lock. */
void *slab_next(struct slab *s, struct slab_place *at);

/* Calls fn for every record handed out so far. Takes no lock. */
void slab_each(struct slab *s, void (*fn)(void *rec, void *arg), void *arg);

#endif

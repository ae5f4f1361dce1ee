/* SPDX-License-Identifier: MIT */
/*
 * Records of one type that are never given back: a pointer to one stays a
 * pointer to a record of that type for good, so a late reader sees an old or
 * a new value but never foreign memory. Free lists are the business of the
 * room that owns the type.
 */
#ifndef SLAB_H
#define SLAB_H

#include "atomic.h"
#include "lock.h"

enum { CHUNK_BYTES = 256 * 1024 };

/* At the start of each chunk; records follow, aligned like the chunk head. */
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
 * Hands out up to *n adjacent zeroed records that were never used before,
 * and says in *n how many. NULL if the kernel refuses memory. Nothing is
 * touched: a record costs no page until its user writes to it.
 */
void *slab_carve(struct slab *s, uint32_t *n);

/* A place in a slab; zero is its beginning. */
struct slab_place {
	struct chunk *chunk;
	uint32_t i;
};

/* The record at that place, which moves on; NULL at the end, which is the
 * beginning again. Takes no lock. */
void *slab_next(struct slab *s, struct slab_place *at);

/* Calls fn for every record handed out so far. Takes no lock. */
void slab_each(struct slab *s, void (*fn)(void *rec, void *arg), void *arg);

#endif

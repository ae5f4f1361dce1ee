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
	uint32_t number;	/* constant: how many were there before it */
} cache_aligned;

struct slab {
	uint32_t record_bytes;	/* constant; a multiple of a cache line */
	struct lock lock;
	APTR(struct chunk) chunks;	/* newest first; pushed under lock */
	a32 n_chunks;		/* written under lock */
};

#define SLAB_INIT(type) \
	{ .record_bytes = sizeof(type), .lock = LOCK_INIT(RANK_SLAB) }

/*
 * Allocates up to *n adjacent zeroed records that were never used before, and
 * sets *n to how many. NULL if there is no memory. Nothing is touched: a
 * record costs no page until its user writes to it.
 */
void *slab_carve(struct slab *s, uint32_t *n);

/* Address space of all records, used or not. Any thread. */
static inline uint64_t
slab_bytes(const struct slab *s)
{
	return (uint64_t)a_load_relaxed(&s->n_chunks) * CHUNK_BYTES;
}

/*
 * Parts of a slab, for several threads that share the work: their number, and
 * the adjacent records of one, at most SLAB_PART, those that were never handed
 * out (all zero) among them. A part stays what it is. NULL if there is none.
 */
enum { SLAB_PART = 32 };
size_t slab_parts(const struct slab *s);
void *slab_part(const struct slab *s, size_t part, size_t *n);
/* The chunks, and what of them is in use. */
void slab_each_chunk(struct slab *s, void (*fn)(void *lo, void *hi, void *arg),
    void *arg);

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

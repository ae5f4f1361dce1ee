/* SPDX-License-Identifier: MIT */
/*
 * Chunks of 256 KiB, carved from the front. Neighbouring chunks merge into
 * one mapping in the kernel, so a million records cost a handful of mappings.
 */
#include "slab.h"

#include "fatal.h"
#include "os.h"

static uint32_t
chunk_capacity(const struct slab *s)
{
	return (uint32_t)((CHUNK_BYTES - sizeof(struct chunk)) /
	    s->record_bytes);
}

static char *
chunk_record(const struct slab *s, struct chunk *c, uint32_t i)
{
	return (char *)(c + 1) + (size_t)i * s->record_bytes;
}

/* Lock held. */
static struct chunk *
chunk_add(struct slab *s)
{
	struct chunk *c = os_map(CHUNK_BYTES);

	if (!c)
		return NULL;
	c->next = a_load_relaxed(&s->chunks);
	c->number = c->next ? c->next->number + 1 : 0;
	/* pairs with slab_each and slab_next */
	a_store_rel(&s->chunks, c);
	a_bump(&s->n_chunks, 1);
	return c;
}

void *
slab_carve(struct slab *s, uint32_t *n)
{
	struct chunk *c;
	uint32_t used, left;
	char *rec = NULL;

	check(s->record_bytes % CACHE_LINE == 0);
	lock_take(&s->lock);
	c = a_load_relaxed(&s->chunks);
	if (!c || a_load_relaxed(&c->used) == chunk_capacity(s))
		c = chunk_add(s);
	if (c) {
		used = a_load_relaxed(&c->used);
		left = chunk_capacity(s) - used;
		*n = *n < left ? *n : left;
		rec = chunk_record(s, c, used);
		/* pairs with slab_each and slab_next */
		a_store_rel(&c->used, used + *n);
	}
	lock_drop(&s->lock);
	return rec;
}

/* Chunks added after the walk began are at the front: seen the next time. */
void *
slab_next(struct slab *s, struct slab_place *at)
{
	/* both loads pair with chunk_add and slab_carve, as in slab_each */
	if (!at->chunk)
		at->chunk = a_load_acq(&s->chunks);
	while (at->chunk && at->i == a_load_acq(&at->chunk->used)) {
		at->chunk = at->chunk->next;
		at->i = 0;
	}
	return at->chunk ? chunk_record(s, at->chunk, at->i++) : NULL;
}

void
slab_each(struct slab *s, void (*fn)(void *rec, void *arg), void *arg)
{
	struct chunk *c;

	/* pair with chunk_add and slab_carve: the head, then the records */
	for (c = a_load_acq(&s->chunks); c; c = c->next) {
		uint32_t used = a_load_acq(&c->used);

		for (uint32_t i = 0; i < used; i++)
			fn(chunk_record(s, c, i), arg);
	}
}

void
slab_each_chunk(struct slab *s, void (*fn)(void *lo, void *hi, void *arg),
    void *arg)
{
	struct chunk *c;

	/* pair with chunk_add and slab_carve, as in slab_each */
	for (c = a_load_acq(&s->chunks); c; c = c->next)
		fn(c + 1, chunk_record(s, c, a_load_acq(&c->used)), arg);
}

static size_t
chunk_parts(const struct slab *s)
{
	return (chunk_capacity(s) + SLAB_PART - 1) / SLAB_PART;
}

size_t
slab_parts(const struct slab *s)
{
	/* pairs with chunk_add */
	struct chunk *c = a_load_acq(&s->chunks);

	return c ? (c->number + 1) * chunk_parts(s) : 0;
}

void *
slab_part(const struct slab *s, size_t part, size_t *n)
{
	/* pairs with chunk_add */
	struct chunk *c = a_load_acq(&s->chunks);
	uint32_t from = (uint32_t)(part % chunk_parts(s)) * SLAB_PART;
	uint32_t left = chunk_capacity(s) - from;

	while (c && c->number != part / chunk_parts(s))
		c = c->next;
	if (!c)
		return NULL;
	*n = left < SLAB_PART ? left : SLAB_PART;
	return chunk_record(s, c, from);
}

/* SPDX-License-Identifier: MIT */
/*
 * The table is hashed with open addressing. An entry is written into room that
 * its writer alone has, and then found by one compare-and-swap of a bucket. Two
 * threads that add the same new stack at the same time both write an entry;
 * the one that comes second finds the other's, and its own stays unused.
 */
#include "profile_table.h"

#include <errno.h>
#include <string.h>

#include "os.h"

enum {
	BUCKETS = 1 << 18,
	PROBES = 64,		/* then it is as good as full */
	ROOM_BYTES = 48 << 20,
	ROOM_TIGHT = ROOM_BYTES / 4 * 3
};

void
profile_table_free(struct profile_table *t)
{
	if (t->buckets)
		os_unmap(t->buckets, BUCKETS * sizeof *t->buckets);
	if (t->room)
		os_unmap(t->room, ROOM_BYTES);
	*t = (struct profile_table){0};
}

int
profile_table_make(struct profile_table *t)
{
	if (!t->buckets) {
		t->buckets = os_map(BUCKETS * sizeof *t->buckets);
		t->room = os_map(ROOM_BYTES);
	} else {
		os_release(t->buckets, BUCKETS * sizeof *t->buckets);
		/* The kernel may have kept them. */
		memset(t->buckets, 0, BUCKETS * sizeof *t->buckets);
		os_release(t->room, ROOM_BYTES);
	}
	a_store_relaxed(&t->used, 0);
	a_store_relaxed(&t->lost, 0);
	if (t->buckets && t->room)
		return 0;
	profile_table_free(t);
	return -ENOMEM;
}

static uint64_t
mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t
hash_of(const struct profile_key *k)
{
	uint64_t h = mix((uint64_t)k->goroutine, k->labels);

	h = mix(h, (uint64_t)k->reason << 16 | k->depth);
	for (int i = 0; i < G_NAME_WORDS; i++)
		h = mix(h, k->name[i]);
	for (unsigned i = 0; i < k->depth; i++)
		h = mix(h, k->pcs[i]);
	return h;
}

static bool
same(const struct profile_entry *e, uint64_t hash, const struct profile_key *k)
{
	return e->hash == hash && e->key.goroutine == k->goroutine &&
	    e->key.labels == k->labels && e->key.reason == k->reason &&
	    e->key.depth == k->depth &&
	    memcmp(e->key.name, k->name, sizeof k->name) == 0 &&
	    memcmp(e->pcs, k->pcs, k->depth * sizeof *k->pcs) == 0;
}

static struct profile_entry *
entry_at(const struct profile_table *t, uint64_t bucket)
{
	return (struct profile_entry *)(void *)(t->room + (bucket - 1));
}

/* A new entry that no bucket has yet: its bucket's value, 0: no room. */
static uint64_t
write_entry(struct profile_table *t, uint64_t hash,
    const struct profile_key *k)
{
	struct profile_entry *e;
	uint64_t bytes = sizeof *e + k->depth * sizeof *k->pcs, at;

	if (a_load_relaxed(&t->used) + bytes > ROOM_BYTES)
		return 0;
	at = a_add_relaxed(&t->used, bytes);
	if (at + bytes > ROOM_BYTES)
		return 0;
	e = entry_at(t, at + 1);
	e->hash = hash;
	e->key = *k;
	memcpy(e->pcs, k->pcs, k->depth * sizeof *k->pcs);
	e->key.pcs = e->pcs;
	a_store_relaxed(&e->count, 0);
	a_store_relaxed(&e->sum, 0);
	return at + 1;
}

/* The entry with that key, which is made if there is none; NULL: no room. */
static struct profile_entry *
find(struct profile_table *t, uint64_t hash, const struct profile_key *k)
{
	uint64_t fresh = 0;

	for (unsigned i = 0; i < PROBES; i++) {
		a64 *bucket = &t->buckets[(hash + i) % BUCKETS];
		/* pairs with the cas below */
		uint64_t at = a_load_acq(bucket);

		if (!at) {
			if (!fresh && !(fresh = write_entry(t, hash, k)))
				return NULL;
			/* pairs with the load above */
			if (a_cas_acqrel(bucket, 0, fresh))
				return entry_at(t, fresh);
			at = a_load_acq(bucket);	/* pairs with it */
		}
		if (same(entry_at(t, at), hash, k))
			return entry_at(t, at);
	}
	return NULL;
}

bool
profile_table_add(struct profile_table *t, struct profile_key *key,
    uint64_t count, uint64_t sum)
{
	struct profile_entry *e;

	if (a_load_relaxed(&t->used) > ROOM_TIGHT)
		key->goroutine = 0;
	e = find(t, hash_of(key), key);
	if (!e) {
		a_add_relaxed(&t->lost, count);
		return false;
	}
	a_add_relaxed(&e->count, count);
	a_add_relaxed(&e->sum, sum);
	return true;
}

struct profile_entry *
profile_table_next(struct profile_table *t, uint32_t *at)
{
	while (t->buckets && *at < BUCKETS) {
		/* pairs with find */
		uint64_t bucket = a_load_acq(&t->buckets[(*at)++]);

		if (bucket)
			return entry_at(t, bucket);
	}
	return NULL;
}

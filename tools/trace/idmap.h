/* SPDX-License-Identifier: MIT */
/*
 * A hash table of 64-bit numbers by 64-bit keys other than 0: linear probing,
 * without tombstones.
 */
#ifndef IDMAP_H
#define IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap_entry { uint64_t key, value; };

struct idmap {
	struct idmap_entry *entry;
	size_t room, count;	/* room: a power of two, or 0 */
};

/* The value of the key, or NULL. It moves when another key is put, or one is
 * removed. */
uint64_t *idmap_get(const struct idmap *map, uint64_t key);
/* The same; a key that is not there is put there, with the value 0. */
uint64_t *idmap_put(struct idmap *map, uint64_t key);
void idmap_remove(struct idmap *map, uint64_t key);
void idmap_free(struct idmap *map);

#endif

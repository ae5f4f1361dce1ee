/* SPDX-License-Identifier: MIT */
/* See idmap.h. */
#include "idmap.h"

#include <stdlib.h>

#include "grow.h"

enum { FIRST_ROOM = 64 };

static size_t
hash(const struct idmap *map, uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15;
	return (key ^ key >> 29) & (map->room - 1);
}

/* Where the key is, or would be. The table has room. */
static size_t
find(const struct idmap *map, uint64_t key)
{
	size_t i = hash(map, key);

	while (map->entry[i].key && map->entry[i].key != key)
		i = (i + 1) & (map->room - 1);
	return i;
}

uint64_t *
idmap_get(const struct idmap *map, uint64_t key)
{
	size_t i;

	if (!map->count)
		return NULL;
	i = find(map, key);
	return map->entry[i].key ? &map->entry[i].value : NULL;
}

static void
enlarge(struct idmap *map)
{
	struct idmap old = *map;

	map->room = old.room ? 2 * old.room : FIRST_ROOM;
	map->entry = zeroed(map->room, sizeof *map->entry);
	for (size_t i = 0; i < old.room; i++)
		if (old.entry[i].key)
			map->entry[find(map, old.entry[i].key)] = old.entry[i];
	free(old.entry);
}

uint64_t *
idmap_put(struct idmap *map, uint64_t key)
{
	uint64_t *value = idmap_get(map, key);
	size_t i;

	if (value)
		return value;
	if (map->count >= map->room / 8 * 5)
		enlarge(map);
	i = find(map, key);
	map->entry[i] = (struct idmap_entry){ .key = key };
	map->count++;
	return &map->entry[i].value;
}

/* Entries that follow the hole, and were put there because of it, move up. */
void
idmap_remove(struct idmap *map, uint64_t key)
{
	size_t hole, i, mask = map->room - 1;

	if (!idmap_get(map, key))
		return;
	hole = i = find(map, key);
	while (map->entry[i = (i + 1) & mask].key) {
		size_t home = hash(map, map->entry[i].key);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->entry[hole] = map->entry[i];
			hole = i;
		}
	}
	map->entry[hole].key = 0;
	map->count--;
}

void
idmap_free(struct idmap *map)
{
	free(map->entry);
	*map = (struct idmap){0};
}

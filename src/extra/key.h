/* SPDX-License-Identifier: MIT */
/*
 * Keys of map and flight: bytes, or a number that stands in the pointer
 * itself. The hash is seeded at random, once for the process, so that keys
 * which a stranger chooses do not fall into one chain.
 */
#ifndef KEY_H
#define KEY_H

#include <string.h>

#include "atomic.h"
#include "defs.h"
#include "weft/extra.h"

/* Not 0. */
uint64_t key_seed(void);

static inline bool
key_is_number(weft_key k)
{
	return k.bytes == WEFT_KEY_NUMBER;
}

/* Both halves of the product, so that all bits of x count everywhere. */
static inline uint64_t
key_mix(uint64_t x)
{
	unsigned __int128 p =
	    (unsigned __int128)x * UINT64_C(0xd6e8feb86659fd93);

	return (uint64_t)(p >> 64) ^ (uint64_t)p;
}

uint64_t key_hash_bytes(const void *at, size_t bytes, uint64_t seed);

static inline uint64_t
key_hash(weft_key k)
{
	uint64_t seed = key_seed();

	if (likely(key_is_number(k)))
		return key_mix((uintptr_t)k.at ^ seed);
	return key_hash_bytes(k.at, k.bytes, seed);
}

static inline bool
key_equal(weft_key a, weft_key b)
{
	if (a.bytes != b.bytes)
		return false;
	if (a.at == b.at || a.bytes == 0)
		return true;
	return !key_is_number(a) && memcmp(a.at, b.at, a.bytes) == 0;
}

/* The room for a copy of its bytes; and the key that has them there. */
static inline size_t
key_room(weft_key k)
{
	return key_is_number(k) ? 0 : k.bytes;
}

static inline weft_key
key_copy(weft_key k, void *room)
{
	if (!key_is_number(k)) {
		if (k.bytes)
			memcpy(room, k.at, k.bytes);
		k.at = room;
	}
	return k;
}

#endif

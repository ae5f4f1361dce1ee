/* SPDX-License-Identifier: MIT */
#include "key.h"

#include "os.h"

static a64 seed;

uint64_t
key_seed(void)
{
	/* relaxed: the word is all there is */
	uint64_t s = a_load_relaxed(&seed);

	if (likely(s))
		return s;
	a_cas_relaxed(&seed, 0, os_random_seed() | 1);
	return a_load_relaxed(&seed);
}

/* Eight bytes a step; the length tells a short last step from zeros. */
uint64_t
key_hash_bytes(const void *at, size_t bytes, uint64_t s)
{
	const unsigned char *p = at;
	uint64_t h = key_mix(s + bytes), word;

	for (; bytes >= sizeof word; p += sizeof word, bytes -= sizeof word) {
		memcpy(&word, p, sizeof word);
		h = key_mix(h ^ word) + s;
	}
	word = 0;
	if (bytes)
		memcpy(&word, p, bytes);
	return key_mix(h ^ word);
}

/* SPDX-License-Identifier: MIT */
/*
 * See mix.h. It stands for a library that compresses, hashes or inverts: it
 * knows nothing of weft, calls no other code and keeps no state in its thread.
 * The runtime does not know that, since the library has not passed the audit.
 */
#include "mix.h"

enum { BATCH = 256 };

uint64_t
mix_until(const int *stop, uint64_t *count)
{
	uint64_t x = 88172645463325252u;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < BATCH; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
	}
	return x;
}

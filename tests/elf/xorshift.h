/* SPDX-License-Identifier: MIT */
/* Random numbers, the same in each run: Marsaglia's xorshift64. */
#ifndef XORSHIFT_H
#define XORSHIFT_H

#include <stdint.h>

/* The state is not 0, and is the number. */
static inline uint64_t
xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

#endif

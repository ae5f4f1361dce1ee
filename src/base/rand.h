/* SPDX-License-Identifier: MIT */
/*
 * The generator behind every random choice of the scheduler. Each user owns a
 * state, seeded from one number, so that a simulation can replay all choices.
 */
#ifndef RAND_H
#define RAND_H

#include <stdint.h>

struct rand { uint64_t x; };

/* Any seed will do; nearby seeds give unrelated sequences (splitmix step). */
static inline void
rand_seed(struct rand *r, uint64_t seed)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	r->x = z ? z : 1;
}

/* xorshift64*: three shifts and a multiply; the high half is the better. */
static inline uint32_t
rand_next(struct rand *r)
{
	uint64_t x = r->x;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	r->x = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1du) >> 32);
}

/* Uniform in 0..n-1, n > 0; the bias of 1 in 2^32/n does not matter here. */
static inline uint32_t
rand_below(struct rand *r, uint32_t n)
{
	return (uint32_t)(((uint64_t)rand_next(r) * n) >> 32);
}

#endif

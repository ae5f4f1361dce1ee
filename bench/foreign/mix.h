/* SPDX-License-Identifier: MIT */
/* A library that computes: what a goroutine calls and does not return from. */
#ifndef MIX_H
#define MIX_H

#include <stdint.h>

/*
 * Mixes numbers until *stop; counts every 256 of them in *count, which other
 * threads may read. Returns a number that depends on all of them.
 */
uint64_t mix_until(const int *stop, uint64_t *count);

#endif

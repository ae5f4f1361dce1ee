/* SPDX-License-Identifier: MIT */
/* Sorting what was measured. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stdint.h>

/* For qsort of int64_t. */
static inline int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Structs of the public interface that may grow: a caller passes one with its
 * size, which is that of the header it was compiled with and may be smaller or
 * larger than ours. Members are only ever added at the end, so the common part
 * is a prefix of both.
 */
#ifndef SIZED_H
#define SIZED_H

#include <string.h>

#include "defs.h"

/* Options: what the caller does not have is zero. p may be NULL: all is. */
static inline void
sized_in(void *ours, size_t our_bytes, const void *p, size_t bytes)
{
	size_t n = !p ? 0 : bytes < our_bytes ? bytes : our_bytes;

	if (n)
		memcpy(ours, p, n);
	memset((char *)ours + n, 0, our_bytes - n);
}

/* Results: no more than there is room for; what we do not have is zero. */
static inline void
sized_out(void *p, size_t bytes, const void *ours, size_t our_bytes)
{
	size_t n = bytes < our_bytes ? bytes : our_bytes;

	memcpy(p, ours, n);
	memset((char *)p + n, 0, bytes - n);
}

#endif

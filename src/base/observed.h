/* SPDX-License-Identifier: MIT */
/*
 * Does anything observe what goroutines do? The scheduler asks once in a
 * switch, and takes another path if so: then each observer asks for itself.
 * The word is in a cache line that is written only when that changes.
 */
#ifndef OBSERVED_H
#define OBSERVED_H

#include "atomic.h"
#include "defs.h"

/* Bits, each set and cleared by its owner. */
enum {
	OBSERVED_TRACE = 1,	/* trace/trace_ring.c: a trace is on */
	OBSERVED_WAITS = 2,	/* observe/profile_wait.c: waits are timed */
	OBSERVED_LABELS = 4	/* observe/labels.c, for good: some goroutine
				 * has, or had, labels */
};

/* Any thread, atomic. */
struct observed { a32 by cache_aligned; char rest[CACHE_LINE - 4]; };
extern struct observed observed_;

static always_inline uint32_t
observed_by(void)
{
	return a_load_relaxed(&observed_.by);
}

static always_inline bool
observed(void)
{
	return unlikely(observed_by() != 0);
}

#endif

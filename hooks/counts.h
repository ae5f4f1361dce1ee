/* SPDX-License-Identifier: MIT */
/* What is counted: see weft_hooks_stats. */
#ifndef COUNTS_H
#define COUNTS_H

#include "atomic.h"

/* any thread, atomic */
struct counts {
	a64 parks, sleeps, announced, lock_parks, lock_blocks, held_parks,
	    kept_threads, values;
};

extern struct counts counts;

/* count(parks): one more. */
#define count(what)	((void)a_add_relaxed(&counts.what, 1))

#endif

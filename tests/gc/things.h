/* SPDX-License-Identifier: MIT */
/*
 * Objects that know what they are: one that was freed too early has been
 * cleared, or is another one by now.
 */
#ifndef THINGS_H
#define THINGS_H

#include <stdint.h>
#include <string.h>

#include <weft.h>
#include <weft/gc.h>

#include "t.h"

struct thing {
	struct thing *next;
	uint64_t n, not_n;
	uint64_t rest;
};

static inline struct thing *
thing_make(uint64_t n)
{
	struct thing *t = weft_gc_alloc(sizeof *t);

	t->n = n;
	t->not_n = ~n;
	return t;
}

static inline bool
thing_is(const struct thing *t, uint64_t n)
{
	return t && t->n == n && t->not_n == ~n;
}

/* Overwrites what calls have left on the stack below the caller. */
__attribute__((unused)) T_NOT_INLINED static void
wipe_stack(void)
{
	volatile char room[8192];

	memset((char *)(uintptr_t)room, 0, sizeof room);
}

/* Collects, and uses the memory of what was freed for others. */
__attribute__((unused)) T_NOT_INLINED static void
churn(void)
{
	wipe_stack();
	for (int round = 0; round < 3; round++) {
		EQ(weft_gc_collect(), 0);
		for (uint64_t i = 0; i < 4000; i++)
			thing_make(UINT64_MAX - i);
	}
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Labels of goroutines: pairs of strings that profiles carry. See labels.c.
 */
#ifndef LABELS_H
#define LABELS_H

#include "g.h"

enum {
	LABELS_MAX = 16,	/* of one goroutine */
	LABEL_KEY_BYTES = 64,	/* with the NUL */
	LABEL_VALUE_BYTES = 256,
	LABEL_SETS = 1 << 16
};

/* One pair and the set that it was added to; constant, never freed. */
struct label {
	uint32_t rest;		/* the set without this pair; 0: none */
	uint32_t next;		/* of the same hash: labels.c */
	const char *key, *value;
};

/* A set that is not 0: its last pair. Any thread. */
const struct label *label_at(uint32_t set);

/* Is it the number of one? Any thread. */
bool label_exists(uint32_t set);

/*
 * The set of a goroutine: itself, or the handler of a signal on its thread; for
 * others it may be out of date. One that has just ended is still labelled, and
 * has no stack any more; a stack that it had until now stays readable.
 */
static inline uint32_t
labels_of(const struct g *gp)
{
	struct stack *s = g_stack(gp);

	return s && a_load_relaxed(&gp->labelled) ?
	    a_load_relaxed(&s->labels) : 0;
}

#endif

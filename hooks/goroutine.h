/* SPDX-License-Identifier: MIT */
/*
 * What the hooks know of a goroutine: whether they are off for it, and the
 * values of pthread keys that it owns. Made when the first of these is set.
 */
#ifndef GOROUTINE_H
#define GOROUTINE_H

#include "core.h"

struct module;

enum { SLOTS = 32 };		/* keys whose values goroutines own */

struct goroutine {
	/* the goroutine itself only */
	uint32_t off;		/* depth of weft_hooks_off */
	uint32_t rounds;	/* in which destructors were called */
	/* for reports, see held.h: where it last took a lock */
	const void *locked_at;
	const struct module *locked_in;
	struct value {
		void *p;
		uint64_t owner;	/* the life of the slot that set it: see
				 * key.c */
	} value[SLOTS];
};

/* Of the current goroutine; NULL if it has none, or elsewhere. */
struct goroutine *goroutine_get(void);
/* The same; makes one. NULL if memory is refused, or elsewhere. */
struct goroutine *goroutine_make(void);
/* It is the current goroutine's; 0 or -ENOMEM. */
int goroutine_keep(struct goroutine *g);
/* It has none any more. */
void goroutine_free(struct goroutine *g);

bool goroutine_is_off(void);

#endif

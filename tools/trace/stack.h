/* SPDX-License-Identifier: MIT */
/* Stacks of program counters, each kept once, numbered from 1. */
#ifndef STACK_H
#define STACK_H

#include <stddef.h>
#include <stdint.h>

#include "idmap.h"

struct stack {
	const uint64_t *pcs;	/* in the file: innermost first */
	uint32_t count;
	uint32_t next;		/* with the same hash, or 0 */
};

struct stacks {
	struct stack *stack;	/* stack[0] is empty */
	size_t count, room;
	struct idmap by_hash;
};

/* The number of this stack; 0 if it has no frames. */
uint32_t stacks_add(struct stacks *s, const uint64_t *pcs, uint32_t count);
void stacks_free(struct stacks *s);

#endif

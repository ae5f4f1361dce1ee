/* SPDX-License-Identifier: MIT */
/* See stack.h. */
#include "stack.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static uint64_t
hash(const uint64_t *pcs, uint32_t count)
{
	uint64_t h = count + 1;

	for (uint32_t i = 0; i < count; i++)
		h = (h ^ pcs[i]) * 0x9e3779b97f4a7c15 ^ h >> 31;
	return h ? h : 1;
}

uint32_t
stacks_add(struct stacks *s, const uint64_t *pcs, uint32_t count)
{
	uint64_t *first;
	uint32_t i;

	if (!count)
		return 0;
	if (!s->count) {
		*GROW(s->stack, s->count, s->room) = (struct stack){0};
		s->count = 1;
	}
	first = idmap_put(&s->by_hash, hash(pcs, count));
	for (i = (uint32_t)*first; i; i = s->stack[i].next)
		if (s->stack[i].count == count &&
		    memcmp(s->stack[i].pcs, pcs, count * sizeof *pcs) == 0)
			return i;
	i = (uint32_t)s->count;
	*GROW(s->stack, s->count, s->room) = (struct stack){
		.pcs = pcs, .count = count, .next = (uint32_t)*first,
	};
	s->count++;
	*first = i;
	return i;
}

void
stacks_free(struct stacks *s)
{
	free(s->stack);
	idmap_free(&s->by_hash);
	*s = (struct stacks){0};
}

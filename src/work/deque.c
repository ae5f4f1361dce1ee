/* SPDX-License-Identifier: MIT */
/* See deque.h. */
#include "deque.h"

#include "os.h"

bool
nest_grow(struct nest *n)
{
	uint32_t bottom = a_load_relaxed(&n->bottom);
	uint32_t size = 2 * nest_size(n);
	struct eggs *e;

	if (size > NEST_MAX)
		return false;
	e = os_map(round_up(sizeof *e + size * sizeof e->slot[0], PAGE));
	if (!e)
		return false;
	e->size = size;
	/* Some of these may be taken meanwhile: copied in vain. */
	for (uint32_t i = a_load_relaxed(&n->top); i != bottom; i++)
		a_store_relaxed(&e->slot[i & (size - 1)],
		    a_load_relaxed(nest_at(n, i)));
	a_store_rel(&n->more, e);	/* pairs with nest_at */
	return true;
}

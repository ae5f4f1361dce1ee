/* SPDX-License-Identifier: MIT */
/* See deque.h. */
#include "deque.h"

#include "os.h"

bool
deque_grow(struct deque *n)
{
	uint32_t bottom = a_load_relaxed(&n->bottom);
	uint32_t size = 2 * deque_size(n);
	struct deque_buf *e;

	if (size > DEQUE_MAX)
		return false;
	e = os_map(round_up(sizeof *e + size * sizeof e->slot[0], PAGE));
	if (!e)
		return false;
	e->size = size;
	/* Some of these may be stolen meanwhile: then the copy is not used. */
	for (uint32_t i = a_load_relaxed(&n->top); i != bottom; i++)
		a_store_relaxed(&e->slot[i & (size - 1)],
		    a_load_relaxed(deque_at(n, i)));
	a_store_rel(&n->more, e);	/* pairs with deque_at */
	return true;
}

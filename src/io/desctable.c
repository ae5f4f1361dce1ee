/* SPDX-License-Identifier: MIT */
/* The table of descriptors: see desc.h. */
#include "desc.h"

#include "netpoll.h"
#include "os.h"

struct desc_table desc_table;
static a32 n_chunks;		/* the last one in use, and one */

static void
raise_chunks(uint32_t n)
{
	uint32_t old = a_load_relaxed(&n_chunks);

	while (old < n && !a_cas_relaxed(&n_chunks, old, n))
		old = a_load_relaxed(&n_chunks);
}

cold struct desc *
desc_make(int fd)
{
	uint32_t at = (uint32_t)fd / DESC_CHUNK;
	struct desc_chunk *c;

	if (at >= DESC_CHUNKS || !(c = os_map(sizeof *c)))
		return NULL;
	for (int i = 0; i < DESC_CHUNK; i++) {
		struct desc *d = &c->d[i];

		d->lock = (struct lock)LOCK_INIT(RANK_DESC);
		d->fd = (int)at * DESC_CHUNK + i;
		timer_init(&d->timer, readable_expire);
	}
	raise_chunks(at + 1);
	/* pairs with desc_at */
	if (!a_cas_acqrel(&desc_table.chunk[at], NULL, c))
		os_unmap(c, sizeof *c);
	return desc_at(fd);
}

uint32_t
desc_numbers(void)
{
	return a_load_relaxed(&n_chunks) * DESC_CHUNK;
}

void
desc_each(void (*fn)(struct desc *d, void *arg), void *arg)
{
	uint32_t n = desc_numbers();

	for (uint32_t fd = 0; fd < n; fd++) {
		struct desc *d = desc_at((int)fd);

		if (d)
			fn(d, arg);
	}
}

/*
 * Its thread is alone: who held a lock, counted itself or waits is not there.
 * So all records are left as they are, and new ones made when needed. With
 * them go the deadlines.
 */
void
desc_forked(void)
{
	uint32_t n = a_load_relaxed(&n_chunks);

	for (uint32_t i = 0; i < n; i++)
		a_store_relaxed(&desc_table.chunk[i], NULL);
	a_store_relaxed(&n_chunks, 0);
}

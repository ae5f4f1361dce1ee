/* SPDX-License-Identifier: MIT */
/* The table of descriptors: see desc.h. */
#include "desc.h"

#include "netpoll.h"
#include "os.h"
#include "readable.h"

struct desc_table desc_table;
static a32 n_chunks;		/* the last one in use, and one */

/*
 * A plain thread that waits first makes the record, and then checks whether the
 * runtime is up. The main goroutine ends the runtime, and then visits all
 * records (desc_ended): one of the two sees the other.
 */
static void
raise_chunks(uint32_t n)
{
	uint32_t old;

	/* sc: both pair with desc_each, by sched_is_up */
	do
		old = a_load_sc(&n_chunks);
	while (old < n && !a_cas_sc(&n_chunks, old, n));
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
	/* pairs with desc_at. sc: with desc_each, as above */
	if (!a_cas_sc(&desc_table.chunk[at], NULL, c))
		os_unmap(c, sizeof *c);
	return desc_at(fd);
}

uint32_t
desc_fd_limit(void)
{
	return a_load_relaxed(&n_chunks) * DESC_CHUNK;
}

void
desc_each(void (*fn)(struct desc *d, void *arg), void *arg)
{
	/* sc: pairs with raise_chunks */
	uint32_t n = a_load_sc(&n_chunks);

	for (uint32_t at = 0; at < n; at++) {
		/* sc: pairs with desc_make */
		struct desc_chunk *c = a_load_sc(&desc_table.chunk[at]);

		for (int i = 0; c && i < DESC_CHUNK; i++)
			fn(&c->d[i], arg);
	}
}

/*
 * The child has one thread: those that held a lock, were counted or waited do
 * not exist. So all records are abandoned as they are, and new ones made when
 * needed. Their deadlines and contexts are lost.
 */
void
desc_forked(void)
{
	uint32_t n = a_load_relaxed(&n_chunks);

	for (uint32_t i = 0; i < n; i++)
		a_store_relaxed(&desc_table.chunk[i], NULL);
	a_store_relaxed(&n_chunks, 0);
	desc_contexts_forked();
}

/* The bits of files mean something else for other kinds. */
void
desc_flag_file(struct desc *d, unsigned flag)
{
	lock_take(&d->lock);
	if (a_load_relaxed(&d->kind) == KIND_FILE)
		a_store_relaxed(&d->flags,
		    (uint8_t)(a_load_relaxed(&d->flags) | flag));
	lock_drop(&d->lock);
}

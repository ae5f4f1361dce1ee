/* SPDX-License-Identifier: MIT */
/*
 * Calls deferred to the end of a goroutine. They are rare, so the records have
 * one free list with one lock.
 */
#include "defer.h"

#include <errno.h>

#include "fatal.h"
#include "sched.h"
#include "slab.h"
#include "weft.h"

struct defer {
	struct defer *next;	/* the goroutine, or under lock when free */
	void (*fn)(void *arg);
	void *arg;
} cache_aligned;

struct slab defer_slab = SLAB_INIT(struct defer);
static struct lock lock = LOCK_INIT(RANK_GFREE);
static struct defer *free_defers;	/* under lock */

static struct defer *
record_get(void)
{
	struct defer *d;
	uint32_t one = 1;

	lock_take(&lock);
	d = free_defers;
	if (d)
		free_defers = d->next;
	lock_drop(&lock);
	return d ? d : slab_carve(&defer_slab, &one);
}

static void
record_put(struct defer *d)
{
	lock_take(&lock);
	d->next = free_defers;
	free_defers = d;
	lock_drop(&lock);
}

void
defer_forked(void)
{
	lock = (struct lock)LOCK_INIT(RANK_GFREE);
	free_defers = NULL;
}

public int
weft_defer(void (*fn)(void *arg), void *arg)
{
	struct m *mp = m_self();
	struct defer *d;

	if (!mp || !m_g(mp))
		fatal("weft_defer: not on a goroutine");
	if (!fn)
		fatal("weft_defer: null function");
	d = record_get();
	if (!d)
		return -ENOMEM;
	d->fn = fn;
	d->arg = arg;
	d->next = m_g(mp)->defers;
	m_g(mp)->defers = d;
	return 0;
}

/*
 * A deferred call may defer, and may call weft_goexit: each is removed from the
 * list before it is made.
 */
calls_out void
defer_run_until(struct g *gp, const struct defer *last)
{
	while (gp->defers != last) {
		struct defer *d = gp->defers, call = *d;

		gp->defers = d->next;
		record_put(d);
		call.fn(call.arg);
	}
}

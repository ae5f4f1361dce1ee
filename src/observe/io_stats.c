/* SPDX-License-Identifier: MIT */
/* What is counted about descriptors. */
#include "io_stats.h"

#include "desc.h"
#include "netpoll.h"
#include "sized.h"
#include "weft.h"

/* Lock held. */
static int64_t
queued(struct waitq *q)
{
	int64_t n = 0;

	for (struct list *l = a_load_relaxed(&q->first); l; l = l->next)
		n++;
	return n;
}

static void
count_waiting(struct desc *d, void *sum)
{
	int64_t *n = sum;

	lock_take(&d->lock);
	*n += queued(&d->waiters[DIR_IN]) + queued(&d->waiters[DIR_OUT]) +
	    (a_load_relaxed(&d->on_readable) > READABLE_CLOSED);
	lock_drop(&d->lock);
}

void
io_stats_count(weft_io_stats *out)
{
	/* The smaller one first: an open one is never missed. pairs with
	 * desc_clear */
	uint64_t closed = a_load_acq(&desc_counts.closed);

	*out = (weft_io_stats){
		.registered = a_load_relaxed(&desc_counts.registered),
		.polls = a_load_relaxed(&netpoll.polls),
		.events = a_load_relaxed(&netpoll.events),
		.stale = a_load_relaxed(&desc_counts.stale),
		.timeouts = a_load_relaxed(&desc_counts.timeouts),
		.repaired = a_load_relaxed(&desc_counts.repaired)
	};
	out->open = (int64_t)(out->registered - closed);
}

public void
weft_io_stats_read(weft_io_stats *out, size_t bytes)
{
	weft_io_stats s;

	io_stats_count(&s);
	desc_each(count_waiting, &s.waiting);
	sized_out(out, bytes, &s, sizeof s);
}

/* SPDX-License-Identifier: MIT */
/*
 * A walk through the events of one ring, in their order. What only carries
 * over to other events (time, upper halves of ids, sites, threads, stacks) is
 * in these then.
 */
#ifndef CURSOR_H
#define CURSOR_H

#include "read.h"
#include "stack.h"

struct cursor {
	struct trace *trace;
	const struct ring *ring;
	struct stacks *stacks;
	size_t block;			/* the next one */
	const uint64_t *at, *end;	/* in the block before it */

	/* what holds for the next event */
	uint64_t cycles, high, site, g;
	uint32_t m, tid;
	bool monitor;

	/* the current event, if `valid` */
	bool valid;
	bool lost;			/* events before it are missing */
	bool gap;			/* so, or it is the first; and this ran
					 * then, on that M: */
	uint32_t gap_m;
	uint64_t gap_g;
	struct event event;		/* of ns: since the trace began, not
					 * yet in order with other rings */
};

/* Before the first event, which cursor_next reads. */
void cursor_init(struct cursor *c, struct trace *t, const struct ring *ring,
    struct stacks *stacks);
/* The next event; !c->valid: there is none. */
void cursor_next(struct cursor *c);
/* Calls fn for all TR_CREATE, TR_CREATE_WAITING and TR_STATUS of all rings, in
 * no order, with g, arg and extra only. */
void cursor_scan(struct trace *t, void (*fn)(void *, const struct event *),
    void *context);

#endif

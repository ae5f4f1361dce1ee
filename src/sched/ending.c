/* SPDX-License-Identifier: MIT */
/*
 * The end of a goroutine. An *ending* is what must be done when a goroutine
 * ends, after its deferred calls: its local values are destroyed, its group is
 * told. Endings stand in a list in the goroutine's record, newest first, so
 * that the group, which was there before the function ran, hears of it when
 * everything else is done. Only the goroutine itself touches the list: there
 * is no lock.
 */
#include "ending.h"

#include "defer.h"

void
ending_push(struct g *gp, struct ending *e)
{
	e->next = gp->endings;
	gp->endings = e;
}

/* The ending stays in the list until it is done: its steps may come back. */
calls_out void
ending_run(struct g *gp)
{
	struct ending *e, *next;

	for (;;) {
		defer_run(gp);
		e = gp->endings;
		if (!e)
			return;
		next = e->next;
		if (e->step(e))
			gp->endings = next;
	}
}

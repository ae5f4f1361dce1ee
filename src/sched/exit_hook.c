/* SPDX-License-Identifier: MIT */
/*
 * The end of a goroutine. An *exit hook* is what must be done when a goroutine
 * ends, after its deferred calls: its local values are destroyed, its group is
 * told. Exit hooks stand in a list in the goroutine's record, newest first, so
 * that the group, which was there before the function ran, hears of it when
 * everything else is done. Only the goroutine itself touches the list: there
 * is no lock.
 */
#include "exit_hook.h"

#include "defer.h"

void
exit_hook_push(struct g *gp, struct exit_hook *e)
{
	e->next = gp->exit_hooks;
	gp->exit_hooks = e;
}

/* The exit hook stays in the list until it is done: its steps may come back. */
calls_out void
exit_hook_run(struct g *gp)
{
	struct exit_hook *e, *next;

	for (;;) {
		defer_run(gp);
		e = gp->exit_hooks;
		if (!e)
			return;
		next = e->next;
		if (e->step(e))
			gp->exit_hooks = next;
	}
}

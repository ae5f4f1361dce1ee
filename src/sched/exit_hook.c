/* SPDX-License-Identifier: MIT */
/*
 * The end of a goroutine. An *exit hook* is what must be done when a goroutine
 * ends, after its deferred calls: its local values are destroyed, its group or
 * waitgroup is notified. Exit hooks form a list in the goroutine's record,
 * newest first. The hook of a group is pushed before the user's function runs,
 * so the group is notified when everything else is done. Only the goroutine
 * itself touches the list: there is no lock.
 */
#include "exit_hook.h"

#include "defer.h"

void
exit_hook_push(struct g *gp, struct exit_hook *e)
{
	e->next = gp->exit_hooks;
	gp->exit_hooks = e;
}

/*
 * An exit hook stays in the list until it is done: a step may call weft_goexit,
 * which runs the list anew.
 */
calls_out void
exit_hook_run(struct g *gp)
{
	struct exit_hook *e, *next;

	for (;;) {
		defer_run_until(gp, NULL);
		e = gp->exit_hooks;
		if (!e)
			return;
		next = e->next;
		if (e->step(e))
			gp->exit_hooks = next;
	}
}

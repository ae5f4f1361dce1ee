/* SPDX-License-Identifier: MIT */
/* What must be done when a goroutine ends. See exit_hook.c. */
#ifndef EXIT_HOOK_H
#define EXIT_HOOK_H

#include "sched.h"

/*
 * What must be done when a goroutine's deferred calls have run. The newest
 * comes first: its step is called, on the goroutine, until it returns true. The
 * record is its owner's, and lives until then.
 */
struct exit_hook {
	struct exit_hook *next;
	bool (*step)(struct exit_hook *e);
};

/* On the goroutine. */
void exit_hook_push(struct g *gp, struct exit_hook *e);
/* On the goroutine, which ends: runs all deferred calls and exit hooks. */
void exit_hook_run(struct g *gp);

#endif

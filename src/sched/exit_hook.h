/* SPDX-License-Identifier: MIT */
/* What is left to do when a goroutine ends. See exit_hook.c. */
#ifndef EXIT_HOOK_H
#define EXIT_HOOK_H

#include "sched.h"

/*
 * What is left to do when a goroutine's deferred calls have run. The newest
 * hook comes first: its step is called, on the goroutine, until it returns
 * true. The record belongs to the caller, and must live until then.
 */
struct exit_hook {
	struct exit_hook *next;
	bool (*step)(struct exit_hook *e);
};

/* On the goroutine. */
void exit_hook_push(struct g *gp, struct exit_hook *e);
/* On the goroutine, which ends: deferred calls and exit hooks, all of them. */
void exit_hook_run(struct g *gp);

#endif

/* SPDX-License-Identifier: MIT */
/* What is left to do when a goroutine ends. See ending.c. */
#ifndef ENDING_H
#define ENDING_H

#include "sched.h"

/*
 * What is left to do when a goroutine's deferred calls have run. The newest
 * comes first: its step is called, on the goroutine, until it says true. The
 * record is its owner's, and lives until then.
 */
struct ending {
	struct ending *next;
	bool (*step)(struct ending *e);
};

/* On the goroutine. */
void ending_push(struct g *gp, struct ending *e);
/* On the goroutine, which ends: deferred calls and endings, all of them. */
void ending_run(struct g *gp);

#endif

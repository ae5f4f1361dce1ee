/* SPDX-License-Identifier: MIT */
/* Calls deferred to the end of a goroutine. */
#ifndef DEFER_H
#define DEFER_H

#include "sched.h"

void defer_run(struct g *gp);
/* In the child of a fork: another thread may have held the lock. */
void defer_forked(void);

#endif

/* SPDX-License-Identifier: MIT */
/* fork() on a goroutine. See fork.c. */
#ifndef FORK_H
#define FORK_H

#include "sched.h"

/* Once at boot. 0 or -errno. */
int fork_init(void);
/* In the child of a fork: the goroutine that forked, or NULL. */
struct g *fork_child_g(void);
/* In the child of a fork: its goroutine's function has returned. */
noreturn void fork_child_exit(int result);

#endif

/* SPDX-License-Identifier: MIT */
/* New goroutines. See spawn.c. */
#ifndef SPAWN_H
#define SPAWN_H

#include "sched.h"

/* A goroutine for fn(arg), not queued yet. NULL on allocation failure. */
struct g *spawn_make(int stack_class, const weft_site *site,
    void (*fn)(void *), void *arg);

/* The same, WAITING: to be woken with others by sched_ready_list. */
struct g *spawn_waiting(const weft_site *site, void (*fn)(void *),
    void *arg);

/* Goroutines that exist. */
int64_t spawn_count(void);

#endif

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

/*
 * A goroutine that runs run(args) for its owner (see g_set_owner); run calls
 * g_call_owned. In three steps, as weft_go: check is fatal if fn is NULL or no
 * runtime was started; begin takes the record, 0 or -ENOMEM; then the
 * arguments are captured and weft_go_end_ called, or spawn_owned_end with the
 * only one. After begin the caller is inside and returns at once. verb: the
 * public call, for messages.
 */
void spawn_owned_check(const char *verb, const weft_site *site,
    void (*fn)(void));
int spawn_owned_begin(const weft_site *site, void (*fn)(void), int kind,
    void (*run)(void *), void *owner);
int64_t spawn_owned_end(void *arg);
/* The owner must have the goroutine, and begin refused. */
noreturn void spawn_owned_refused(const char *verb, const weft_site *site,
    int err);

/* Goroutines that exist. */
int64_t spawn_count(void);

#endif

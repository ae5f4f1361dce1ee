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
 * A goroutine that begins later; until then it is WAITING and has no stack.
 * In three steps, as weft_go: begin takes the record, 0 or -errno; then the
 * arguments are captured; weft_go_end_ calls attach(goroutine, arg), outside
 * and with no lock held, which sees to it that sched_ready is called for it
 * once. It runs run(args), which finds `start` in g->start, and sets g->defers
 * to NULL first of all. After begin the caller is inside and returns at once.
 */
struct spawn_later {
	enum wait_reason reason;
	void (*attach)(struct g *gp, uint64_t arg);
	uint64_t arg;
};
int spawn_later_begin(const weft_opt *opt, size_t opt_bytes,
    const weft_site *site, void (*run)(void *), void *start,
    const struct spawn_later *later);
noreturn void spawn_fatal_null(const char *verb, const weft_site *site);

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

/*
 * A goroutine that runs run(future), in three steps as above; the arguments are
 * captured into args. Until it begins it can be claimed: see g_claim.
 */
int spawn_future_begin(const weft_site *site, void (*run)(void *),
    void *future, uint64_t args[ARG_WORDS], struct g **out);
void spawn_future_end(void);

/* Goroutines that exist. */
int64_t spawn_count(void);

#endif

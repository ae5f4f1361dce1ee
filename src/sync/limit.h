/* SPDX-License-Identifier: MIT */
/*
 * The limit of a wait: a time (the `until` forms), or a context (the `context`
 * forms). One that is all zero, and a NULL pointer to one, is no limit.
 *
 *	struct limit l = { .when = when };
 *
 *	sleeper_init(&s);
 *	limit_arm(&l, &s);		before the queue's lock is taken
 *	how = sleeper_sleep(&s, ...);
 *	limit_disarm(&l, &s);		before s is gone
 *
 * A limit may be armed again, for the next sleep of the same call, after it
 * was disarmed.
 */
#ifndef LIMIT_H
#define LIMIT_H

#include "context.h"
#include "waitq.h"

struct limit {
	int64_t when;		/* 0: none */
	weft_context *ctx;	/* NULL: none */
	struct watch watch;	/* while armed */
};

/*
 * From now on the limit ends the sleep of s, or keeps it from beginning. False
 * if it has done so already, since the context is cancelled: then
 * sleeper_sleep releases the lock that it is given and returns at once, so the
 * caller need not look at the result. No lock held that ranks after
 * RANK_CONTEXT.
 */
static inline bool
limit_arm(struct limit *l, struct sleeper *s)
{
	if (!l)
		return true;
	if (l->when)
		sleeper_arm(s, l->when);
	if (likely(context_watch(l->ctx, &l->watch, s) == 0))
		return true;
	/* The sleep has not begun, so there is nothing to make runnable. */
	sleeper_end(s, RACE_CANCELLED, NULL);
	return false;
}

/* On return neither a timer nor the context refers to s. */
static inline void
limit_disarm(struct limit *l, struct sleeper *s)
{
	if (!l)
		return;
	sleeper_disarm(s);
	context_unwatch(l->ctx, &l->watch);
}

#endif

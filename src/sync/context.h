/* SPDX-License-Identifier: MIT */
/*
 * Contexts, for the rooms whose waits a context can end.
 *
 *	err = context_watch(ctx, &w, &s);	before it sleeps
 *	sleeper_sleep(...)			CANCELLED: the context did it
 *	context_unwatch(ctx, &w);		before w and s are gone
 */
#ifndef CONTEXT_H
#define CONTEXT_H

#include "waitq.h"
#include "weft.h"

/*
 * A sleep that a context ends, on the stack of the sleeper; or a function that
 * it calls.
 */
struct watch {
	struct list link;	/* under the tree's lock; next is NULL when it
				 * is on no list */
	/* constant while linked */
	struct sleeper *who;	/* if fn is NULL */
	void (*fn)(struct watch *w, int error, struct glist *woken);
};

/*
 * 0: from now on a cancel ends that sleep, or has it not begin. Otherwise the
 * error of the context, which is cancelled already. The sleeper is multi-wait
 * from then on. No lock of RANK_CONTEXT on is held. With ctx NULL: 0, and
 * nothing is done.
 */
int context_watch(weft_context *ctx, struct watch *w, struct sleeper *s);

/*
 * The same with a function, which is called once when the context is cancelled,
 * under the lock of the tree: it must be quick, takes only locks that rank
 * after RANK_CONTEXT, and adds goroutines that it wakes to the list.
 */
int context_watch_fn(weft_context *ctx, struct watch *w,
    void (*fn)(struct watch *w, int error, struct glist *woken));

/*
 * When it returns the context touches neither the watch nor its sleeper any
 * more. If context_watch gave an error it need not, but may be called. Locks
 * as above.
 */
void context_unwatch(weft_context *ctx, struct watch *w);

#endif

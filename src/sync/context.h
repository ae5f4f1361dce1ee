/* SPDX-License-Identifier: MIT */
/*
 * Contexts, for the files whose waits a context can end.
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
 * A sleep that a context ends, on the sleeper's stack; or a function that it
 * calls, under its lock or after it.
 */
struct watch {
	/* under the tree's lock */
	struct list link;	/* if queued; then of the cancel that took it */
	bool queued;		/* in the list of the context */
	/* constant while queued; one of the three is not NULL */
	struct sleeper *who;
	void (*fn)(struct watch *w, int error, struct glist *woken);
	void (*callback)(struct watch *w);
};

/*
 * 0: from now on a cancel ends that sleep, or keeps it from beginning.
 * Otherwise the error of the context, which is cancelled already. The sleeper
 * is multi-wait from then on. If it is a plain thread its limit, which
 * sleeper_arm may have set before, is the context's deadline if that is
 * earlier. No lock of RANK_CONTEXT on is held. With ctx NULL: 0, and nothing
 * is done.
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
 * True: a cancel will call the callback, once, with no lock held; the watch
 * belongs to the callee then. False: ctx, which is not NULL, is cancelled, and
 * nothing is done. Locks as above.
 */
bool context_watch_callback(weft_context *ctx, struct watch *w,
    void (*callback)(struct watch *w));

/*
 * When it has returned the context touches neither the watch nor its sleeper
 * any more. After an error of context_watch it may be called, but need not.
 * True if it was still queued; false for a callback that has been, or is about
 * to be, called: that one keeps its watch. Locks as above.
 */
bool context_unwatch(weft_context *ctx, struct watch *w);

#endif

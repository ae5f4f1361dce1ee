/* SPDX-License-Identifier: MIT */
/*
 * weft_set_context: calls on a descriptor that a context ends.
 *
 * The link between the two is a record, which the context has in its list of
 * watches, under the lock of its tree, and the descriptor points to, under its
 * own lock. It keeps the context; the descriptor needs no keeping, as records
 * of descriptors are never freed.
 *
 * Locks. That of the tree ranks before that of the descriptor, since a cancel
 * goes from the one to the other:
 *
 *	set	1. tree: the record is on the list, or the context is cancelled
 *		   already, which is noted in the record
 *		2. descriptor: it points to the record; all waiters are woken
 *		3. none: what it pointed to before is released
 *	cancel	tree: the context is marked, the record off the list; within
 *		that, descriptor: the error is noted in the record, and if the
 *		descriptor still points to it all waiters are woken
 *	wait	descriptor: only if the record has no error, or there is none
 *	close	descriptor: it points to no record; then none: it is released
 *	release	tree: off the list, if it is on it. From then on no cancel uses
 *		the record, and it is freed
 *
 * No two of these steps hold both locks but cancel, in the order of the ranks.
 * A cancel between 1 and 2 finds a descriptor that does not point to the record
 * and wakes nobody; 2 does. A cancel after the record was detached notes its
 * error there in vain; release waits for it, by the lock.
 *
 * That the context's own deadline is over is seen by every call that looks,
 * also before the context is marked (desc_context_error); those that wait are
 * woken by the mark.
 */
#include "fd_context.h"

#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "hard.h"
#include "preempt.h"

struct fd_context {
	struct desc_context of_desc;
	/* constant */
	struct desc *d;
	weft_context *ctx;	/* retained */
	/* under the lock of the tree */
	struct watch watch;
};

/* The lock of the tree is held. */
static void
cancelled(struct watch *w, int error, struct glist *woken)
{
	struct fd_context *f = container_of(w, struct fd_context, watch);

	desc_cancel(f->d, &f->of_desc, error, woken);
}

/* No lock held; the descriptor does not point to it. */
static void
release(struct desc_context *c)
{
	struct fd_context *f = container_of(c, struct fd_context, of_desc);

	hard_pause();
	context_unwatch(f->ctx, &f->watch);
	weft_context_release(f->ctx);
	free(f);
}

/* On the list of its context, or cancelled. NULL without memory. */
static struct fd_context *
make(struct desc *d, weft_context *ctx)
{
	struct fd_context *f = calloc(1, sizeof *f);
	int err;

	if (!f)
		return NULL;
	f->of_desc.deadline = weft_context_deadline(ctx);
	f->of_desc.release = release;
	f->d = d;
	f->ctx = weft_context_retain(ctx);
	err = context_watch_fn(ctx, &f->watch, cancelled);
	/* No lock: if it is cancelled already, cancelled() is never called. */
	if (err)
		f->of_desc.error = err;
	return f;
}

int
fd_context_set(struct desc *d, weft_context *ctx)
{
	struct fd_context *f = NULL;

	if (ctx && !(f = make(d, ctx)))
		return -ENOMEM;
	hard_pause();
	if (!desc_set_context(d, f ? &f->of_desc : NULL))
		release(&f->of_desc);
	return 0;
}

public int
weft_set_context(int fd, weft_context *ctx)
{
	struct desc *d;
	int err;

	checkpoint();
	err = desc_enter(fd, &d);
	if (err)
		return err;
	if (a_load_relaxed(&d->kind) != KIND_FILE)
		err = fd_context_set(d, ctx);
	desc_leave(d);
	return err;
}

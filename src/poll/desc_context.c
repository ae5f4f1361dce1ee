/* SPDX-License-Identifier: MIT */
/*
 * The context of a descriptor, as far as the descriptor is concerned; see
 * desc.h, and io/fd_context.c for the other half.
 *
 *	none ---> attached	desc_set_context, lock held
 *	attached -> detached	desc_set_context, which replaces it; or the file
 *				was closed, or found to be closed externally:
 *				desc_end_limits. Lock held
 *	detached -> gone	desc_release_contexts, no lock held
 *	error 0 -> -errno	desc_cancel, once, lock held; then all waiters
 *				are woken, if it is still attached
 *
 * A waiter reads the error under the lock before it enters the queue. So it
 * sees a cancellation that came before, and one that comes later wakes it.
 *
 * To release a context its tree's lock is needed, which ranks before that of a
 * descriptor. So a context that is detached, under the descriptor's lock, is
 * pushed on a list, and released from there when that lock is dropped: by the
 * thread that detached it, or by one that came to the list before. The monitor,
 * which must not wait for locks of libc, leaves that to a goroutine.
 */
#include "desc.h"

#include <errno.h>

#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "readable.h"
#include "spawn.h"
#include "weft.h"

/* any thread, atomic: those that are to be released, by `next` */
static APTR(struct desc_context) detached;

static bool
has_context(struct desc *d)
{
	return a_load_relaxed(&d->deadline[DIR_IN]) & HAS_CONTEXT;
}

void
desc_attach_context(struct desc *d, struct desc_context *c,
    struct glist *woken)
{
	check(lock_held(&d->lock) && !has_context(d));
	*desc_context_at(d) = c;
	for (int dir = 0; dir < DIRS; dir++) {
		a_or_relaxed(&d->deadline[dir], HAS_CONTEXT);
		desc_wake(d, dir, true, woken);
	}
	if (c->error)
		readable_start(d, false, woken);
}

void
desc_detach_context(struct desc *d)
{
	struct desc_context **at = desc_context_at(d), *c;

	check(lock_held(&d->lock));
	if (likely(!has_context(d)))
		return;
	c = *at;
	*at = NULL;
	for (int dir = 0; dir < DIRS; dir++)
		a_and_relaxed(&d->deadline[dir], ~HAS_CONTEXT);
	do
		c->next = a_load_relaxed(&detached);
	/* pairs with desc_release_contexts */
	while (!a_cas_rel(&detached, c->next, c));
}

void
desc_end_limits(struct desc *d)
{
	desc_detach_context(d);
	for (int dir = 0; dir < DIRS; dir++)
		a_store_relaxed(&d->deadline[dir], 0);
}

/* All at once: a list that is taken as a whole has no ABA problem. */
void
desc_release_contexts(void)
{
	struct desc_context *c, *next;

	if (likely(!a_load_relaxed(&detached)))
		return;
	hard_pause();
	/* pairs with desc_detach_context */
	for (c = a_xchg_acq(&detached, NULL); c; c = next) {
		next = c->next;
		c->release(c);
	}
}

static void
release_all(void *unused)
{
	(void)unused;
	desc_release_contexts();
}

/* Without memory for a goroutine: the next round, or the next call, does it. */
void
desc_release_later(struct glist *woken)
{
	static const weft_site site = { "weft_set_context", "?", 0 };
	struct g *gp;

	if (likely(!a_load_relaxed(&detached)))
		return;
	gp = spawn_waiting(&site, release_all, NULL);
	if (gp)
		glist_push(woken, gp);
}

/* The thread that was about to release them does not exist in the child. */
void
desc_contexts_forked(void)
{
	a_store_relaxed(&detached, NULL);
}

int
desc_context_error(struct desc *d)
{
	struct desc_context *c;

	check(lock_held(&d->lock));
	if (likely(!has_context(d)))
		return 0;
	c = *desc_context_at(d);
	if (c->error)
		return c->error;
	return c->deadline <= os_now_ns() ? -ETIMEDOUT : 0;
}

int64_t
desc_earliest(struct desc *d, enum dir dir)
{
	int64_t when = desc_deadline(d, dir);

	if (!when)
		when = NEVER_NS;
	lock_take(&d->lock);
	if (has_context(d) && (*desc_context_at(d))->deadline < when)
		when = (*desc_context_at(d))->deadline;
	lock_drop(&d->lock);
	return when;
}

void
desc_cancel(struct desc *d, struct desc_context *c, int error,
    struct glist *woken)
{
	hard_pause();
	lock_take(&d->lock);
	c->error = error;
	if (*desc_context_at(d) == c) {
		desc_wake(d, DIR_IN, true, woken);
		desc_wake(d, DIR_OUT, true, woken);
		readable_start(d, false, woken);
	}
	lock_drop(&d->lock);
}

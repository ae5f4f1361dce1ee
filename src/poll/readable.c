/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that begin when a descriptor is readable. Until then such a
 * goroutine is WAITING, has no stack, and is in `on_readable` of the
 * descriptor:
 *
 *	      readable_claim            readable_attach
 *	NULL ----------------> CLAIMED -----------------> a goroutine
 *	  ^                     |   |                         |
 *	  +---------------------+   | desc_close              | event, close,
 *	  |  readable_drop          v                         | deadline: the
 *	  +----------------------- CLOSED                     | one that takes
 *	  |  readable_attach: starts at once                  | it starts it
 *	  +---------------------------------------------------+
 *
 * All under the descriptor's lock, as events are, but for the deadline: its
 * timer's function runs under the lock of a heap, so it only takes the
 * goroutine, by compare-and-swap. A thread that takes it under the
 * descriptor's lock stops the timer, too; so the timer is idle when the next
 * goroutine is attached.
 *
 * A claim counts as a call until it is attached or dropped: else the fd could
 * be closed and reused, and its new owner would find it claimed.
 */
#include "readable.h"

#include <errno.h>
#include <poll.h>

#include "desc.h"
#include "expire.h"
#include "fdcall.h"
#include "netpoll.h"
#include "sched.h"

static struct desc *
desc_of(struct timer *t)
{
	return container_of(t, struct desc, timer);
}

/* Takes the goroutine, if there is one. */
static struct g *
take(struct desc *d)
{
	struct g *gp = a_load_relaxed(&d->on_readable);

	/* pairs with readable_attach */
	if (gp > READABLE_CLOSED && a_cas_acq(&d->on_readable, gp, NULL))
		return gp;
	return NULL;
}

void
readable_expire(struct timer *t, int64_t now, struct glist *woken)
{
	struct g *gp = take(desc_of(t));

	(void)now;
	if (gp)
		glist_push(woken, gp);
}

void
readable_start(struct desc *d, bool closed, struct glist *woken)
{
	struct g *gp;

	if (likely(!a_load_relaxed(&d->on_readable)))
		return;
	if (closed)
		a_cas_relaxed(&d->on_readable, READABLE_CLAIMED,
		    READABLE_CLOSED);
	gp = take(d);
	if (!gp)
		return;
	timer_stop(&d->timer);
	glist_push(woken, gp);
}

/* On allocation failure it begins now, and waits on its own stack. */
void
readable_deadline(struct desc *d, struct glist *woken)
{
	int64_t when = desc_deadline(d, DIR_IN);

	if (a_load_relaxed(&d->on_readable) <= READABLE_CLOSED)
		return;
	timer_stop(&d->timer);
	if (when && expire_try_arm(&d->timer, when) != 0)
		readable_start(d, false, woken);
}

/* ---- for spawn.c ---- */

static int
claim(struct desc *d)
{
	int err = 0;

	lock_take(&d->lock);
	if (a_load_relaxed(&d->refs) & CLOSING)
		err = -EBADF;
	else if (!a_cas_relaxed(&d->on_readable, NULL, READABLE_CLAIMED))
		err = -EBUSY;
	lock_drop(&d->lock);
	return err;
}

/* If 0 it is counted in refs, too. */
int
readable_claim(int fd)
{
	struct desc *d;
	int err = desc_enter(fd, &d);

	if (err)
		return err;
	if (a_load_relaxed(&d->kind) == KIND_FILE)
		err = -EPERM;
	else if (!(err = desc_register(d)))
		err = claim(d);
	if (err)
		desc_leave(d);
	return err;
}

void
readable_drop(int fd)
{
	struct desc *d = desc_at(fd);

	a_store_relaxed(&d->on_readable, NULL);
	desc_leave(d);
}

/* Is there anything to read? If not, an event will report it. Lock held. */
static bool
readable_now(struct desc *d)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	uint32_t seen;

	while (desc_try(d, DIR_IN, &seen)) {
		if (fd_poll_now(&p, 1) != 0)
			return true;
		desc_drained(d, DIR_IN, seen);
	}
	return false;
}

void
readable_attach(int fd, struct g *gp)
{
	struct glist woken = {0};
	struct desc *d = desc_at(fd);
	bool last;

	lock_take(&d->lock);
	/* Before the goroutine can run: it may close the fd, which must take
	 * effect. A close that comes now needs the lock first.
	 * pairs with desc_enter, and among users */
	last = a_add_acqrel(&d->refs, -1u) == (CLOSING | 1);
	/* pairs with take */
	if (!a_cas_rel(&d->on_readable, READABLE_CLAIMED, gp)) {
		a_store_relaxed(&d->on_readable, NULL);
		glist_push(&woken, gp);
	} else if (!a_load_relaxed(&d->registered) || readable_now(d) ||
	    desc_context_error(d)) {
		/* Or it was found closed externally since it was claimed, and
		 * the file that has the fd now is not registered. */
		readable_start(d, false, &woken);
	} else {
		netpoll_waiter_added();
		readable_deadline(d, &woken);
	}
	lock_drop(&d->lock);
	sched_ready_list(&woken);
	if (last)
		desc_last(d);
}

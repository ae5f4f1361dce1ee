/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that begin when they have received from a channel.
 *
 * Such a goroutine is a receiver like any other from the moment it is spawned:
 * it is WAITING and has an entry in the channel's queue. What differs is where
 * the entry is. A receiver that runs has it on its stack; this one has no
 * stack yet, so the entry is in a record of its own. The sender or closer that
 * claims it copies the element to where the spawner said, stores `ok`, and
 * wakes the goroutine, as it does with any receiver: neither channels nor
 * select know the difference.
 *
 *	spawned --- claimed, by a sender or closer ---> RUNNABLE
 *	   |					    or received at once
 *	   +--- NULL channel: WAITING for ever
 *
 * The record belongs to the claimer until the goroutine is RUNNABLE, and then
 * to the goroutine, which frees it before it calls its function. The channel is
 * not touched after the claim: another owner may release it.
 *
 * Rejected: to begin when the channel has an element, and to receive then. An
 * unbuffered channel never has one, a weft_try_send to it would fail for ever,
 * and another receiver may be faster.
 */
#include <errno.h>

#include "chan.h"
#include "chan_type.h"
#include "sched.h"
#include "spawn.h"
#include "start.h"
#include "user_block.h"
#include "weft.h"

struct receiver {
	/* under the lock of the channel, see waitq.h; key: the channel */
	struct waiter w;
	struct sleeper who;
	/* constant */
	bool *ok;		/* NULL: of no interest */
	void (*fn)(void);
	uint32_t elem_bytes;
	uint8_t kind;		/* enum capture: how to call fn */
};

/* The goroutine is WAITING. No lock held; it may be gone on return. */
static void
attach(struct g *gp, uint64_t receiver)
{
	struct receiver *r = (struct receiver *)(uintptr_t)receiver;
	struct weft_chan *c = (struct weft_chan *)(uintptr_t)r->w.key;
	struct waiter *wake;
	bool ok;

	r->who.gp = gp;
	lock_take(&c->lock);
	if (!chan_recv_locked(c, r->w.elem, &ok, &wake)) {
		waitq_push(&c->receivers, &r->w);
		lock_drop(&c->lock);
		return;
	}
	r->w.ok = ok;
	lock_drop(&c->lock);
	if (wake)
		sleeper_wake(wake->who);
	sched_ready(gp);
}

static void
attach_never(struct g *gp, uint64_t unused)
{
	(void)gp, (void)unused;
}

/* The goroutine itself: what a receive does when it returns. */
static noinline void
received(struct g *gp, void (**fn)(void), enum capture *kind)
{
	struct receiver *r = gp->start;

	gp->defers = NULL;
	if (!r->w.ok)
		elem_put(r->w.elem, NULL, r->elem_bytes);
	if (r->ok)
		*r->ok = r->w.ok;
	*fn = r->fn;
	*kind = r->kind;
	user_block_free(r);
}

calls_out static void
receiver_main(void *args)
{
	struct g *gp = m_g(m_self());
	enum capture kind;
	void (*fn)(void);

	received(gp, &fn, &kind);
	args_call_kind(kind, fn, args);
}

static struct receiver *
receiver_make(const struct weft_recv_ *to, void (*fn)(void), int kind)
{
	struct receiver *r = user_block_alloc(sizeof *r);

	if (!r)
		return NULL;
	r->who.multi_wait = false;
	r->who.armed = false;
	waiter_init(&r->w, &r->who, to->chan);
	r->w.elem = to->elem;
	r->ok = to->ok;
	r->fn = fn;
	r->elem_bytes = to->chan->elem_bytes;
	r->kind = (uint8_t)kind;
	return r;
}

public int
weft_go_recv_begin_(const weft_recv_ *to, size_t opt_bytes,
    const weft_site *site, void (*fn)(void), int kind)
{
	struct spawn_later later = { WAIT_NIL, attach_never, 0 };
	struct receiver *r = NULL;
	int err;

	if (!fn)
		spawn_fatal_null("weft_go_recv", site);
	if (!sched_is_up())
		return -EPERM;
	if (to->chan) {
		type_check(to->chan, to->type, "received from");
		r = receiver_make(to, fn, kind);
		if (!r)
			return -ENOMEM;
		later = (struct spawn_later){ WAIT_RECV, attach,
		    (uintptr_t)r };
	}
	err = spawn_later_begin(&to->opt, opt_bytes, site, receiver_main, r,
	    &later);
	if (err)
		user_block_free(r);
	return err;
}

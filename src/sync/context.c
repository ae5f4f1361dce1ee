/* SPDX-License-Identifier: MIT */
/*
 * Contexts: a tree in which each node keeps its parent, and a parent knows
 * the children that a cancel must still reach.
 *
 * One lock for each tree, in its topmost node, which lives as long as any
 * other: a child keeps its parent. Under it are all links, and every cancel.
 *
 * Under the lock a cancel collects all that are below, breadth first, with
 * the list of those it found as its queue, and then marks them from the end
 * of that list on: linear, no recursion. Children are marked before their
 * parents, so who sees a context cancelled, with or without the lock, sees all
 * below it cancelled; also who finds nothing left to cancel since another
 * call came first. The list keeps each of them. With the lock released the
 * sleepers that watched are made runnable and the channels closed, parents
 * first. A second cancel that comes meanwhile does not wait for that.
 *
 * A node that is cancelled leaves its parent's list, and takes no children
 * and no watches on its lists any more: what nobody can reach twice is
 * cancelled once.
 *
 * Life: a parent's list does not keep a child. Its last owner counts it down
 * to 0, and then takes it off the list, under the lock. Who finds a child with
 * a count of 0 there leaves it alone: nobody will ever ask it, and it has no
 * children, as they would keep it.
 *
 * Rejected: a lock for each node, one taken at a time. It is held shorter
 * when a hundred thousand are cancelled, but then a child may say 0 after its
 * parent's cancel has returned, if another call came first.
 */
#include "context.h"

#include <errno.h>
#include <stdlib.h>

#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
#include "spawn.h"

/* A goroutine could not be made: again in a while. */
enum { RETRY_NS = 1000000 };

struct weft_context {
	/* constant */
	weft_context *parent;	/* kept by us; NULL: the root */
	weft_context *top;	/* has the tree's lock */
	weft_chan *done;
	int64_t deadline;	/* the earliest from here upwards */
	const void *key;	/* NULL: has no value */
	void *value;
	bool timed;		/* has a deadline of its own, and a timer */

	/* any thread, atomic */
	a32 refs;		/* owners, children, marked lists, expiry */
	a32 error;		/* 0 or -errno; written once, under the lock */
	int cause;		/* the same, before error */

	/* under the lock of the tree */
	struct list children;	/* not cancelled */
	struct list watches;	/* sleeps to end */
	/*
	 * In the children of the parent, next is NULL if not; then, of who
	 * cancels it, in its list.
	 */
	struct list sibling;

	/* the timer's callback; who has stopped the timer */
	bool expiring;		/* the callback has counted itself in */
	struct timer timer;

	struct lock lock;	/* of the tree, if this is the top */
};

/* ---- life ---- */

static weft_context *
make(weft_context *parent)
{
	weft_context *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->done = weft_chan_make(0, 0);
	if (!c->done) {
		free(c);
		return NULL;
	}
	c->parent = weft_context_retain(parent);
	c->top = parent ? parent->top : c;
	c->deadline = weft_context_deadline(parent);
	a_init(&c->refs, 1);
	list_init(&c->children);
	list_init(&c->watches);
	c->lock = (struct lock)LOCK_INIT(RANK_CONTEXT);
	return c;
}

/* A count of 0 is final. */
static bool
try_retain(weft_context *c)
{
	uint32_t n = a_load_relaxed(&c->refs);

	while (n > 0 && !a_cas_relaxed(&c->refs, n, n + 1))
		n = a_load_relaxed(&c->refs);
	return n > 0;
}

public weft_context *
weft_context_retain(weft_context *ctx)
{
	if (ctx && unlikely(a_add_relaxed(&ctx->refs, 1) == 0))
		fatal("context: retained after its last release");
	return ctx;
}

/* One less; true if it was the last. */
static bool
drop_ref(weft_context *c)
{
	/* pairs with itself: the last sees what the others did */
	uint32_t old = a_add_acqrel(&c->refs, -1u);

	if (unlikely(old == 0))
		fatal("context: released more often than retained");
	return old == 1;
}

/* Nobody has it any more, but its parent's list and its timer may. */
static void
destroy(weft_context *c)
{
	hard_pause();
	if (c->timed)
		timer_stop(&c->timer);
	lock_take(&c->top->lock);
	if (c->sibling.next)
		list_remove(&c->sibling);
	if (unlikely(!list_empty(&c->children)))
		fatal("context: released more often than retained: "
		    "it has children");
	if (unlikely(!list_empty(&c->watches)))
		fatal("context: released while somebody waits with it");
	lock_drop(&c->top->lock);
	weft_chan_release(c->done);
	free(c);
}

/* A parent may go with its last child, and so on: a loop, trees are deep. */
public void
weft_context_release(weft_context *ctx)
{
	while (ctx && drop_ref(ctx)) {
		weft_context *parent = ctx->parent;

		destroy(ctx);
		ctx = parent;
	}
}

/* ---- cancelling ---- */

static int
error_of(weft_context *c)
{
	return (int)a_load_acq(&c->error);	/* pairs with mark */
}

/*
 * Its time is up, and nobody has said so yet: all Ps may be busy, or there may
 * be no runtime. Who asks need not wait for that.
 */
static bool
overdue(weft_context *c)
{
	return c->deadline != WEFT_NEVER && !error_of(c) &&
	    c->deadline <= weft_now();
}

/* What a cancel has done and has still to do. */
struct sweep {
	int error, cause;
	struct list found;	/* by sibling, each kept: parents first */
	struct glist woken;
};

static weft_context *
by_sibling(struct list *l)
{
	return container_of(l, weft_context, sibling);
}

/* Lock held. The sweep has got a count of it. */
static void
collect(struct sweep *s, weft_context *c)
{
	if (c->sibling.next)
		list_remove(&c->sibling);
	list_push(&s->found, &c->sibling);
}

/* Lock held. */
static void
collect_children(struct sweep *s, weft_context *c)
{
	while (!list_empty(&c->children)) {
		weft_context *child = by_sibling(c->children.next);

		if (try_retain(child))
			collect(s, child);
		else
			list_remove(&child->sibling);
	}
}

/*
 * Lock held; all below it are marked. Sleeps are ended here and not later:
 * when context_unwatch has had the lock nobody may touch them.
 */
static void
mark(struct sweep *s, weft_context *c)
{
	c->cause = s->cause;
	/* pairs with error_of */
	a_store_rel(&c->error, (uint32_t)s->error);
	while (!list_empty(&c->watches)) {
		struct watch *w =
		    container_of(c->watches.next, struct watch, link);

		list_remove(&w->link);
		if (w->fn)
			w->fn(w, s->error, &s->woken);
		else
			sleeper_end(w->who, RACE_CANCELLED, &s->woken);
	}
}

/* Lock held. The caller has a count of c, which it keeps. */
static void
sweep(struct sweep *s, weft_context *c)
{
	check(lock_held(&c->top->lock));
	collect(s, weft_context_retain(c));
	list_each(it, &s->found)
		collect_children(s, by_sibling(it));
	for (struct list *it = s->found.prev; it != &s->found; it = it->prev) {
		hard_pause();
		mark(s, by_sibling(it));
	}
}

/* If the callback waits to be called again it will not be. */
static void
stop_timer(weft_context *c)
{
	if (timer_stop(&c->timer) && c->expiring)
		drop_ref(c);		/* not the last: ours is left */
}

/* No lock held: others may run now, and call anything. */
static void
finish_cancel(struct sweep *s)
{
	hard_pause();
	sched_ready_list(&s->woken);
	while (!list_empty(&s->found)) {
		weft_context *c = by_sibling(s->found.next);

		list_remove(&c->sibling);
		weft_chan_close(c->done);
		if (c->timed)
			stop_timer(c);
		weft_context_release(c);
	}
}

/* The caller has a count of c, which it keeps. */
static void
cancel(weft_context *c, int error, int cause)
{
	struct sweep s = { .error = error, .cause = cause };

	if (error_of(c))
		return;
	list_init(&s.found);
	lock_take(&c->top->lock);
	if (!error_of(c))
		sweep(&s, c);
	lock_drop(&c->top->lock);
	finish_cancel(&s);
}

public void
weft_context_cancel(weft_context *ctx, int cause)
{
	if (!ctx)
		fatal("context: cancel of NULL, the root");
	cancel(ctx, -ECANCELED, cause ? cause : -ECANCELED);
}

/* ---- deadlines ---- */

static void
cancel_expired(void *ctx)
{
	cancel(ctx, -ETIMEDOUT, -ETIMEDOUT);
	weft_context_release(ctx);
}

/*
 * The timer's callback, under its heap's lock, where no context may be
 * cancelled: a goroutine does it. It gets a count of the context, unless the
 * last one is gone; then who destroys it waits in timer_stop for us.
 */
static void
expire(struct timer *t, int64_t now, struct glist *woken)
{
	static const weft_site site = { "weft_context_make_until", "?", 0 };
	weft_context *c = container_of(t, weft_context, timer);
	struct g *gp;

	if (!c->expiring && !try_retain(c))
		return;
	c->expiring = true;
	gp = spawn_waiting(&site, cancel_expired, c);
	if (gp)
		glist_push(woken, gp);
	else
		t->when = now + RETRY_NS;
}

/* ---- making ---- */

/*
 * From here on a cancel of its parent reaches it. If that came before, it is
 * made cancelled. Nobody else has it yet but, if it is set, its timer: that
 * may have come first.
 */
static void
join(weft_context *c)
{
	weft_context *p = c->parent;
	struct sweep s = {0};

	if (!p)
		return;
	list_init(&s.found);
	lock_take(&c->top->lock);
	s.error = error_of(p);
	s.cause = p->cause;
	if (!error_of(c) && s.error)
		sweep(&s, c);
	else if (!error_of(c))
		list_push(&p->children, &c->sibling);
	lock_drop(&c->top->lock);
	finish_cancel(&s);
}

public weft_context *
weft_context_make(weft_context *parent)
{
	weft_context *c = make(parent);

	if (c)
		join(c);
	return c;
}

public weft_context *
weft_context_make_value(weft_context *parent, const void *key, void *value)
{
	weft_context *c;

	if (!key)
		fatal("context: null key");
	c = make(parent);
	if (c) {
		c->key = key;
		c->value = value;
		join(c);
	}
	return c;
}

public weft_context *
weft_context_make_until(weft_context *parent, int64_t when)
{
	weft_context *c = make(parent);
	bool past = false;

	if (!c)
		return NULL;
	if (when < c->deadline) {
		c->deadline = when;
		past = when <= os_now_ns();
		c->timed = !past;
	}
	/* Before it joins: a cancel from above finds the timer set. */
	if (c->timed) {
		timer_init(&c->timer, expire);
		expire_arm(&c->timer, when);
	}
	join(c);
	if (past)
		cancel(c, -ETIMEDOUT, -ETIMEDOUT);
	return c;
}

/* ---- asking ---- */

public int
weft_context_error(weft_context *ctx)
{
	checkpoint();
	if (!ctx)
		return 0;
	if (unlikely(overdue(ctx)))
		cancel(ctx, -ETIMEDOUT, -ETIMEDOUT);
	return error_of(ctx);
}

public int
weft_context_cause(weft_context *ctx)
{
	/* The error is written last, so if it is seen the cause is there. */
	return weft_context_error(ctx) ? ctx->cause : 0;
}

public weft_chan *
weft_context_done(weft_context *ctx)
{
	return ctx ? ctx->done : NULL;
}

public int64_t
weft_context_deadline(weft_context *ctx)
{
	return ctx ? ctx->deadline : WEFT_NEVER;
}

public void *
weft_context_value(weft_context *ctx, const void *key)
{
	for (; ctx; ctx = ctx->parent)
		if (ctx->key == key)
			return ctx->value;
	return NULL;
}

/* ---- for who waits ---- */

/* 0: it is on the list; or the error of the context. */
static int
add_watch(weft_context *ctx, struct watch *w)
{
	int err;

	lock_take(&ctx->top->lock);
	err = error_of(ctx);
	if (!err)
		list_push(&ctx->watches, &w->link);
	lock_drop(&ctx->top->lock);
	return err;
}

int
context_watch(weft_context *ctx, struct watch *w, struct sleeper *s)
{
	w->link.next = NULL;
	w->who = s;
	w->fn = NULL;
	if (!ctx)
		return 0;
	sleeper_set_multi(s);
	s->when = ctx->deadline;	/* of a plain thread: it sees to it */
	return add_watch(ctx, w);
}

int
context_watch_fn(weft_context *ctx, struct watch *w,
    void (*fn)(struct watch *w, int error, struct glist *woken))
{
	w->link.next = NULL;
	w->who = NULL;
	w->fn = fn;
	return ctx ? add_watch(ctx, w) : 0;
}

void
context_unwatch(weft_context *ctx, struct watch *w)
{
	if (!ctx)
		return;
	lock_take(&ctx->top->lock);
	if (w->link.next)
		list_remove(&w->link);
	lock_drop(&ctx->top->lock);
}

/* SPDX-License-Identifier: MIT */
/*
 * Contexts: a tree in which each node retains its parent, and a parent lists
 * the children that a cancel must still reach.
 *
 * Each tree has one lock, in its topmost node, which lives as long as any
 * other since a child retains its parent. It guards all links, and every
 * cancel. A node of weft_context_without_cancel has a parent, for its values,
 * but is the top of a tree of its own.
 *
 * Under the lock a cancel collects all nodes below, breadth first, with the
 * list of those it found as its queue, and then marks them from the end of
 * that list on: linear, no recursion. Children are marked before their
 * parents, so a reader that sees a context cancelled, with or without the
 * lock, sees all below it cancelled; also a caller of cancel that finds nothing
 * left to do because another call came first. The list retains each of them.
 * After the lock is released the sleepers that watched are made runnable,
 * callbacks called, and then the channels closed, parents first. A second
 * cancel that comes meanwhile does not wait for that.
 *
 * A node that is cancelled leaves its parent's list, and takes no children and
 * no watches any more: what can be reached only once is cancelled once.
 *
 * Life: a parent's list does not retain a child. The last owner counts the
 * child down to 0, and then takes it off the list, under the lock. A cancel
 * that finds a child with a count of 0 there skips it: no caller will ever ask
 * it, and it has no children, as they would retain it.
 *
 * Rejected: a lock for each node, one taken at a time. It is held shorter
 * when a hundred thousand are cancelled, but then a child may say 0 after its
 * parent's cancel has returned, if another call came first.
 */
#include "context.h"

#include <errno.h>

#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
#include "spawn.h"
#include "user_block.h"

/* A goroutine could not be made: when to try again. */
enum { RETRY_NS = 1000000 };

struct weft_context {
	/* constant */
	weft_context *parent;	/* retained by us; NULL: the root */
	weft_context *top;	/* has the tree's lock */
	weft_chan *done;
	int64_t deadline;	/* the earliest from here upwards */
	int deadline_cause;	/* of the node that has that one */
	const void *key;	/* NULL: has no value */
	void *value;
	bool timed;		/* has a deadline of its own, and a timer */

	/* any thread, atomic */
	a32 refs;		/* owners, children, marked lists, expiry */
	a32 error;		/* 0 or -errno; written once, under the lock */
	int cause;		/* the same, before error */

	/* under the lock of the tree */
	struct list children;	/* not cancelled */
	struct list watches;	/* sleeps to end, callbacks to call */
	/*
	 * In the children of the parent, next is NULL if not; then in the list
	 * of the cancel that found it.
	 */
	struct list sibling;

	/* the timer's callback, or after the timer was stopped */
	bool expiring;		/* the callback has retained us */
	struct timer timer;

	struct lock lock;	/* of the tree, if this is the top */
};

/* ---- life ---- */

/* In the tree of its parent; or without a tree, as its top. */
static weft_context *
make(weft_context *parent, bool own_tree)
{
	weft_context *c = user_block_zalloc(sizeof *c);

	if (!c)
		return NULL;
	c->done = weft_chan_make(0, 0);
	if (!c->done) {
		user_block_free(c);
		return NULL;
	}
	c->parent = weft_context_retain(parent);
	c->top = parent && !own_tree ? parent->top : c;
	c->deadline = own_tree ? WEFT_NEVER : weft_context_deadline(parent);
	c->deadline_cause = parent ? parent->deadline_cause : -ETIMEDOUT;
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

/* Drops a reference; true if it was the last. */
static bool
drop_ref(weft_context *c)
{
	/* pairs with itself: the last sees what the others did */
	uint32_t old = a_add_acqrel(&c->refs, -1u);

	if (unlikely(old == 0))
		fatal("context: released more often than retained");
	return old == 1;
}

/* No references are left, but its parent's list and its timer may have it. */
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
		fatal("context: released while a goroutine or thread waits "
		    "with it");
	lock_drop(&c->top->lock);
	weft_chan_release(c->done);
	user_block_free(c);
}

/* A parent may be freed with its last child, and so on: a loop, since trees may
 * be deep. */
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
 * Its deadline is over, and its timer has not cancelled it yet: all Ps may be
 * busy, or there may be no runtime. A caller that asks does not depend on that.
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
	struct list found;	/* by sibling, each retained: parents first */
	struct list callbacks;	/* watches without a sleeper */
	struct glist woken;
};

static void
sweep_init(struct sweep *s, int error, int cause)
{
	*s = (struct sweep){ .error = error, .cause = cause };
	list_init(&s->found);
	list_init(&s->callbacks);
}

static weft_context *
by_sibling(struct list *l)
{
	return container_of(l, weft_context, sibling);
}

/* Lock held. The sweep has a reference to it. */
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
 * after context_unwatch has had the lock their records are gone. Callbacks are
 * only taken off the list, which makes them ours.
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
		w->queued = false;
		if (w->who)
			sleeper_end(w->who, RACE_CANCELLED, &s->woken);
		else if (w->fn)
			w->fn(w, s->error, &s->woken);
		else
			list_push(&s->callbacks, &w->link);
	}
}

/* Lock held. The caller has a reference to c, which it keeps. */
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

/* A callback that was to be called again will not be. */
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
	while (!list_empty(&s->callbacks)) {
		struct watch *w =
		    container_of(s->callbacks.next, struct watch, link);

		list_remove(&w->link);
		w->callback(w);
	}
	while (!list_empty(&s->found)) {
		weft_context *c = by_sibling(s->found.next);

		list_remove(&c->sibling);
		weft_chan_close(c->done);
		if (c->timed)
			stop_timer(c);
		weft_context_release(c);
	}
}

/* The caller has a reference to c, which it keeps. */
static void
cancel(weft_context *c, int error, int cause)
{
	struct sweep s;

	if (error_of(c))
		return;
	sweep_init(&s, error, cause);
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
cancel_overdue(weft_context *c)
{
	cancel(c, -ETIMEDOUT, c->deadline_cause);
}

static void
cancel_expired(void *ctx)
{
	cancel_overdue(ctx);
	weft_context_release(ctx);
}

/*
 * The timer's callback, under its heap's lock, where no context may be
 * cancelled: a goroutine does it. It gets a reference to the context, unless
 * the last one is gone; then destroy waits in timer_stop for us.
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
 * made cancelled. Only the caller has it yet and, if it is armed, its timer,
 * which may have come first.
 */
static void
join(weft_context *c)
{
	weft_context *p = c->parent;
	struct sweep s;

	if (!p)
		return;
	sweep_init(&s, 0, 0);
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
	weft_context *c = make(parent, false);

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
	c = make(parent, false);
	if (c) {
		c->key = key;
		c->value = value;
		join(c);
	}
	return c;
}

public weft_context *
weft_context_without_cancel(weft_context *parent)
{
	return make(parent, true);
}

public weft_context *
weft_context_make_until_cause(weft_context *parent, int64_t when, int cause)
{
	weft_context *c = make(parent, false);
	bool past = false;

	if (!c)
		return NULL;
	if (when != 0 && when < c->deadline) {
		c->deadline = when;
		c->deadline_cause = cause ? cause : -ETIMEDOUT;
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
		cancel_overdue(c);
	return c;
}

public weft_context *
weft_context_make_until(weft_context *parent, int64_t when)
{
	return weft_context_make_until_cause(parent, when, 0);
}

/* ---- asking ---- */

public int
weft_context_error(weft_context *ctx)
{
	checkpoint();
	if (!ctx)
		return 0;
	if (unlikely(overdue(ctx)))
		cancel_overdue(ctx);
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

/* ---- for waits that a context ends, and callbacks ---- */

/*
 * True if the watch was queued; false if ctx is cancelled. A watch that was
 * queued is not touched after the lock is released: a cancel may have had it.
 */
static bool
enqueue(weft_context *ctx, struct watch *w)
{
	bool queued;

	lock_take(&ctx->top->lock);
	queued = !error_of(ctx);
	w->queued = queued;
	if (queued)
		list_push(&ctx->watches, &w->link);
	lock_drop(&ctx->top->lock);
	hard_pause();
	return queued;
}

int
context_watch(weft_context *ctx, struct watch *w, struct sleeper *s)
{
	*w = (struct watch){ .who = s };
	if (!ctx)
		return 0;
	sleeper_set_multi(s);
	/* A plain thread ends its sleep itself. */
	if (!s->gp && ctx->deadline < s->when)
		s->when = ctx->deadline;
	return enqueue(ctx, w) ? 0 : error_of(ctx);
}

int
context_watch_fn(weft_context *ctx, struct watch *w,
    void (*fn)(struct watch *w, int error, struct glist *woken))
{
	*w = (struct watch){ .fn = fn };
	if (!ctx)
		return 0;
	return enqueue(ctx, w) ? 0 : error_of(ctx);
}

bool
context_watch_callback(weft_context *ctx, struct watch *w,
    void (*callback)(struct watch *w))
{
	*w = (struct watch){ .callback = callback };
	return enqueue(ctx, w);
}

bool
context_unwatch(weft_context *ctx, struct watch *w)
{
	bool was;

	if (!ctx)
		return false;
	lock_take(&ctx->top->lock);
	was = w->queued;
	if (was)
		list_remove(&w->link);
	w->queued = false;
	lock_drop(&ctx->top->lock);
	return was;
}

/* SPDX-License-Identifier: MIT */
/*
 * Functions that are called, in a goroutine each, when a context is cancelled.
 *
 *	WAITING ---> STOPPED	weft_context_func_stop
 *	   |
 *	   +-------> STARTED	a cancel, or weft_context_after_func if the
 *				context is cancelled already
 *
 * Both under the lock of the context's tree, by its watch (context.h). There
 * are two references: the handle, which weft_context_func_stop drops, and that
 * of the watch. A stop of one that is WAITING drops the latter, too; otherwise
 * it is passed on to the goroutine, by way of a timer if no goroutine can be
 * made at the moment, for want of memory or of a runtime.
 */

#include "context.h"
#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
#include "spawn.h"
#include "start.h"
#include "user_block.h"
#include "weft.h"

/* A goroutine could not be made: when to try again. */
enum { RETRY_NS = 1000000 };

struct weft_context_func {
	/* constant */
	weft_context *ctx;	/* retained by us; NULL: the root */
	void (*fn)(void *arg);
	void *arg;

	/* any thread, atomic */
	a32 refs;

	struct watch watch;	/* see there */
	struct timer timer;	/* tries again */
};

/* No lock of RANK_CONTEXT on held. */
static void
drop_refs(weft_context_func *f, uint32_t n)
{
	/* pairs with itself: the last sees what the other did */
	if (a_add_acqrel(&f->refs, -n) != n)
		return;
	weft_context_release(f->ctx);
	user_block_free(f);
}

/*
 * The goroutine. It may have been made by the timer's callback, under the
 * lock of a heap: when timer_stop has returned the record is not used there
 * any more.
 */
static calls_out void
run(void *func)
{
	weft_context_func *f = func;
	void (*fn)(void *arg) = f->fn;
	void *arg = f->arg;

	timer_stop(&f->timer);
	drop_refs(f, 1);
	fn(arg);
}

/* Passes the reference on to a goroutine on the list; or returns false. */
static bool
spawn(weft_context_func *f, struct glist *woken)
{
	static const weft_site site = { "weft_context_after_func", "?", 0 };
	struct g *gp = spawn_waiting(&site, run, f);

	if (gp)
		glist_push(woken, gp);
	return gp;
}

/* The timer's callback, under its heap's lock. */
static void
retry(struct timer *t, int64_t now, struct glist *woken)
{
	if (!spawn(container_of(t, weft_context_func, timer), woken))
		t->when = now + RETRY_NS;
}

/*
 * No lock held. The reference of the watch is passed on. Without a runtime the
 * timer fires when there is one.
 */
static void
start(struct watch *w)
{
	weft_context_func *f = container_of(w, weft_context_func, watch);
	struct glist woken = {0};

	hard_pause();
	if (sched_is_up() && spawn(f, &woken))
		sched_ready_list(&woken);
	else
		expire_arm(&f->timer, os_now_ns());
}

public weft_context_func *
weft_context_after_func(weft_context *ctx, void (*fn)(void *arg), void *arg)
{
	weft_context_func *f;

	checkpoint();
	if (!fn)
		fatal("weft_context_after_func: null function");
	f = user_block_alloc(sizeof *f);
	if (!f)
		return NULL;
	f->ctx = weft_context_retain(ctx);
	f->fn = fn;
	f->arg = arg;
	a_init(&f->refs, 2);
	timer_init(&f->timer, retry);
	weft_context_error(ctx);	/* cancels it if it is overdue */
	if (ctx && !context_watch_callback(ctx, &f->watch, start))
		start(&f->watch);
	return f;
}

public bool
weft_context_func_stop(weft_context_func *f)
{
	bool stopped;

	checkpoint();
	if (!f)
		return false;
	stopped = !f->ctx || context_unwatch(f->ctx, &f->watch);
	drop_refs(f, stopped ? 2 : 1);
	return stopped;
}

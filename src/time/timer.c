/* SPDX-License-Identifier: MIT */
/*
 * The timers of the public interface: with a channel, or with a function.
 *
 * When timer_stop has returned the callback does not run and will not; then
 * what it left in the channel is dropped. So no old time is received after
 * that, and one that was not received counts as prevented. A reset is a stop
 * followed by the new setting, in one step: the timer may fire at once, and
 * the goroutine that it starts or wakes may free it, so it is not touched after
 * that.
 */
#include "timer.h"

#include "chan.h"
#include "expire.h"
#include "fatal.h"
#include "preempt.h"
#include "sched.h"
#include "spawn.h"
#include "user_block.h"
#include "weft.h"

enum timer_kind { ONE_SHOT, TICKER, CALL, AFTER };

/* A goroutine could not be made: when to try again. */
enum { RETRY_NS = 1000000 };

struct weft_timer {
	/* constant */
	enum timer_kind kind;
	struct weft_chan *c;	/* all but CALL */
	void (*fn)(void *arg);	/* CALL */
	void *arg;

	struct timer t;		/* see there */
};

/* ---- firing: under the lock of the heap ---- */

static void
call(struct weft_timer *w, int64_t now, struct glist *woken)
{
	static const weft_site site = { "weft_after_func", "?", 0 };
	struct g *gp = spawn_waiting(&site, w->fn, w->arg);

	if (gp)
		glist_push(woken, gp);
	else
		w->t.when = now + RETRY_NS;
}

static void
fire(struct timer *t, int64_t now, struct glist *woken)
{
	struct weft_timer *w = container_of(t, struct weft_timer, t);

	if (w->kind == CALL) {
		call(w, now, woken);
		return;
	}
	chan_send_time(w->c, now, woken);
}

/* ---- setting ---- */

static int64_t
due_in(int64_t ns)
{
	return weft_deadline(ns > 0 ? ns : 0);
}

static int64_t
period_of(const struct weft_timer *w, int64_t ns)
{
	return w->kind == TICKER ? ns : 0;
}

static struct weft_timer *
make(enum timer_kind kind)
{
	struct weft_timer *w = user_block_alloc(sizeof *w);

	if (!w)
		return NULL;
	w->kind = kind;
	w->c = NULL;
	timer_init(&w->t, fire);
	if (kind == CALL)
		return w;
	w->c = chan_make_timed(kind == AFTER ? w : NULL);
	if (w->c)
		return w;
	user_block_free(w);
	return NULL;
}

/* Arms a new timer, or frees it and returns NULL. */
static struct weft_timer *
armed(struct weft_timer *w, int64_t ns)
{
	if (!w)
		return NULL;
	w->t.period = period_of(w, ns);
	if (likely(expire_try_arm(&w->t, due_in(ns)) == 0))
		return w;
	if (w->c)
		w->c->timer = NULL;	/* of AFTER: the channel must not free
					 * the timer */
	weft_timer_free(w);
	return NULL;
}

static void
check_period(int64_t ns)
{
	if (ns <= 0)
		fatal("ticker: period of %ld ns", (long)ns);
}

public weft_timer *
weft_timer_make(int64_t ns)
{
	return armed(make(ONE_SHOT), ns);
}

public weft_timer *
weft_ticker_make(int64_t period_ns)
{
	check_period(period_ns);
	return armed(make(TICKER), period_ns);
}

public weft_timer *
weft_after_func(int64_t ns, void (*fn)(void *arg), void *arg)
{
	struct weft_timer *w;

	if (!fn)
		fatal("weft_after_func: null function");
	w = make(CALL);
	if (!w)
		return NULL;
	w->fn = fn;
	w->arg = arg;
	return armed(w, ns);
}

public weft_chan *
weft_after(int64_t ns)
{
	struct weft_timer *w = armed(make(AFTER), ns);

	return w ? w->c : NULL;
}

public weft_chan *
weft_timer_chan(weft_timer *w)
{
	return w->c;
}

public bool
weft_timer_stop(weft_timer *w)
{
	bool prevented = timer_stop(&w->t);

	checkpoint();
	if (w->c && chan_drain(w->c))
		prevented = true;
	return prevented;
}

public bool
weft_timer_reset(weft_timer *w, int64_t ns)
{
	bool prevented, was;

	checkpoint();
	if (w->kind == TICKER)
		check_period(ns);
	prevented = weft_timer_stop(w);
	/* Another reset may have come between: then this one prevents its
	 * firing. */
	if (expire_rearm(&w->t, due_in(ns), period_of(w, ns), &was) != 0)
		fatal("out of memory: a timer that was not set cannot be");
	return prevented || was;
}

public void
weft_timer_free(weft_timer *w)
{
	if (!w)
		return;
	weft_timer_stop(w);
	weft_chan_release(w->c);
	user_block_free(w);
}

void
timer_chan_freed(struct weft_timer *w)
{
	timer_stop(&w->t);
	user_block_free(w);
}

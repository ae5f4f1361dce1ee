/* SPDX-License-Identifier: MIT */
/*
 * Timers as users have them: with a channel, or with a function.
 *
 * When timer_stop has returned the callback does not run and will not; then
 * what it left in the channel is taken out. So no old tick is received after
 * that, and one that was not received counts as prevented. Resets take the
 * timer's own lock, so that they come one after the other; a stop that comes
 * between the two halves of a reset was before it.
 */
#include "tick.h"

#include <stdlib.h>

#include "alarm.h"
#include "chan.h"
#include "fatal.h"
#include "sched.h"
#include "weft.h"

enum kind { ONE_SHOT, TICKER, CALL, AFTER };

/* A goroutine could not be made: again in a while. */
enum { RETRY_NS = 1000000 };

struct weft_timer {
	/* constant */
	enum kind kind;
	struct weft_chan *c;	/* all but CALL */
	void (*fn)(void *arg);	/* CALL */
	void *arg;

	struct lock lock;	/* of resets */
	/* under lock, while it is not armed; else the callback */
	int64_t due, period;

	struct timer t;		/* see there */
};

/* ---- firing: under the lock of the heap ---- */

/* A ticker that is late leaves out what it missed and keeps its phase. */
static void
tick_again(struct weft_timer *w, int64_t now)
{
	int64_t periods = (now - w->due) / w->period + 1, step;

	if (__builtin_mul_overflow(periods, w->period, &step) ||
	    __builtin_add_overflow(w->due, step, &w->due))
		w->due = NEVER_NS;
	w->t.when = w->due;
}

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
	chan_tick(w->c, now, woken);
	if (w->kind == TICKER)
		tick_again(w, now);
}

/* ---- setting ---- */

/* Lock held, or nobody else has it yet; not armed. 0 or -ENOMEM. */
static int
arm(struct weft_timer *w, int64_t ns)
{
	w->due = weft_in(ns > 0 ? ns : 0);
	w->period = ns;
	return alarm_try_set(&w->t, w->due);
}

static struct weft_timer *
make(enum kind kind)
{
	struct weft_timer *w = malloc(sizeof *w);

	if (!w)
		return NULL;
	w->kind = kind;
	w->c = NULL;
	w->lock = (struct lock)LOCK_INIT(RANK_TICK);
	timer_init(&w->t, fire);
	if (kind == CALL)
		return w;
	w->c = chan_make_timed(kind == AFTER ? w : NULL);
	if (w->c)
		return w;
	free(w);
	return NULL;
}

/* Arms what was just made; or it is gone. */
static struct weft_timer *
armed(struct weft_timer *w, int64_t ns)
{
	if (!w || likely(arm(w, ns) == 0))
		return w;
	if (w->c)
		w->c->timer = NULL;	/* of AFTER: it goes with its timer */
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

	if (w->c && chan_drain(w->c))
		prevented = true;
	return prevented;
}

public bool
weft_timer_reset(weft_timer *w, int64_t ns)
{
	bool prevented;

	if (w->kind == TICKER)
		check_period(ns);
	lock_take(&w->lock);
	prevented = weft_timer_stop(w);
	if (arm(w, ns) != 0)
		fatal("out of memory: a timer that was not set cannot be");
	lock_drop(&w->lock);
	return prevented;
}

public void
weft_timer_free(weft_timer *w)
{
	if (!w)
		return;
	weft_timer_stop(w);
	weft_chan_release(w->c);
	free(w);
}

void
tick_chan_gone(struct weft_timer *w)
{
	timer_stop(&w->t);
	free(w);
}

/* SPDX-License-Identifier: MIT */
/*
 * Sleeps that a context ends: watching, cancelling and being woken by another
 * side at the same time.
 */
#include <errno.h>
#include <pthread.h>

#include "context.h"
#include "plain_thread.h"
#include "sched.h"
#include "t.h"

/* A queue of one, as any room has it. */
struct seat {
	struct lock lock;
	struct waiter *w;	/* under lock */
};

static struct seat seat = { .lock = LOCK_INIT(RANK_PARKING_LOT) };
static a32 claimed, cancelled, early;

/* Sleeps on the seat with a context. What ended it, or the context's error. */
static int
sit(struct seat *q, weft_context *ctx, enum race *how)
{
	struct sleeper s;
	struct waiter w;
	struct watch watch;
	int err;

	sleeper_init(&s);
	waiter_init(&w, &s, q);
	lock_take(&q->lock);
	err = context_watch(ctx, &watch, &s);
	if (err) {
		lock_drop(&q->lock);
		return err;
	}
	q->w = &w;
	*how = sleeper_sleep(&s, &q->lock, WAIT_TEST);
	if (*how == RACE_CANCELLED) {
		lock_take(&q->lock);
		if (q->w == &w)
			q->w = NULL;
		lock_drop(&q->lock);
	}
	context_unwatch(ctx, &watch);
	return 0;
}

/* Wakes the waiter there, if it is ours to wake. */
static bool
rouse(struct seat *q)
{
	struct waiter *w;
	bool ours = false;

	lock_take(&q->lock);
	w = q->w;
	q->w = NULL;
	if (w)
		ours = sleeper_claim(w->who);
	lock_drop(&q->lock);
	if (ours)
		sleeper_wake(w->who);
	return ours;
}

static bool
taken(struct seat *q)
{
	bool is;

	lock_take(&q->lock);
	is = q->w != NULL;
	lock_drop(&q->lock);
	return is;
}

static void
sit_and_count(struct seat *q, weft_context *ctx)
{
	enum race how = RACE_EARLY;
	int err = sit(q, ctx, &how);

	if (err) {
		EQ(err, -ECANCELED);
		a_add_relaxed(&early, 1);
	} else if (how == RACE_CANCELLED) {
		EQ(weft_context_error(ctx), -ECANCELED);
		a_add_relaxed(&cancelled, 1);
	} else {
		EQ(how, RACE_CLAIMED);
		a_add_relaxed(&claimed, 1);
	}
}

static void
others_end(void)
{
	while (weft_goroutines() > 1)
		weft_yield();
}

/* ---- one after the other ---- */

GTEST(cancel_ends_a_sleep, 1)
{
	weft_context *top = weft_context_make(NULL);
	weft_context *ctx = weft_context_make(top);

	weft_go(sit_and_count, &seat, ctx);
	while (!taken(&seat))
		weft_yield();
	weft_context_cancel(top, 1);
	others_end();
	EQ(a_load_relaxed(&cancelled), 1);
	OK(!rouse(&seat));
	weft_context_release(ctx);
	weft_context_release(top);
}

GTEST(a_wake_is_not_undone, 1)
{
	weft_context *ctx = weft_context_make(NULL);

	weft_go(sit_and_count, &seat, ctx);
	while (!taken(&seat))
		weft_yield();
	OK(rouse(&seat));
	weft_context_cancel(ctx, 1);
	others_end();
	EQ(a_load_relaxed(&claimed), 1);
	weft_context_release(ctx);
}

GTEST(cancelled_before, 1)
{
	weft_context *ctx = weft_context_make(NULL);

	weft_context_cancel(ctx, 1);
	sit_and_count(&seat, ctx);
	EQ(a_load_relaxed(&early), 1);
	OK(!taken(&seat));
	weft_context_release(ctx);
}

GTEST(null_never_ends_it, 1)
{
	weft_go(sit_and_count, &seat, NULL);
	while (!taken(&seat))
		weft_yield();
	OK(rouse(&seat));
	others_end();
	EQ(a_load_relaxed(&claimed), 1);
}

/* Many with one context, goroutines and threads: all are woken. */
enum { MANY = 300 };
static struct seat seats[MANY + 2];
static weft_context *common;

PLAIN_THREAD(sit_plainly, sit_and_count(arg, common))

GTEST(all_watchers, 4)
{
	pthread_t t[2];

	common = weft_context_make(NULL);
	for (int i = 0; i < MANY; i++)
		weft_go(sit_and_count, &seats[i], common);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, sit_plainly, &seats[MANY + i]);
	for (int i = 0; i < MANY + 2; i++)
		while (!taken(&seats[i]))
			weft_yield();
	weft_context_cancel(common, 0);
	others_end();
	threads_join(t, 2);
	EQ(a_load_relaxed(&cancelled), MANY + 2);
	weft_context_release(common);
}

/* Watches come and go, and nothing is left with the context. */
GTEST(watch_and_unwatch, 1)
{
	weft_context *ctx = weft_context_make(NULL);
	struct sleeper s;
	struct watch w[3];

	sleeper_init(&s);
	for (int i = 0; i < 3; i++)
		EQ(context_watch(ctx, &w[i], &s), 0);
	context_unwatch(ctx, &w[1]);
	context_unwatch(ctx, &w[0]);
	context_unwatch(ctx, &w[2]);
	weft_context_cancel(ctx, 0);
	EQ(a_load_relaxed(&s.race), RACE_EARLY);
	EQ(context_watch(ctx, &w[0], &s), -ECANCELED);
	context_unwatch(ctx, &w[0]);
	weft_context_release(ctx);
}

/* ---- all at once ---- */

static void
rouse_and_count(struct seat *q, weft_waitgroup *wg)
{
	for (int i = 0; i < 4; i++) {
		rouse(q);
		weft_yield();
	}
	weft_waitgroup_done(wg);
}

static void
cancel_it(weft_context *ctx, weft_waitgroup *wg)
{
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
	weft_waitgroup_done(wg);
}

static void
sit_once(struct seat *q, weft_context *ctx, weft_waitgroup *wg)
{
	sit_and_count(q, ctx);
	weft_context_release(ctx);
	weft_waitgroup_done(wg);
}

static void
race_once(weft_waitgroup *wg, long i)
{
	weft_context *top = weft_context_make(NULL);
	weft_context *ctx = weft_context_make(top);

	weft_waitgroup_add(wg, 3);
	weft_go(sit_once, &seat, ctx, wg);
	if (i % 2)
		weft_go(rouse_and_count, &seat, wg);
	weft_go(cancel_it, top, wg);
	if (!(i % 2))
		weft_go(rouse_and_count, &seat, wg);
	weft_waitgroup_wait(wg);
}

GTEST(wake_and_cancel_race, 4)
{
	long n = t_scale(15000);
	weft_waitgroup wg = {0};

	for (long i = 0; i < n; i++)
		race_once(&wg, i);
	EQ(a_load_relaxed(&claimed) + a_load_relaxed(&cancelled) +
	    a_load_relaxed(&early), n);
}

/* The same with a plain thread that sleeps. */
static weft_chan *to_thread;

static void *
sit_plainly_often(void *wg)
{
	weft_context *ctx;

	while (weft_chan_recv(to_thread, &ctx))
		sit_once(&seat, ctx, wg);
	return NULL;
}

GTEST(wake_and_cancel_a_thread, 2)
{
	long n = t_scale(5000);
	weft_waitgroup wg = {0};
	pthread_t t;

	to_thread = weft_chan_make(sizeof(weft_context *), 0);
	pthread_create(&t, NULL, sit_plainly_often, &wg);
	for (long i = 0; i < n; i++) {
		weft_context *ctx = weft_context_make(NULL);

		weft_waitgroup_add(&wg, 3);
		weft_chan_send(to_thread, &(weft_context *){
		    weft_context_retain(ctx) });
		weft_go(rouse_and_count, &seat, &wg);
		weft_go(cancel_it, ctx, &wg);
		weft_waitgroup_wait(&wg);
	}
	weft_chan_close(to_thread);
	pthread_join(t, NULL);
	weft_chan_release(to_thread);
	EQ(a_load_relaxed(&claimed) + a_load_relaxed(&cancelled) +
	    a_load_relaxed(&early), n);
}

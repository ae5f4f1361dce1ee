/* SPDX-License-Identifier: MIT */
/* Contexts that end by themselves: never early, and only once. */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "t.h"
#include "until_alone.h"

enum { HOUR = 3600 };

static bool
is_done(weft_context *ctx)
{
	return weft_chan_is_closed(weft_context_done(ctx));
}

static void
wait_done(weft_context *ctx)
{
	OK(!weft_chan_recv(weft_context_done(ctx), NULL));
}

GTEST(fires_and_not_early, 2)
{
	int64_t when = weft_deadline(20 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);

	EQ(weft_context_deadline(ctx), when);
	if (weft_now() < when)
		EQ(weft_context_error(ctx), 0);
	wait_done(ctx);
	OK(weft_now() >= when);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	EQ(weft_context_cause(ctx), -ETIMEDOUT);
	weft_context_cancel(ctx, 5);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	EQ(weft_context_cause(ctx), -ETIMEDOUT);
	weft_context_release(ctx);
	until_alone();
}

GTEST(in_the_past, 1)
{
	weft_context *ctx = weft_context_make_until(NULL, weft_now());
	weft_context *child = weft_context_make(ctx);
	weft_context *old = weft_context_make_until(NULL, INT64_MIN);

	EQ(weft_context_error(ctx), -ETIMEDOUT);
	EQ(weft_context_cause(ctx), -ETIMEDOUT);
	OK(is_done(ctx));
	EQ(weft_context_error(child), -ETIMEDOUT);
	EQ(weft_context_error(old), -ETIMEDOUT);
	EQ(weft_context_deadline(old), INT64_MIN);
	weft_context_release(ctx);
	weft_context_release(child);
	weft_context_release(old);
}

/* Its own time is up as well, but the parent was first. */
GTEST(in_the_past_of_a_cancelled_one, 1)
{
	weft_context *ctx = weft_context_make(NULL), *child;

	weft_context_cancel(ctx, 8);
	child = weft_context_make_until(ctx, 1);
	EQ(weft_context_error(child), -ECANCELED);
	EQ(weft_context_cause(child), 8);
	weft_context_release(ctx);
	weft_context_release(child);
}

/* 0 is none, as is WEFT_NEVER. */
GTEST(never, 1)
{
	static const int64_t none[] = { 0, WEFT_NEVER };

	for (int i = 0; i < 2; i++) {
		weft_context *ctx = weft_context_make_until(NULL, none[i]);

		EQ(weft_context_deadline(ctx), WEFT_NEVER);
		EQ(weft_context_error(ctx), 0);
		weft_context_release(ctx);
	}
}

/* The parent's is earlier: the child has no time of its own. */
GTEST(the_parents_is_earlier, 2)
{
	int64_t when = weft_deadline(10 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);
	weft_context *child =
	    weft_context_make_until(ctx, weft_deadline(HOUR * WEFT_SECOND));
	weft_context *leaf = weft_context_make(child);

	EQ(weft_context_deadline(child), when);
	EQ(weft_context_deadline(leaf), when);
	wait_done(leaf);
	OK(weft_now() >= when);
	EQ(weft_context_error(leaf), -ETIMEDOUT);
	EQ(weft_context_error(child), -ETIMEDOUT);
	weft_context_release(ctx);
	weft_context_release(child);
	weft_context_release(leaf);
}

GTEST(the_childs_is_earlier, 2)
{
	int64_t late = weft_deadline(HOUR * WEFT_SECOND);
	int64_t when = weft_deadline(10 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, late);
	weft_context *child = weft_context_make_until(ctx, when);

	EQ(weft_context_deadline(ctx), late);
	EQ(weft_context_deadline(child), when);
	wait_done(child);
	OK(weft_now() >= when);
	EQ(weft_context_error(child), -ETIMEDOUT);
	EQ(weft_context_error(ctx), 0);
	OK(!is_done(ctx));
	weft_context_release(ctx);
	weft_context_release(child);
	until_alone();
}

/* What is cancelled or released in time does not fire. */
GTEST(not_after_a_cancel, 2)
{
	enum { N = 200 };
	weft_context *c[N], *last;

	for (int i = 0; i < N; i++) {
		c[i] = weft_context_make_until(NULL,
		    weft_deadline(20 * WEFT_MS));
		if (i % 2)
			weft_context_cancel(c[i], 3);
		else
			weft_context_release(c[i]);
	}
	last = weft_context_make_until(NULL, weft_deadline(40 * WEFT_MS));
	wait_done(last);
	for (int i = 1; i < N; i += 2) {
		int cause = weft_context_cause(c[i]);

		/* A slow machine may have been late with the cancel. */
		OK(cause == 3 || cause == -ETIMEDOUT);
		EQ(weft_context_error(c[i]),
		    cause == 3 ? -ECANCELED : -ETIMEDOUT);
		weft_context_release(c[i]);
	}
	weft_context_release(last);
	until_alone();
}

/* Many at once, and released at about the time they fire. */
static void
short_lived(int us, weft_waitgroup *wg)
{
	int64_t when = weft_deadline(us * WEFT_US);
	weft_context *ctx = weft_context_make_until(NULL, when);
	weft_context *child = weft_context_make(ctx);
	weft_chan *done = weft_chan_retain(weft_context_done(child));

	if (us % 3 == 0) {
		weft_sleep_until(when);
	} else if (us % 3 == 1) {
		weft_chan_recv(done, NULL);
		OK(weft_now() >= when);
		EQ(weft_context_error(child), -ETIMEDOUT);
	} else {
		weft_sleep_until(when);
		weft_context_cancel(ctx, 1);
		OK(weft_context_error(child) != 0);
	}
	weft_context_release(ctx);
	weft_context_release(child);
	weft_chan_release(done);
	weft_waitgroup_done(wg);
}

GTEST(released_as_it_fires, 4)
{
	long n = t_scale(20000);
	weft_waitgroup wg = {0};

	for (long i = 0; i < n; i++) {
		weft_waitgroup_add(&wg, 1);
		OK(weft_try_go(short_lived, (int)(i % 997), &wg) > 0);
		if (i % 256 == 255)
			weft_waitgroup_wait(&wg);
	}
	weft_waitgroup_wait(&wg);
	until_alone();
}

/* From a plain thread, which waits too. */
static void *
plainly(void *out)
{
	int64_t when = weft_deadline(10 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);

	wait_done(ctx);
	OK(weft_now() >= when);
	*(int *)out = weft_context_error(ctx);
	weft_context_release(ctx);
	return NULL;
}

GTEST(of_a_plain_thread, 2)
{
	int error = 0;
	pthread_t t;

	pthread_create(&t, NULL, plainly, &error);
	pthread_join(t, NULL);		/* one processor is enough for it */
	EQ(error, -ETIMEDOUT);
}

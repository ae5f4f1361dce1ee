/* SPDX-License-Identifier: MIT */
/*
 * A deadline, or a function to call, that comes when no goroutine can be made
 * for it: it is late, and nothing is lost.
 */
#include <errno.h>
#include <stdlib.h>

#include "chan.h"
#include "context.h"
#include "os.h"
#include "run_env.h"
#include "sched.h"
#include "spawn.h"
#include "t.h"
#include "until_alone.h"

#ifdef WEFT_DEBUG

static void nothing(void *arg) { (void)arg; }

/* Main empties the caches of its P, and is to keep it. */
NO_PREEMPTION

/* Takes all records there are: those of the one P, and the common ones. */
static void
refuse(void)
{
	static const struct weft_site site = { "nothing", "?", 0 };

	a_store_relaxed(&os_map_fail_after, 1);
	while (spawn_make(stack_default_class, &site, nothing, NULL))
		;
	while (g_alloc_any())
		;
}

static void
allow(void)
{
	a_store_relaxed(&os_map_fail_after, 0);
}

static void
pass(int64_t when)
{
	while (weft_now() < when)
		weft_yield();
}

/* Does not ask for the error: that would cancel it, too. */
static bool
is_cancelled(weft_context *ctx)
{
	return weft_chan_is_closed(weft_context_done(ctx));
}

/* One whose time is up, and that is tried again and again. */
static weft_context *
make_overdue(void)
{
	int64_t when = weft_deadline(500 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);

	refuse();
	OK(weft_now() < when);	/* else it may have had its goroutine */
	pass(when + 5 * WEFT_MS);
	OK(!is_cancelled(ctx));
	EQ(weft_goroutines(), 1);
	return ctx;
}

GTEST(it_comes_later, 1)
{
	weft_context *ctx = make_overdue();

	allow();
	while (!is_cancelled(ctx))
		weft_yield();
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	weft_context_release(ctx);
	until_alone();
}

GTEST(it_is_cancelled_before, 1)
{
	weft_context *ctx = make_overdue();
	weft_chan *done = weft_chan_retain(weft_context_done(ctx));

	weft_context_cancel(ctx, 4);
	EQ(weft_context_cause(ctx), 4);
	EQ(a_load_relaxed(&done->refs), 2);
	weft_context_release(ctx);
	EQ(a_load_relaxed(&done->refs), 1);	/* the context is gone */
	weft_chan_release(done);
	allow();
	pass(weft_deadline(5 * WEFT_MS));
	EQ(weft_goroutines(), 1);
}

GTEST(it_is_released_before, 1)
{
	weft_context *ctx = make_overdue();
	weft_chan *done = weft_chan_retain(weft_context_done(ctx));

	weft_context_release(ctx);
	pass(weft_deadline(5 * WEFT_MS));
	allow();
	weft_chan_recv(done, NULL);
	weft_chan_release(done);
	until_alone();
}

static void count(void *n) { ++*(int *)n; }

/* stop_early: the handle is dropped while the timer still tries. */
static void
function_comes_later(bool stop_early)
{
	weft_context *ctx = weft_context_make(NULL);
	int n = 0;
	weft_context_func *f = weft_context_after_func(ctx, count, &n);

	weft_sleep(WEFT_MS);	/* now there is room in a heap of timers */
	refuse();
	weft_context_cancel(ctx, 0);
	OK(is_cancelled(ctx));
	weft_context_release(ctx);
	pass(weft_deadline(5 * WEFT_MS));
	EQ(n, 0);
	EQ(weft_goroutines(), 1);
	if (stop_early)
		OK(!weft_context_func_stop(f));
	pass(weft_deadline(5 * WEFT_MS));
	allow();
	while (n == 0)
		weft_yield();
	if (!stop_early)
		OK(!weft_context_func_stop(f));
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(n, 1);
	EQ(t_leaks(), 0);
}

GTEST(a_function_comes_later, 1) { function_comes_later(false); }
GTEST(a_function_whose_handle_is_gone, 1) { function_comes_later(true); }

#else
TEST(it_comes_later) { t_skip("needs DEBUG=1"); }
#endif

/* SPDX-License-Identifier: MIT */
/* Groups: goroutines that are started, limited, cancelled, ended together. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include <weft.h>

#include "late_work.h"
#include "plain_thread.h"
#include "t.h"

static long ran;

static int
run(void *arg)
{
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	return (int)(intptr_t)arg;
}

static int
yield_and_run(void *arg)
{
	for (int i = 0; i < 5; i++)
		weft_yield();
	return run(arg);
}

static void *
num(int n)
{
	return (void *)(intptr_t)n;
}

/* ---- waiting ---- */

GTEST(waits_for_all, 4)
{
	weft_group g = {0};

	EQ(weft_group_wait(&g), 0);		/* no member */
	for (int i = 0; i < 1000; i++)
		weft_group_go(&g, yield_and_run, NULL);
	EQ(weft_group_wait(&g), 0);
	EQ(ran, 1000);				/* no atomic: it is over */
}

static int
start_more(void *arg)
{
	weft_group *g = arg;

	for (int i = 0; i < 10; i++)
		weft_group_go(g, yield_and_run, NULL);
	return 0;
}

GTEST(members_start_members, 4)
{
	weft_group g = {0};

	for (int i = 0; i < 100; i++)
		weft_group_go(&g, start_more, &g);
	EQ(weft_group_wait(&g), 0);
	EQ(ran, 1000);
}

/* The group is on the stack of the waiter and gone at once. */
static int
briefly(void *arg)
{
	long before;

	for (long i = 0; i < t_scale(20000); i++) {
		weft_group g = {0};

		weft_group_go(&g, run, NULL);
		if (i % 2)
			weft_group_go(&g, run, arg);
		EQ(weft_group_wait(&g), i % 2 ? 7 : 0);
		before = (long)g.state_ + g.error_ + (long)g.room_ + g.ended_;
		EQ(before, 0);
		g.state_ = UINT64_MAX;		/* none may touch it */
		weft_yield();
		EQ(g.state_ == UINT64_MAX, 1);
	}
	return 0;
}

GTEST(many_short_ones, 4)
{
	weft_group g = {0};

	for (int i = 0; i < 4; i++)
		weft_group_go(&g, briefly, num(7));
	EQ(weft_group_wait(&g), 0);
	EQ(ran, 4 * t_scale(20000) * 3 / 2);
}

/* ---- errors ---- */

static int
wait_then(void *arg)
{
	weft_chan *c = arg;

	weft_chan_recv(c, NULL);
	return -EIO;
}

GTEST(first_error_is_the_groups, 2)
{
	weft_group g = {0};
	weft_chan *c = weft_chan_make(0, 0);

	weft_group_go(&g, wait_then, c);
	weft_group_go(&g, run, NULL);
	weft_group_go(&g, run, num(-EPIPE));
	while (__atomic_load_n(&g.error_, __ATOMIC_RELAXED) == 0)
		weft_yield();
	weft_chan_close(c);
	EQ(weft_group_wait(&g), -EPIPE);
	weft_chan_release(c);
	/* And anew: the error is gone. */
	weft_group_go(&g, run, NULL);
	EQ(weft_group_wait(&g), 0);
	weft_group_go(&g, run, num(3));
	EQ(weft_group_wait(&g), 3);
	EQ(weft_group_wait(&g), 0);
}

/* ---- its context ---- */

static int
until_cancelled(void *arg)
{
	weft_context *ctx = arg;

	weft_chan_recv(weft_context_done(ctx), NULL);
	EQ(weft_context_error(ctx), -ECANCELED);
	EQ(weft_context_cause(ctx), -EDOM);
	return weft_context_error(ctx);
}

GTEST(an_error_cancels_the_others, 2)
{
	weft_context *parent = weft_context_make(NULL);
	weft_group g = { .parent = parent };
	weft_context *ctx = weft_group_context(&g);

	OK(ctx && ctx == weft_group_context(&g));
	for (int i = 0; i < 100; i++)
		weft_group_go(&g, until_cancelled, ctx);
	weft_yield();
	weft_group_go(&g, run, num(-EDOM));
	EQ(weft_group_wait(&g), -EDOM);
	EQ(weft_context_error(parent), 0);
	weft_context_release(parent);
	EQ(t_leaks(), 0);
}

GTEST(a_context_after_the_error, 2)
{
	weft_group g = {0};

	weft_group_go(&g, run, num(-EDOM));
	while (__atomic_load_n(&g.error_, __ATOMIC_RELAXED) == 0)
		weft_yield();
	EQ(weft_context_error(weft_group_context(&g)), -ECANCELED);
	EQ(weft_context_cause(weft_group_context(&g)), -EDOM);
	EQ(weft_group_wait(&g), -EDOM);
	EQ(t_leaks(), 0);
}

GTEST(the_end_cancels_it, 2)
{
	weft_group g = {0};
	weft_context *ctx = weft_context_retain(weft_group_context(&g));
	weft_context *child = weft_context_make(ctx), *next;

	weft_group_go(&g, run, NULL);
	EQ(weft_context_error(ctx), 0);
	EQ(weft_group_wait(&g), 0);
	EQ(weft_context_error(ctx), -ECANCELED);
	EQ(weft_context_cause(ctx), -ECANCELED);
	EQ(weft_context_error(child), -ECANCELED);
	/* A new round has a new one. */
	next = weft_group_context(&g);
	EQ(weft_context_error(next), 0);
	weft_context_release(ctx);
	weft_context_release(child);
	EQ(weft_group_wait(&g), 0);
	EQ(t_leaks(), 0);
}

GTEST(the_parent_cancels_it, 2)
{
	weft_context *parent = weft_context_make(NULL);
	weft_group g = { .parent = parent };

	weft_group_go(&g, until_cancelled, weft_group_context(&g));
	weft_context_cancel(parent, -EDOM);
	EQ(weft_group_wait(&g), -ECANCELED);
	weft_context_release(parent);
}

static int
ask_for_context(void *arg)
{
	weft_context *ctx = weft_group_context(arg);

	if (weft_self_id() % 2)
		return -ERANGE;
	weft_chan_recv(weft_context_done(ctx), NULL);
	EQ(weft_context_cause(ctx), -ERANGE);
	return -EDOM;			/* too late to count */
}

/* All ask at once, and some fail at once: none is left waiting. */
GTEST(context_and_error_race, 4)
{
	for (long i = 0; i < t_scale(3000); i++) {
		WEFT_GROUP(g);

		for (int k = 0; k < 4; k++)
			weft_group_go(&g, ask_for_context, &g);
		/* One at least has an odd number: ids come in a row. */
		weft_group_go(&g, run, num(-ERANGE));
		EQ(weft_group_wait(&g), -ERANGE);
	}
	EQ(t_leaks(), 0);
}

/* ---- limits ---- */

static int at_once, at_most;

static int
count_in_and_out(void *arg)
{
	int n = __atomic_add_fetch(&at_once, 1, __ATOMIC_RELAXED);
	int max = __atomic_load_n(&at_most, __ATOMIC_RELAXED);

	while (n > max && !__atomic_compare_exchange_n(&at_most, &max, n, 0,
	    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	for (int i = 0; i < 3; i++)
		weft_yield();
	__atomic_sub_fetch(&at_once, 1, __ATOMIC_RELAXED);
	return run(arg);
}

static void
limited(int limit)
{
	weft_group g = { .limit = limit };

	ran = at_once = at_most = 0;
	for (int i = 0; i < 500; i++)
		weft_group_go(&g, count_in_and_out, NULL);
	EQ(weft_group_wait(&g), 0);
	EQ(ran, 500);
	EQ(at_once, 0);
	OK(at_most >= 1 && at_most <= limit);
}

GTEST(limit, 2)
{
	limited(1);
	limited(3);
	limited(20);
}

/* So many, all at once. */
static int
wait_for_others(void *arg)
{
	__atomic_add_fetch(&at_once, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&at_once, __ATOMIC_RELAXED) <
	    (int)(intptr_t)arg)
		weft_yield();
	return 0;
}

GTEST(limit_is_reached, 2)
{
	weft_group g = { .limit = 7 };

	for (int i = 0; i < 7; i++)
		weft_group_go(&g, wait_for_others, num(7));
	EQ(weft_group_wait(&g), 0);
	EQ(at_once, 7);
}

/* Several start members through one limit. */
static int
start_limited(void *arg)
{
	for (int i = 0; i < 300; i++)
		weft_group_go(arg, count_in_and_out, NULL);
	return 0;
}

GTEST(limit_for_many_starters, 4)
{
	weft_group inner = { .limit = 3 }, outer = {0};

	for (int i = 0; i < 8; i++)
		weft_group_go(&outer, start_limited, &inner);
	EQ(weft_group_wait(&outer), 0);
	EQ(weft_group_wait(&inner), 0);
	EQ(ran, 8 * 300);
	OK(at_most <= 3);
	OK(at_most >= 1);
}

GTEST(try_does_not_wait, 1)
{
	weft_group g = { .limit = 2 };
	weft_chan *c = weft_chan_make(0, 0);

	OK(weft_group_try_go(&g, wait_then, c));
	OK(weft_group_try_go(&g, wait_then, c));
	OK(!weft_group_try_go(&g, wait_then, c));
	OK(!weft_group_try_go(&g, wait_then, c));
	weft_chan_send(c, NULL);
	while (weft_goroutines() > 2)
		weft_yield();
	OK(weft_group_try_go(&g, wait_then, c));
	OK(!weft_group_try_go(&g, wait_then, c));
	weft_chan_close(c);
	EQ(weft_group_wait(&g), -EIO);
	g.limit = 0;
	OK(weft_group_try_go(&g, run, NULL));
	EQ(weft_group_wait(&g), 0);
	weft_chan_release(c);
}

/* ---- scopes ---- */

static void
scope(bool leave_early)
{
	WEFT_GROUP(g, .limit = 2);

	for (int i = 0; i < 10; i++)
		weft_group_go(&g, yield_and_run, num(i));
	if (leave_early)
		return;
	EQ(weft_group_wait(&g) != 0, 1);
}

GTEST(leaving_a_scope_waits, 2)
{
	scope(false);
	EQ(ran, 10);
	scope(true);
	EQ(ran, 20);
	{
		WEFT_GROUP(g);

		weft_group_context(&g);		/* unused, and freed */
	}
	EQ(t_leaks(), 0);
}

/* ---- how members end ---- */

static int
exits(void *arg)
{
	(void)arg;
	weft_goexit();
}

GTEST(exit_is_an_end_without_error, 1)
{
	weft_group g = { .limit = 1 };

	for (int i = 0; i < 100; i++)
		weft_group_go(&g, exits, NULL);
	EQ(weft_group_wait(&g), 0);
	weft_group_go(&g, exits, NULL);
	weft_group_go(&g, run, num(4));
	EQ(weft_group_wait(&g), 4);
}

static int
leaves_things(void *arg)
{
	leave_late_work(arg);
	if (weft_self_id() % 2)
		weft_goexit();
	return 0;
}

/* What a member left to do at its end is done when the group has ended. */
GTEST(deferred_calls_belong_to_it, 4)
{
	for (long i = 0; i < t_scale(300); i++) {
		int count = 0;
		weft_group g = { .limit = i % 2 ? 3 : 0 };

		for (int k = 0; k < 10; k++)
			weft_group_go(&g, leaves_things, &count);
		EQ(weft_group_wait(&g), 0);
		EQ(count, 20);
	}
	EQ(t_leaks(), 0);
}

/* ---- functions of any type ---- */

static int
scaled(double x, int by, const char *unit)
{
	return unit[0] == 'k' ? (int)(x * by) : -EINVAL;
}

static int
eight(char a, short b, int c, long d, float e, double f, bool g, int *h)
{
	*h = (int)(a + b + c + d + (long)e + (long)f + g);
	return 0;
}

static int none(void) { return 21; }
static int both(int a, int b) { return a - b; }

GTEST(any_arguments, 2)
{
	weft_group g = {0};
	int sum = 0;

	weft_group_go(&g, eight, 1, 2, 3, 4L, 5.0f, 6.0, true, &sum);
	EQ(weft_group_wait(&g), 0);
	EQ(sum, 22);
	weft_group_go(&g, scaled, 1.5, 1000, "k");
	EQ(weft_group_wait(&g), 1500);
	weft_group_go(&g, scaled, 1, 1L, "m");
	EQ(weft_group_wait(&g), -EINVAL);
	weft_group_go(&g, none);
	EQ(weft_group_wait(&g), 21);
	OK(weft_group_try_go(&g, both, 3, 5));
	EQ(weft_group_wait(&g), -2);
	OK(weft_group_spawn(&g, run, num(-7)) > 0);
	EQ(weft_group_wait(&g), -7);
}

/* ---- waiting with a limit ---- */

/* One processor, and no signal: only the calls let the member run. */
static int
sets(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	return 0;
}

GTEST(polling_yields, 1)
{
	weft_group g = { .limit = 1 };
	int flag = 0;

	weft_preempt_off();
	weft_group_go(&g, sets, &flag);
	while (!weft_group_try_go(&g, sets, &flag))
		;
	while (!weft_group_wait_until(&g, NULL, 1))
		;
	EQ(flag, 1);
	weft_preempt_on();
}

GTEST(wait_until, 2)
{
	weft_chan *c = weft_chan_make(0, 0);
	weft_group g = {0};
	int r = 77;

	OK(weft_group_wait_until(&g, &r, 1));	/* none runs: whatever */
	EQ(r, 0);
	r = 77;
	weft_group_go(&g, wait_then, c);
	OK(!weft_group_wait_until(&g, &r, 1));
	OK(!weft_group_wait_until(&g, &r, weft_deadline(2 * WEFT_MS)));
	EQ(r, 77);
	weft_group_go(&g, run, NULL);		/* it goes on as before */
	weft_chan_close(c);
	OK(weft_group_wait_until(&g, &r, 0));
	EQ(r, -EIO);
	OK(weft_group_wait_until(&g, NULL, weft_deadline(WEFT_SECOND)));
	weft_chan_release(c);
}

static void
cancel_soon(weft_context *ctx)
{
	for (int i = 0; i < 20; i++)
		weft_yield();
	weft_context_cancel(ctx, 0);
}

GTEST(wait_context, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_chan *c = weft_chan_make(0, 0);
	weft_group g = {0};
	int r = 77;

	weft_group_go(&g, wait_then, c);
	weft_go(cancel_soon, ctx);
	OK(!weft_group_wait_context(&g, &r, ctx));
	OK(!weft_group_wait_context(&g, &r, ctx));	/* it is already */
	EQ(r, 77);
	weft_chan_close(c);
	OK(weft_group_wait_context(&g, &r, NULL));
	EQ(r, -EIO);
	OK(weft_group_wait_context(&g, &r, ctx));	/* none runs */
	EQ(r, 0);
	weft_context_release(ctx);
	weft_chan_release(c);
}

/* ---- plain threads ---- */

static void *
plainly(void *arg)
{
	weft_group g = { .limit = 2 };

	for (int i = 0; i < 200; i++)
		weft_group_go(&g, yield_and_run, NULL);
	EQ(weft_group_wait(&g), 0);
	weft_group_go(&g, until_cancelled, weft_group_context(&g));
	weft_group_go(&g, run, num(-EDOM));
	EQ(weft_group_wait(&g), -EDOM);
	return arg;
}

GTEST(from_plain_threads, 2)
{
	pthread_t t[3];

	threads_start(t, 3, plainly, NULL);
	while (__atomic_load_n(&ran, __ATOMIC_RELAXED) < 3 * 201)
		weft_yield();
	threads_join(t, 3);
	EQ(ran, 3 * 201);
}

TEST(without_a_runtime)
{
	weft_group g = { .limit = 1 };

	EQ(weft_group_spawn(&g, run, NULL), -EPERM);
	EQ(weft_group_spawn(&g, run, NULL), -EPERM);	/* nothing was taken */
	OK(weft_group_context(&g) != NULL);
	EQ(weft_group_wait(&g), 0);
	EQ(ran, 0);
}

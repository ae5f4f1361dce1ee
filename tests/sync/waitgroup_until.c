/* SPDX-License-Identifier: MIT */
/* weft_waitgroup_wait_until and _context, on goroutines and plain threads. */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

/* ---- alone ---- */

static void
alone(void)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_waitgroup wg = {0};
	int64_t when;

	weft_context_cancel(ctx, 0);
	OK(weft_waitgroup_wait_until(&wg, -1));
	OK(weft_waitgroup_wait_until(&wg, 0));
	OK(weft_waitgroup_wait_context(&wg, ctx));
	OK(weft_waitgroup_wait_context(&wg, NULL));
	weft_waitgroup_add(&wg, 2);
	OK(!weft_waitgroup_wait_context(&wg, ctx));
	OK(!weft_waitgroup_wait_until(&wg, -1));
	OK(!weft_waitgroup_wait_until(&wg, INT64_MIN));
	when = weft_deadline(2 * WEFT_MS);
	OK(!weft_waitgroup_wait_until(&wg, when));
	OK(weft_now() >= when);
	weft_context_release(ctx);
	when = weft_deadline(2 * WEFT_MS);
	ctx = weft_context_make_until(NULL, when);
	OK(!weft_waitgroup_wait_context(&wg, ctx));
	OK(weft_now() >= when);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	weft_waitgroup_add(&wg, -2);
	OK(weft_waitgroup_wait_context(&wg, ctx));
	EQ(wg.state_, 0);
	EQ(wg.sema_, 0);
	weft_context_release(ctx);
}
ON_ALL(alone)

TEST(without_a_runtime)
{
	alone();
	thread_call(alone);
}

GTEST(on_a_thread, 2) { thread_call_parked(alone); }

/* ---- several, of which some give up ---- */

struct crowd {
	weft_waitgroup gate, ended;
	weft_context *ctx, *never;
	int opened;		/* plain: written before the gate opens */
	int through, gave_up;	/* atomic */
};

static void
pass(struct crowd *c)
{
	EQ(c->opened, 1);
	__atomic_add_fetch(&c->through, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&c->ended);
}

static void
wait_without(struct crowd *c)
{
	OK(weft_waitgroup_wait_until(&c->gate, 0));
	pass(c);
}

static void
wait_long(struct crowd *c)
{
	OK(weft_waitgroup_wait_until(&c->gate,
	    weft_deadline(50 * WEFT_SECOND)));
	pass(c);
}

static void
wait_context(struct crowd *c)
{
	OK(weft_waitgroup_wait_context(&c->gate, c->never));
	pass(c);
}

static void
give_up(struct crowd *c)
{
	OK(!weft_waitgroup_wait_context(&c->gate, c->ctx));
	__atomic_add_fetch(&c->gave_up, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&c->ended);
}

PLAIN_THREAD(wait_plainly, wait_long(arg))

PLAIN_THREAD(give_up_plainly, give_up(arg))

static void
await_waiters(struct crowd *c, uint32_t n)
{
	while ((uint32_t)__atomic_load_n(&c->gate.state_, __ATOMIC_RELAXED) !=
	    n)
		weft_yield();
}

static void
crowd(void)
{
	struct crowd c = { .ctx = weft_context_make(NULL),
	    .never = weft_context_make(NULL) };
	pthread_t t[2];

	weft_waitgroup_add(&c.gate, 1);
	weft_waitgroup_add(&c.ended, 42);
	for (int i = 0; i < 10; i++) {
		weft_go(wait_without, &c);
		weft_go(wait_long, &c);
		weft_go(wait_context, &c);
		weft_go(give_up, &c);
	}
	EQ(pthread_create(&t[0], NULL, wait_plainly, &c), 0);
	EQ(pthread_create(&t[1], NULL, give_up_plainly, &c), 0);
	await_waiters(&c, 42);
	weft_context_cancel(c.ctx, 0);
	await_waiters(&c, 31);
	c.opened = 1;
	weft_waitgroup_done(&c.gate);
	weft_waitgroup_wait(&c.ended);
	EQ(c.through, 31);
	EQ(c.gave_up, 11);
	EQ(c.gate.state_, 0);
	EQ(c.gate.sema_, 0);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	weft_context_release(c.ctx);
	weft_context_release(c.never);
}
ON_ALL(crowd)

/* ---- the counter is at zero before the waiter gives up ---- */

GTEST(the_last_done_is_first, 1)
{
	struct crowd c = { .never = weft_context_make(NULL), .opened = 1 };

	for (int round = 0; round < 3; round++) {
		weft_waitgroup_add(&c.gate, 1);
		weft_waitgroup_add(&c.ended, 2);
		weft_go(wait_context, &c);
		weft_go(wait_without, &c);
		await_waiters(&c, 2);
		weft_context_cancel(c.never, 0);
		weft_waitgroup_done(&c.gate);
		EQ(c.gate.state_, 0);
		EQ(c.gate.sema_, 1);	/* its unit, which it fetches */
		weft_waitgroup_wait(&c.ended);
		EQ(c.gate.sema_, 0);
		weft_context_release(c.never);
		c.never = weft_context_make(NULL);
	}
	EQ(c.through, 6);
	weft_context_release(c.never);
}

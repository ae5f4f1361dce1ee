/* SPDX-License-Identifier: MIT */
/* weft_mutex_lock_until and _context, on goroutines and plain threads. */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static void
taken_at_once(void)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_mutex m = {0};

	weft_context_cancel(ctx, 0);
	OK(weft_mutex_lock_until(&m, -1));
	OK(!weft_mutex_try_lock(&m));
	weft_mutex_unlock(&m);
	OK(weft_mutex_lock_until(&m, 0));
	weft_mutex_unlock(&m);
	OK(weft_mutex_lock_until(&m, INT64_MIN));
	weft_mutex_unlock(&m);
	OK(weft_mutex_lock_context(&m, ctx));
	OK(!weft_mutex_try_lock(&m));
	weft_mutex_unlock(&m);
	OK(weft_mutex_lock_context(&m, NULL));
	weft_mutex_unlock(&m);
	EQ(m.state_, 0);
	weft_context_release(ctx);
}

static void
never_early(void)
{
	weft_mutex m = {0};
	weft_context *ctx;
	int64_t when;

	weft_mutex_lock(&m);
	OK(!weft_mutex_lock_until(&m, -1));
	OK(!weft_mutex_lock_until(&m, INT64_MIN));
	OK(!weft_mutex_lock_until(&m, weft_now()));
	when = weft_deadline(2 * WEFT_MS);
	OK(!weft_mutex_lock_until(&m, when));
	OK(weft_now() >= when);
	when = weft_deadline(2 * WEFT_MS);
	ctx = weft_context_make_until(NULL, when);
	OK(!weft_mutex_lock_context(&m, ctx));
	OK(weft_now() >= when);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	OK(!weft_mutex_lock_context(&m, ctx));
	weft_mutex_unlock(&m);
	EQ(m.state_, 0);
	weft_context_release(ctx);
}

static void
alone(void)
{
	taken_at_once();
	never_early();
}
ON_ALL(alone)

TEST(without_a_runtime)
{
	alone();
	thread_call(alone);
}

GTEST(on_a_thread, 2) { thread_call_parked(alone); }

/* ---- those that wait are let in ---- */

struct line {
	weft_mutex m;
	weft_waitgroup wg;
	weft_context *ctx;
	int64_t when;
	int n;			/* under m */
};

static void
lock(struct line *l, bool by_context)
{
	if (by_context)
		OK(weft_mutex_lock_context(&l->m, l->ctx));
	else
		OK(weft_mutex_lock_until(&l->m, l->when));
	l->n++;
	weft_mutex_unlock(&l->m);
	weft_waitgroup_done(&l->wg);
}

static void
give_up(struct line *l)
{
	OK(!weft_mutex_lock_context(&l->m, l->ctx));
	EQ(weft_context_error(l->ctx), -ECANCELED);
	weft_waitgroup_done(&l->wg);
}

PLAIN_THREAD(lock_until_plainly, lock(arg, false))

PLAIN_THREAD(give_up_plainly, give_up(arg))

static void
await_queue(struct line *l, uint32_t n)
{
	while (__atomic_load_n(&l->m.state_, __ATOMIC_RELAXED) >> 3 < n)
		weft_yield();
}

static void
let_in(int64_t when)
{
	struct line l = { .when = when, .ctx = weft_context_make(NULL) };
	pthread_t t;

	weft_mutex_lock(&l.m);
	weft_waitgroup_add(&l.wg, 21);
	for (int i = 0; i < 10; i++) {
		weft_go(lock, &l, false);
		weft_go(lock, &l, true);
	}
	EQ(pthread_create(&t, NULL, lock_until_plainly, &l), 0);
	await_queue(&l, 21);
	weft_mutex_unlock(&l.m);
	weft_waitgroup_wait(&l.wg);
	pthread_join(t, NULL);
	EQ(l.n, 21);
	EQ(l.m.state_, 0);
	weft_context_release(l.ctx);
}

static void
those_that_wait(void)
{
	let_in(0);
	let_in(WEFT_NEVER);
	let_in(weft_deadline(50 * WEFT_SECOND));
}
ON_ALL(those_that_wait)

/* Between others, of which each gets its turn. */
static void
some_give_up(void)
{
	struct line l = { .ctx = weft_context_make(NULL) };
	pthread_t t;

	weft_mutex_lock(&l.m);
	weft_waitgroup_add(&l.wg, 21);
	for (int i = 0; i < 10; i++) {
		weft_go(lock, &l, false);
		weft_go(give_up, &l);
	}
	EQ(pthread_create(&t, NULL, give_up_plainly, &l), 0);
	await_queue(&l, 21);
	weft_context_cancel(l.ctx, 0);
	weft_mutex_unlock(&l.m);
	weft_waitgroup_wait(&l.wg);
	pthread_join(t, NULL);
	EQ(l.n, 10);
	EQ(l.m.state_, 0);
	weft_context_release(l.ctx);
}
ON_ALL(some_give_up)

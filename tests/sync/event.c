/* SPDX-License-Identifier: MIT */
/* weft_event, between goroutines and plain threads alike. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { GOROUTINES = 20, THREADS = 4 };

struct news {
	weft_event e;
	weft_waitgroup started, ended;
	int value;		/* plain: a goroutine that waited sees it */
	weft_context *ctx;
};

/* Each in one of the ways there are to wait. */
static void
hear(struct news *n, int how)
{
	weft_waitgroup_done(&n->started);
	switch (how % 4) {
	case 0:
		weft_event_wait(&n->e);
		break;
	case 1:
		OK(weft_event_wait_until(&n->e,
		    weft_deadline(50 * WEFT_SECOND)));
		break;
	case 2:
		OK(weft_event_wait_context(&n->e, n->ctx));
		break;
	case 3:
		while (!weft_event_is_set(&n->e))
			weft_yield();
	}
	EQ(n->value, 1);
	weft_waitgroup_done(&n->ended);
}

static void *
hear_plainly(void *arg)
{
	for (int i = 0; i < 4; i++)
		hear(arg, i);
	return NULL;
}

static void
all_hear(void)
{
	for (long r = t_scale(100); r > 0; r--) {
		struct news n = {0};
		pthread_t t[THREADS];

		n.ctx = weft_context_make(NULL);
		weft_waitgroup_add(&n.started, GOROUTINES + 4 * THREADS);
		weft_waitgroup_add(&n.ended, GOROUTINES + 4 * THREADS);
		for (int i = 0; i < GOROUTINES; i++)
			OK(weft_try_go(hear, &n, i) > 0);
		threads_start(t, THREADS, hear_plainly, &n);
		if (r % 2)
			for (int i = 0; i < 10; i++)
				weft_yield();
		OK(!weft_event_is_set(&n.e));
		n.value = 1;
		weft_event_set(&n.e);
		OK(weft_event_is_set(&n.e));
		weft_waitgroup_wait(&n.ended);
		threads_join(t, THREADS);
		weft_context_release(n.ctx);
	}
}
ON_ALL(all_hear)

TEST(without_a_runtime)
{
	struct news n = {0};
	pthread_t t[THREADS];

	weft_waitgroup_add(&n.started, 4 * THREADS);
	weft_waitgroup_add(&n.ended, 4 * THREADS);
	threads_start(t, THREADS, hear_plainly, &n);
	OK(!weft_event_wait_until(&n.e, weft_deadline(WEFT_MS)));
	n.value = 1;
	weft_event_set(&n.e);
	threads_join(t, THREADS);
}

GTEST(known_means_no_waiting, 1)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_event e = {0};
	weft_stats before, after;

	weft_stats_read(&before, sizeof before);
	weft_event_set(&e);
	weft_event_set(&e);
	weft_event_wait(&e);
	OK(weft_event_wait_until(&e, 0));
	OK(weft_event_wait_until(&e, -1));
	OK(weft_event_wait_context(&e, NULL));
	weft_context_cancel(ctx, 0);
	OK(weft_event_wait_context(&e, ctx));
	weft_stats_read(&after, sizeof after);
	EQ(after.parks, before.parks);
	weft_context_release(ctx);
}

/* ---- not yet ---- */

static void
until_is_never_early(void)
{
	weft_event e = {0};
	int64_t when = weft_deadline(2 * WEFT_MS);

	OK(!weft_event_wait_until(&e, -1));
	OK(!weft_event_wait_until(&e, when));
	OK(weft_now() >= when);
	OK(!weft_event_is_set(&e));
	weft_event_set(&e);
	OK(weft_event_wait_until(&e, 0));
	weft_event_reset(&e);
	OK(!weft_event_is_set(&e));
	OK(!weft_event_wait_until(&e, weft_now()));
}
ON_ALL(until_is_never_early)

static void
set_late(weft_event *e)
{
	weft_sleep(2 * WEFT_MS);
	weft_event_set(e);
}

static void
zero_is_no_limit(void)
{
	weft_event e = {0};

	OK(weft_try_go(set_late, &e) > 0);
	OK(weft_event_wait_until(&e, 0));
	weft_event_reset(&e);
	OK(weft_try_go(set_late, &e) > 0);
	OK(weft_event_wait_context(&e, NULL));
}
ON_ALL(zero_is_no_limit)

static void
cancel_all(weft_context *ctx, int yields)
{
	while (yields-- > 0)
		weft_yield();
	weft_context_cancel(ctx, -EPIPE);
}

static void
not_to_be(weft_context *ctx, weft_event *e, weft_waitgroup *wg)
{
	OK(!weft_event_wait_context(e, ctx));
	EQ(weft_context_error(ctx), -ECANCELED);
	weft_waitgroup_done(wg);
}

struct doubt {
	weft_context *ctx;
	weft_event *e;
	weft_waitgroup *wg;
};

THREAD_JOB(not_plainly, struct doubt, d, not_to_be(d->ctx, d->e, d->wg))

static void
cancelled(void)
{
	for (long r = t_scale(200); r > 0; r--) {
		weft_context *ctx = weft_context_make(NULL);
		weft_waitgroup wg = {0};
		weft_event e = {0};
		struct doubt d = { ctx, &e, &wg };
		pthread_t t;

		weft_waitgroup_add(&wg, 11);
		for (int i = 0; i < 10; i++)
			OK(weft_try_go(not_to_be, ctx, &e, &wg) > 0);
		EQ(pthread_create(&t, NULL, not_plainly, &d), 0);
		OK(weft_try_go(cancel_all, ctx, (int)(r % 20)) > 0);
		weft_waitgroup_wait(&wg);
		pthread_join(t, NULL);
		OK(!weft_event_wait_context(&e, ctx));
		weft_context_release(ctx);
	}
}
ON_ALL(cancelled)

static void
deadline_of_a_context(void)
{
	int64_t when = weft_deadline(2 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);
	weft_event e = {0};

	OK(!weft_event_wait_context(&e, ctx));
	OK(weft_now() >= when);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	weft_context_release(ctx);
}
ON_ALL(deadline_of_a_context)

/* ---- again ---- */

struct lamp {
	weft_event on, off;
	weft_waitgroup wg;
	int rounds;
	int value;		/* plain: whose turn it is follows the events */
};

static void
follow(struct lamp *l)
{
	for (int i = 0; i < l->rounds; i++) {
		weft_event_wait(&l->on);
		weft_event_reset(&l->on);
		EQ(l->value, 2 * i + 1);
		l->value++;
		weft_event_set(&l->off);
	}
	weft_waitgroup_done(&l->wg);
}

PLAIN_THREAD(follow_plainly, follow(arg))

static void
lead(struct lamp *l)
{
	for (int i = 0; i < l->rounds; i++) {
		EQ(l->value, 2 * i);
		l->value++;
		weft_event_set(&l->on);
		while (!weft_event_wait_until(&l->off,
		    i % 8 ? 0 : weft_deadline(20 * WEFT_US)))
			weft_yield();
		weft_event_reset(&l->off);
	}
}

static void
on_and_off(void)
{
	struct lamp l = { .rounds = (int)t_scale(3000) };
	pthread_t t;

	weft_waitgroup_add(&l.wg, 1);
	OK(weft_try_go(follow, &l) > 0);
	lead(&l);
	weft_waitgroup_wait(&l.wg);
	l.value = 0;
	weft_waitgroup_add(&l.wg, 1);
	EQ(pthread_create(&t, NULL, follow_plainly, &l), 0);
	lead(&l);
	weft_waitgroup_wait(&l.wg);
	pthread_join(t, NULL);
}
ON_ALL(on_and_off)

/* ---- lifetime ---- */

static void
tell(weft_event *e)
{
	weft_event_set(e);
}

/* A waiter that has seen it may free it, though set may not have returned. */
static void
freed_when_known(void)
{
	for (long r = t_scale(5000); r > 0; r--) {
		weft_event *e = calloc(1, sizeof *e);

		OK(weft_try_go(tell, e) > 0);
		if (r % 3 == 0)
			while (!weft_event_is_set(e))
				weft_yield();
		else if (r % 3 == 1)
			weft_event_wait(e);
		else
			while (!weft_event_wait_until(e,
			    weft_deadline(WEFT_US)))
				weft_yield();
		free(e);
	}
}
ON_ALL(freed_when_known)

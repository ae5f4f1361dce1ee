/* SPDX-License-Identifier: MIT */
/*
 * No processor is idle, or there is none: what is due is seen to all the same,
 * by goroutines that run or by a waiter. The limits are far from what happens
 * and from what would happen otherwise, which is seconds or never.
 */
#include "busy.h"
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <weft.h>

static atomic_bool done;

/* Gives no processor away. False if it was in vain. */
static bool
compute_until_done(int64_t ns)
{
	int64_t end = weft_now() + ns;

	while (!done && weft_now() < end)
		;
	return done;
}

/* Lets others run now and then. */
static void
worker(int64_t ns)
{
	while (!done) {
		busy_for(ns);
		weft_yield();
	}
}

/* ---- contexts ---- */

GTEST(a_deadline_is_seen_by_the_caller, 1)
{
	weft_context *ctx = weft_context_make_until(NULL,
	    weft_deadline(WEFT_MS));
	weft_context *child = weft_context_make(ctx);
	int64_t end = weft_deadline(20 * WEFT_SECOND);

	while (!weft_context_error(child) && weft_now() < end)
		;
	EQ(weft_context_error(child), -ETIMEDOUT);
	EQ(weft_context_cause(child), -ETIMEDOUT);
	EQ(weft_context_cause(ctx), -ETIMEDOUT);
	OK(!weft_chan_recv(weft_context_done(ctx), NULL));
	OK(!weft_chan_recv(weft_context_done(child), NULL));
	weft_context_release(child);
	weft_context_release(ctx);
}

GTEST(a_deadline_is_the_first_cause, 1)
{
	weft_context *ctx = weft_context_make_until(NULL,
	    weft_deadline(WEFT_MS));

	busy_for(5 * WEFT_MS);
	EQ(weft_context_cause(ctx), -ETIMEDOUT);
	weft_context_cancel(ctx, 7);
	EQ(weft_context_cause(ctx), -ETIMEDOUT);
	weft_context_release(ctx);
}

static void
wait_with_deadline(void)
{
	weft_context *ctx = weft_context_make_until(NULL,
	    weft_deadline(WEFT_MS));
	weft_context *child = weft_context_make(ctx);
	weft_event e = {0};
	weft_sem s = WEFT_SEM(1);

	OK(!weft_event_wait_context(&e, ctx));
	OK(!weft_event_wait_context(&e, child));
	weft_context_release(child);
	weft_context_release(ctx);
	ctx = weft_context_make_until(NULL, weft_deadline(WEFT_MS));
	OK(!weft_sem_acquire_context(&s, 2, ctx));
	OK(weft_now() >= weft_context_deadline(ctx));
	weft_context_release(ctx);
}

static void *
wait_plainly(void *arg)
{
	wait_with_deadline();
	done = true;
	return arg;
}

TEST(a_deadline_without_a_runtime) { wait_with_deadline(); }

GTEST(a_deadline_of_a_thread, 1)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, wait_plainly, NULL), 0);
	OK(compute_until_done(20 * WEFT_SECOND));
	EQ(pthread_join(t, NULL), 0);
}

/* ---- timers ---- */

static void *
await_timers(void *arg)
{
	int64_t end = weft_deadline(10 * WEFT_SECOND);

	for (int i = 0; i < 10; i++) {
		weft_chan *c = weft_after(WEFT_MS);

		EQ(weft_chan_recv_until(c, NULL, end), true);
		weft_chan_release(c);
	}
	done = true;
	return arg;
}

static void
timers_of_a_thread(int workers)
{
	pthread_t t;

	for (int i = 0; i < workers; i++)
		weft_go(worker, 2 * WEFT_MS);
	EQ(pthread_create(&t, NULL, await_timers, NULL), 0);
	worker(2 * WEFT_MS);
	EQ(pthread_join(t, NULL), 0);
}

GTEST(timers_of_a_thread_on_one, 1) { timers_of_a_thread(2); }
GTEST(timers_of_a_thread_on_two, 2) { timers_of_a_thread(4); }

static atomic_int working;

static void
work_elsewhere(void)
{
	working++;
	worker(6 * WEFT_MS);
}

static void
tell(void *arg)
{
	(void)arg;
	done = true;
}

/*
 * A timer is set on a processor that is stuck from then on, while the other
 * always has a goroutine to run: that one still looks around, after some tens
 * of switches and not only after a thousand.
 */
GTEST(timers_of_a_stuck_processor, 2)
{
	weft_timer *t;

	for (int i = 0; i < 6; i++)
		weft_go(work_elsewhere);
	while (working < 2)
		;
	t = weft_after_func(10 * WEFT_MS, tell, NULL);
	OK(compute_until_done(4 * WEFT_SECOND));
	done = true;
	weft_timer_free(t);
}

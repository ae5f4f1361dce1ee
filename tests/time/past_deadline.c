/* SPDX-License-Identifier: MIT */
/*
 * Limits at the beginning of time: so long ago that the distance from now has
 * no number. Every wait is over at once, and the timers that follow are not
 * confused.
 */
#include "plain_thread.h"
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <weft.h>

static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -1 };
enum { TIMES = sizeof times / sizeof times[0] };

static void
wait_with_context(int64_t when)
{
	weft_context *ctx = weft_context_make_until(NULL, when);
	weft_event e = {0};
	weft_sem s = WEFT_SEM(1);

	OK(!weft_event_wait_context(&e, ctx));
	OK(!weft_sem_acquire_context(&s, 2, ctx));
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	weft_context_release(ctx);
}

static void
wait_until(int64_t when)
{
	weft_event e = {0};
	weft_sem s = WEFT_SEM(1);
	weft_cond cond = {0};
	weft_mutex m = {0};
	weft_chan *c = weft_chan_make(0, 0);
	weft_case k[] = {
		WEFT_CASE_RECV(c, NULL), WEFT_CASE_SEND_FROM(c, NULL)
	};

	weft_sleep_until(when);
	OK(!weft_event_wait_until(&e, when));
	OK(!weft_sem_acquire_until(&s, 2, when));
	weft_mutex_lock(&m);
	OK(!weft_cond_wait_until(&cond, &m, when));
	weft_mutex_unlock(&m);
	EQ(weft_chan_recv_until(c, NULL, when), false);
	EQ(weft_chan_send_until(c, NULL, when), false);
	EQ(weft_select_until(k, 2, when), -ETIMEDOUT);
	EQ(weft_select_until(NULL, 0, when), -ETIMEDOUT);
	weft_chan_release(c);
	wait_with_context(when);
}

static void
each_time(void)
{
	for (int i = 0; i < TIMES; i++) {
		wait_until(times[i]);
		wait_until(weft_deadline(times[i]));
	}
}

TEST(without_a_runtime) { each_time(); }
GTEST(on_one, 1) { each_time(); }
GTEST(on_two, 2) { each_time(); }

GTEST(on_a_thread, 2) { thread_call_parked(each_time); }

/* ---- and then a time of today ---- */

static void
wait_and_tell(weft_waitgroup *wg)
{
	weft_event e = {0};

	OK(!weft_event_wait_until(&e, INT64_MIN));
	weft_waitgroup_done(wg);
}

static void
some_wait(int n)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		weft_go(wait_and_tell, &wg);
	weft_waitgroup_wait(&wg);
}

static void *
await_a_timer(void *done)
{
	weft_chan *c = weft_after(WEFT_MS);

	OK(weft_chan_recv_until(c, NULL, weft_deadline(20 * WEFT_SECOND)));
	weft_chan_release(c);
	weft_event_set(done);
	return NULL;
}

/* All are idle, and a thread waits for what was set last, not before. */
GTEST(no_time_is_missed_after_it, 3)
{
	for (int i = 0; i < t_scale(100); i++) {
		weft_event done = {0};
		pthread_t t;

		some_wait(4);
		if (i % 8 == 0)
			weft_sleep(200 * WEFT_US);
		EQ(pthread_create(&t, NULL, await_a_timer, &done), 0);
		weft_event_wait(&done);
		EQ(pthread_join(t, NULL), 0);
	}
}

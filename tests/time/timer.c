/* SPDX-License-Identifier: MIT */
/*
 * Timers with a channel: one value, which is the time, never early, and none
 * that was stopped or set anew.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"
#include "timer_expect.h"

static weft_waitgroup all;

/* The value that there must be: of between due and now. */
static void
receive_due(weft_chan *c, int64_t due)
{
	int64_t v = weft_recv(c, int64_t);

	OK(v >= due);
	OK(v <= weft_now());
	nothing_there(c);
}

/* ---- it fires ---- */

static void
fire(int64_t ns)
{
	int64_t due = ns > 0 ? weft_now() + ns : weft_now();
	weft_timer *t = weft_timer_make(ns);
	weft_chan *c;

	OK(t != NULL);
	c = weft_timer_chan(t);
	OK(c != NULL && c == weft_timer_chan(t));
	EQ(weft_chan_len(c), 0);
	EQ(weft_chan_cap(c), 0);
	receive_due(c, due);
	EQ(weft_timer_stop(t), false);
	nothing_there(c);
	weft_timer_free(t);
}

static void
fire_some(void)
{
	for_short_times(fire);
	for (long i = 0; i < t_scale(500); i++)
		fire(i * 211);
}

GTEST(gives_the_time_on_one, 1) { fire_some(); }
GTEST(gives_the_time_on_four, 4) { fire_some(); }

GTEST(one_value_only, 2)
{
	weft_timer *t = weft_timer_make(WEFT_MS);

	weft_chan_recv(weft_timer_chan(t), NULL);
	nothing_comes(weft_timer_chan(t), 30 * WEFT_MS);
	weft_timer_free(t);
}

/* It has fired and waits to be fetched, for as long as one likes. */
GTEST(fetched_late, 2)
{
	int64_t due = weft_deadline(5 * WEFT_MS), v;
	weft_timer *t = weft_timer_make(5 * WEFT_MS);
	weft_chan *c = weft_timer_chan(t);

	weft_sleep(30 * WEFT_MS);
	EQ(weft_chan_len(c), 0);
	EQ(weft_chan_cap(c), 0);
	EQ(weft_chan_recv_until(c, &v, weft_deadline(10 * WEFT_SECOND)), true);
	OK(v >= due && v <= weft_now());
	nothing_comes(c, 20 * WEFT_MS);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
}

/*
 * A goroutine that only looks sees it some day, also alone on one processor.
 * Five seconds are enough.
 */
static void
poll_for_it(int64_t ns)
{
	int64_t due = weft_deadline(ns), v;
	weft_timer *t = weft_timer_make(ns);
	weft_chan *c = weft_timer_chan(t);
	bool got;

	do
		got = weft_chan_try_recv(c, &v);
	while (!got && weft_now() < due + 5 * WEFT_SECOND);
	OK(got);
	OK(!got || (v >= due && v <= weft_now()));
	weft_timer_free(t);
}

GTEST(seen_by_polling, 1)
{
	poll_for_it(0);
	poll_for_it(5 * WEFT_MS);
}

GTEST(seen_by_polling_on_two, 2)
{
	poll_for_it(0);
	poll_for_it(5 * WEFT_MS);
}

GTEST(seen_by_polling_select, 1)
{
	int64_t due = weft_deadline(5 * WEFT_MS), v;
	weft_timer *t = weft_timer_make(5 * WEFT_MS);
	weft_case cases[] = {
		WEFT_CASE_RECV(weft_timer_chan(t), &v), WEFT_CASE_DEFAULT
	};
	int k;

	do
		k = weft_select(cases, 2);
	while (k == 1 && weft_now() < due + 5 * WEFT_SECOND);
	EQ(k, 0);
	OK(k != 0 || (cases[0].ok && v >= due && v <= weft_now()));
	weft_timer_free(t);
}

/* ---- stopping ---- */

GTEST(stop_while_pending, 2)
{
	weft_timer *t = weft_timer_make(HOUR);

	nothing_there(weft_timer_chan(t));
	EQ(weft_timer_stop(t), true);
	EQ(weft_timer_stop(t), false);
	nothing_comes(weft_timer_chan(t), WEFT_MS);
	weft_timer_free(t);

	t = weft_timer_make(10 * WEFT_MS);
	EQ(weft_timer_stop(t), true);
	nothing_comes(weft_timer_chan(t), 40 * WEFT_MS);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
}

/* Its time has not been received: that is prevented, however late it is. */
GTEST(stop_before_receipt, 2)
{
	for (int i = 0; i < 20; i++) {
		weft_timer *t = weft_timer_make(i * 100 * WEFT_US);

		weft_sleep(WEFT_MS);
		EQ(weft_timer_stop(t), true);
		nothing_there(weft_timer_chan(t));
		EQ(weft_timer_stop(t), false);
		nothing_comes(weft_timer_chan(t), 3 * WEFT_MS);
		weft_timer_free(t);
	}
}

/* ---- resetting ---- */

GTEST(reset_tells_what_it_did, 2)
{
	weft_timer *t = weft_timer_make(HOUR);
	weft_chan *c = weft_timer_chan(t);
	int64_t due;

	EQ(weft_timer_reset(t, 2 * HOUR), true);
	EQ(weft_timer_stop(t), true);
	EQ(weft_timer_reset(t, HOUR), false);
	due = weft_deadline(10 * WEFT_MS);
	EQ(weft_timer_reset(t, 10 * WEFT_MS), true);
	receive_due(c, due);
	due = weft_deadline(10 * WEFT_MS);
	EQ(weft_timer_reset(t, 10 * WEFT_MS), false);
	receive_due(c, due);
	due = weft_now();
	EQ(weft_timer_reset(t, 0), false);
	receive_due(c, due);
	due = weft_now();
	EQ(weft_timer_reset(t, INT64_MIN), false);
	receive_due(c, due);
	EQ(weft_timer_stop(t), false);
	EQ(weft_timer_reset(t, HOUR), false);
	nothing_comes(c, WEFT_MS);
	EQ(weft_timer_reset(t, HOUR), true);
	weft_timer_free(t);
}

/* What it had put there is gone. */
GTEST(reset_before_receipt, 2)
{
	weft_timer *t = weft_timer_make(0);
	weft_chan *c = weft_timer_chan(t);

	for (int i = 0; i < 20; i++) {
		int64_t due;

		weft_sleep(WEFT_MS);
		EQ(weft_timer_reset(t, HOUR), true);
		nothing_comes(c, WEFT_MS);
		due = weft_deadline(3 * WEFT_MS);
		EQ(weft_timer_reset(t, 3 * WEFT_MS), true);
		receive_due(c, due);
		EQ(weft_timer_reset(t, i % 3 * WEFT_US), false);
	}
	weft_timer_free(t);
}

GTEST(reset_to_earlier, 1)
{
	int64_t start = weft_now();
	weft_timer *t = weft_timer_make(HOUR);

	EQ(weft_timer_reset(t, 10 * WEFT_MS), true);
	receive_due(weft_timer_chan(t), start + 10 * WEFT_MS);
	OK(weft_now() < start + 30 * WEFT_SECOND);
	weft_timer_free(t);
}

GTEST(reset_to_later, 1)
{
	weft_timer *t = weft_timer_make(20 * WEFT_MS);
	int64_t due = weft_deadline(60 * WEFT_MS);

	EQ(weft_timer_reset(t, 60 * WEFT_MS), true);
	receive_due(weft_timer_chan(t), due);
	weft_timer_free(t);
}

/* ---- while a goroutine waits on it ---- */

static int waiting;

static void
wait_for(weft_timer *t, int64_t due)
{
	__atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
	receive_due(weft_timer_chan(t), due);
	weft_waitgroup_done(&all);
}

PLAIN_THREAD(wait_for_plainly, wait_for(arg, weft_deadline(20 * WEFT_MS)))

/* Nearly surely it waits: it said so, and had time to. */
static void
let_it_wait(int n)
{
	while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < n)
		weft_yield();
	weft_sleep(2 * WEFT_MS);
}

static void
reset_under_a_waiter(bool thread)
{
	weft_timer *t = weft_timer_make(HOUR);
	pthread_t p = 0;

	weft_waitgroup_add(&all, 1);
	if (thread)
		EQ(pthread_create(&p, NULL, wait_for_plainly, t), 0);
	else
		weft_go(wait_for, t, weft_deadline(20 * WEFT_MS));
	let_it_wait(1);
	EQ(weft_timer_reset(t, 2 * HOUR), true);
	weft_yield();
	EQ(weft_timer_stop(t), true);
	let_it_wait(1);
	EQ(weft_timer_stop(t), false);
	EQ(weft_timer_reset(t, HOUR), false);
	EQ(weft_timer_reset(t, 30 * WEFT_MS), true);
	weft_waitgroup_wait(&all);
	if (thread)
		pthread_join(p, NULL);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
}

GTEST(reset_under_a_waiter_on_one, 1) { reset_under_a_waiter(false); }
GTEST(reset_under_a_waiter_on_four, 4) { reset_under_a_waiter(false); }
GTEST(reset_under_a_waiting_thread, 2) { reset_under_a_waiter(true); }

/* Many wait on one: each firing serves one of them. */
static void
many_wait_for_one(int n)
{
	weft_timer *t = weft_timer_make(HOUR);

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(wait_for, t, weft_now());
	let_it_wait(n);
	for (int i = 0; i < n; i++) {
		EQ(weft_goroutines(), 1 + n - i);
		EQ(weft_timer_reset(t, i % 3 * 50 * WEFT_US), i == 0);
		while (weft_goroutines() > n - i)
			weft_yield();
	}
	weft_waitgroup_wait(&all);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
}

GTEST(many_wait_for_one_on_one, 1) { many_wait_for_one(100); }
GTEST(many_wait_for_one_on_four, 4) { many_wait_for_one(100); }

/* ---- select ---- */

GTEST(select_takes_what_fires, 2)
{
	weft_chan *silent = weft_chan_make(8, 0);
	int64_t due = weft_deadline(5 * WEFT_MS), v = 0, w = 0;
	weft_timer *t = weft_timer_make(5 * WEFT_MS);
	weft_timer *late = weft_timer_make(HOUR);
	weft_case cases[] = {
		WEFT_CASE_RECV(silent, &w), WEFT_CASE_SEND_FROM(silent, &w),
		WEFT_CASE_RECV(weft_timer_chan(late), &w),
		WEFT_CASE_RECV(weft_timer_chan(t), &v), WEFT_CASE_RECV(NULL, &w)
	};

	EQ(weft_select(cases, 5), 3);
	OK(cases[3].ok);
	OK(v >= due && v <= weft_now());
	nothing_there(weft_timer_chan(t));
	EQ(weft_timer_stop(t), false);
	EQ(weft_timer_stop(late), true);
	weft_timer_free(t);
	weft_timer_free(late);
	weft_chan_release(silent);
}

static void
send_later(weft_chan *c, int64_t ns)
{
	weft_sleep(ns);
	weft_send(c, INT64_C(5));
}

/* Another case comes first: the timer is as it was. */
GTEST(select_takes_another, 2)
{
	weft_chan *c = weft_chan_make(8, 0);
	weft_timer *t = weft_timer_make(HOUR);

	for (int i = 0; i < 20; i++) {
		int64_t v = 0;
		weft_case cases[] = { WEFT_CASE_RECV(weft_timer_chan(t), NULL),
		    WEFT_CASE_RECV(c, &v) };

		weft_go(send_later, c, i * 10 * WEFT_US);
		EQ(weft_select(cases, 2), 1);
		EQ(v, 5);
		nothing_there(weft_timer_chan(t));
		EQ(weft_timer_reset(t, HOUR), true);
	}
	weft_timer_free(t);
	weft_chan_release(c);
}

GTEST(select_runs_out_of_time, 1)
{
	int64_t due = weft_deadline(5 * WEFT_MS);
	weft_timer *t = weft_timer_make(HOUR);
	weft_case cases[] = { WEFT_CASE_RECV(weft_timer_chan(t), NULL) };

	EQ(weft_select_until(cases, 1, due), -ETIMEDOUT);
	OK(weft_now() >= due);
	EQ(weft_timer_stop(t), true);
	weft_timer_free(t);
}

/* The same timer in several cases, and several timers of one time. */
GTEST(select_with_many_timers, 4)
{
	enum { N = 12 };
	weft_timer *t[N];

	for (int round = 0; round < 50; round++) {
		int64_t due = weft_deadline(500 * WEFT_US), v[N] = {0};
		weft_case cases[2 * N];
		int left = N;

		for (int i = 0; i < N; i++) {
			t[i] = weft_timer_make(500 * WEFT_US);
			cases[i] = WEFT_CASE_RECV(weft_timer_chan(t[i]), &v[i]);
			cases[N + i] = cases[i];
		}
		while (left-- > 0) {
			int k = weft_select(cases, 2 * N);

			OK(k >= 0 && cases[k].ok && v[k % N] >= due);
			cases[k % N].chan = cases[k % N + N].chan = NULL;
		}
		for (int i = 0; i < N; i++) {
			EQ(weft_timer_stop(t[i]), false);
			nothing_there(weft_timer_chan(t[i]));
			weft_timer_free(t[i]);
		}
	}
}

/* ---- its channel ---- */

/* Retained it outlives the timer, and stays empty for ever. */
GTEST(channel_outlives_timer, 2)
{
	for (int i = 0; i < 3; i++) {
		weft_timer *t = weft_timer_make(i * WEFT_MS);
		weft_chan *c = weft_chan_retain(weft_timer_chan(t));

		weft_sleep(WEFT_MS);
		weft_timer_free(t);
		nothing_comes(c, 5 * WEFT_MS);
		weft_chan_release(c);
	}
}

static void
wait_on_retained(weft_chan *c, int64_t due)
{
	receive_due(c, due);
	weft_chan_release(c);
	weft_waitgroup_done(&all);
}

GTEST(channel_has_many_owners, 4)
{
	for (int i = 0; i < 100; i++) {
		int64_t due = weft_deadline(200 * WEFT_US);
		weft_timer *t = weft_timer_make(200 * WEFT_US);

		weft_waitgroup_add(&all, 1);
		weft_go(wait_on_retained, weft_chan_retain(weft_timer_chan(t)),
		    due);
		weft_waitgroup_wait(&all);
		weft_timer_free(t);
	}
}

/* ---- weft_after ---- */

GTEST(after_gives_the_time_once, 2)
{
	for (int i = -1; i < 30; i++) {
		int64_t ns = i * 100 * WEFT_US, due = weft_now() + ns;
		weft_chan *c = weft_after(ns);

		OK(c != NULL);
		EQ(weft_chan_len(c), 0);
		EQ(weft_chan_cap(c), 0);
		receive_due(c, due);
		nothing_comes(c, WEFT_MS);
		weft_chan_release(c);
	}
}

/* Pending, fired, and just about to. */
GTEST(after_released_early, 4)
{
	for (int i = 0; i < 200; i++)
		weft_chan_release(weft_after(HOUR));
	for (int i = 0; i < 200; i++) {
		weft_chan *c = weft_after(i * 10 * WEFT_US);

		if (i % 3 == 0)
			weft_sleep(i * 10 * WEFT_US);
		weft_chan_release(c);
	}
	weft_sleep(5 * WEFT_MS);
}

GTEST(after_never, 2)
{
	static const int64_t some[] = { INT64_MAX, INT64_MAX - 1,
	    INT64_MAX / 2, HOUR };

	for (int i = 0; i < 4; i++) {
		weft_chan *c = weft_after(some[i]);

		nothing_comes(c, 10 * WEFT_MS);
		weft_chan_release(c);
	}
}

static void
hold_and_release(weft_chan *c)
{
	weft_chan_recv(c, NULL);
	weft_chan_release(c);
	weft_waitgroup_done(&all);
}

GTEST(after_with_two_owners, 2)
{
	for (int i = 0; i < 50; i++) {
		weft_chan *c = weft_after(i * 20 * WEFT_US);

		weft_waitgroup_add(&all, 1);
		weft_go(hold_and_release, weft_chan_retain(c));
		weft_chan_release(c);
		weft_waitgroup_wait(&all);
	}
}

GTEST(after_in_select, 2)
{
	weft_chan *silent = weft_chan_make(8, 0);

	for (int i = 0; i < 50; i++) {
		int64_t due = weft_deadline(200 * WEFT_US), v = 0;
		weft_chan *c = weft_after(200 * WEFT_US);
		weft_case cases[] = { WEFT_CASE_RECV(silent, NULL),
		    WEFT_CASE_RECV(c, &v) };

		EQ(weft_select(cases, 2), 1);
		OK(v >= due);
		weft_chan_release(c);
	}
	weft_chan_release(silent);
}

/* ---- beyond the end of the clock ---- */

GTEST(never_is_never, 2)
{
	for (int i = 0; i < NEVER_TIMES; i++) {
		weft_timer *t = make_for_never(weft_timer_make, i,
		    10 * WEFT_MS);

		EQ(weft_timer_reset(t, INT64_MAX - weft_now()), true);
		nothing_comes(weft_timer_chan(t), 10 * WEFT_MS);
		EQ(weft_timer_stop(t), true);
		EQ(weft_timer_reset(t, INT64_MAX), false);
		EQ(weft_timer_stop(t), true);
		weft_timer_free(t);
	}
}

/* Deadlines of channel operations in the past and at the end of time. */
static void
until_the_past(void)
{
	static const int64_t past[] = { INT64_MIN, INT64_MIN + 1, -1, 1 };
	weft_chan *c = weft_chan_make(8, 0);
	weft_case cases[] = {
		WEFT_CASE_RECV(c, NULL), WEFT_CASE_SEND_FROM(c, NULL)
	};

	for (int i = 0; i < 4; i++) {
		EQ(weft_chan_recv_until(c, NULL, past[i]), false);
		EQ(weft_chan_send_until(c, NULL, past[i]), false);
		EQ(weft_select_until(cases, 2, past[i]), -ETIMEDOUT);
		EQ(weft_select_ordered_until(cases, 2, past[i]), -ETIMEDOUT);
		EQ(weft_select_until(NULL, 0, past[i]), -ETIMEDOUT);
		EQ(weft_chan_recv_until(NULL, NULL, past[i]), false);
		EQ(weft_chan_send_until(NULL, NULL, past[i]), false);
	}
	weft_chan_release(c);
}

static void
until_never(void)
{
	weft_timer *t = weft_timer_make(WEFT_MS);
	weft_chan *c = weft_timer_chan(t);
	weft_case cases[] = { WEFT_CASE_RECV(c, NULL) };

	EQ(weft_chan_recv_until(c, NULL, WEFT_NEVER), true);
	EQ(weft_timer_reset(t, WEFT_MS), false);
	EQ(weft_chan_recv_until(c, NULL, 0), true);
	EQ(weft_timer_reset(t, WEFT_MS), false);
	EQ(weft_select_until(cases, 1, 0), 0);
	EQ(weft_timer_reset(t, WEFT_MS), false);
	EQ(weft_select_until(cases, 1, WEFT_NEVER), 0);
	EQ(weft_timer_reset(t, WEFT_MS), false);
	EQ(weft_chan_recv_until(c, NULL, WEFT_NEVER - 1), true);
	EQ(weft_timer_reset(t, WEFT_MS), false);
	EQ(weft_select_until(cases, 1, WEFT_NEVER - 1), 0);
	weft_timer_free(t);
}

static void *
until_plainly(void *arg)
{
	until_the_past();
	until_never();
	return arg;
}

GTEST(until_the_past_and_never, 2)
{
	until_the_past();
	until_never();
}

GTEST(until_the_past_and_never_on_a_thread, 2)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, until_plainly, NULL), 0);
	weft_sleep(5 * WEFT_MS);
	pthread_join(t, NULL);
}

TEST(until_the_past_without_runtime) { until_the_past(); }

/* A goroutine waits on one that is an hour away: that is no deadlock. */
GTEST(pending_is_no_deadlock, 1)
{
	int64_t due = weft_deadline(400 * WEFT_MS);
	weft_timer *t = weft_timer_make(400 * WEFT_MS);

	receive_due(weft_timer_chan(t), due);
	weft_timer_free(t);
}

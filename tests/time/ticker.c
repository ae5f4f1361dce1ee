/* SPDX-License-Identifier: MIT */
/*
 * Tickers: the n-th tick never before n periods, about as many as there should
 * be, missed ones dropped and the rest in phase; none after a stop.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "samples.h"
#include "t.h"
#include "timer_expect.h"

enum { TRIES = 100 };	/* until one is not late because of other programs */

static weft_waitgroup all;

/* Receives n ticks of a ticker set after start. The time the last one had. */
static int64_t
receive_ticks(weft_chan *c, int64_t start, int64_t period, int n)
{
	int64_t last = 0;

	for (int i = 1; i <= n; i++) {
		int64_t v = weft_recv(c, int64_t);

		if (v < start + i * period || v > weft_now() || v <= last)
			t_fail(__FILE__, __LINE__, "a tick of a wrong time");
		last = v;
	}
	EQ(weft_chan_len(c), 0);
	EQ(weft_chan_cap(c), 0);
	return last;
}

/* ---- rate ---- */

/* Are n ticks there within 130 % of the time? Early they never are. */
static bool
keeps_pace(weft_timer *t, int64_t start, int64_t period, int n)
{
	int64_t last;

	last = receive_ticks(weft_timer_chan(t), start, period, n);
	return last - start < n * period * 13 / 10;
}

static void
rate(int64_t period, int n)
{
	bool good = false;

	/* The machine may be busy: one good row of many is enough. */
	for (int i = 0; i < 20 && !good; i++) {
		int64_t start = weft_now();
		weft_timer *t = weft_ticker_make(period);

		good = keeps_pace(t, start, period, n);
		EQ(weft_timer_stop(t), true);
		weft_timer_free(t);
	}
	OK(good);
}

GTEST(rate_on_one, 1)
{
	rate(20 * WEFT_MS, 10);
	rate(10 * WEFT_MS, 10);
}

GTEST(rate_on_four, 4)
{
	rate(20 * WEFT_MS, 10);
	rate(10 * WEFT_MS, 10);
}

PLAIN_THREAD(rate_plainly, rate(10 * WEFT_MS, 10))

GTEST(rate_on_a_thread, 2)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, rate_plainly, NULL), 0);
	weft_sleep(10 * WEFT_MS);
	pthread_join(t, NULL);
}

/* ---- a slow receiver ---- */

/*
 * Sleeps over two ticks and a half, takes the one that was kept, and returns
 * how far the next one is behind a multiple of the period.
 */
static int64_t
skip_and_look(weft_chan *c, int64_t start, int64_t period)
{
	int64_t now = weft_now(), v, next;

	weft_sleep_until(start + ((now - start) / period + 3) * period +
	    period / 2);
	EQ(weft_chan_recv_until(c, &v, weft_deadline(10 * WEFT_SECOND)), true);
	OK(v >= start + period && v <= weft_now());
	next = weft_recv(c, int64_t);
	OK(next > v && next <= weft_now());
	return (next - start) % period;
}

/* The best of some tries: had the phase moved, all were half a period off. */
static void
keeps_phase(int64_t (*look)(weft_chan *c, int64_t start, int64_t period))
{
	int64_t period = 50 * WEFT_MS, start = weft_now(), best = WEFT_NEVER;
	weft_timer *t = weft_ticker_make(period);

	/* Its phase is known if we were not held up in between. */
	while (weft_now() - start > period / 8) {
		weft_timer_free(t);
		start = weft_now();
		t = weft_ticker_make(period);
	}
	for (int i = 0; i < TRIES && best > period / 4; i++) {
		int64_t r = look(weft_timer_chan(t), start, period);

		best = r < best ? r : best;
	}
	OK(best <= period / 4);
	weft_timer_free(t);
}

GTEST(slow_receiver_keeps_phase, 2) { keeps_phase(skip_and_look); }

/* The only processor is held, so that the tick comes half a period late. */
static int64_t
delay_and_look(weft_chan *c, int64_t start, int64_t period)
{
	int64_t now = weft_now(), v, next;
	int64_t until = start + ((now - start) / period + 1) * period +
	    period / 2;

	while (weft_now() < until)
		;
	v = weft_recv(c, int64_t);
	next = weft_recv(c, int64_t);
	OK(next > v && next <= weft_now());
	return (next - start) % period;
}

GTEST(late_ticks_keep_phase, 1) { keeps_phase(delay_and_look); }

/* Of all that were missed one is kept. */
GTEST(missed_ticks_are_dropped, 2)
{
	weft_timer *t = weft_ticker_make(5 * WEFT_MS);
	weft_chan *c = weft_timer_chan(t);
	int kept = 9;

	for (int i = 0; i < 20 && kept > 1; i++) {
		weft_sleep(42 * WEFT_MS);
		kept = 0;
		while (weft_chan_try_recv(c, NULL))
			kept++;
	}
	OK(kept <= 1);
	weft_timer_free(t);
}

/* Each received late: all the same not one before its time. */
GTEST(never_early_when_late, 1)
{
	int64_t period = 3 * WEFT_MS, start = weft_now();
	weft_timer *t = weft_ticker_make(period);

	for (int i = 1; i <= 20; i++) {
		int64_t v = weft_recv(weft_timer_chan(t), int64_t);

		OK(v >= start + i * period);
		weft_sleep(i % 4 * 2 * WEFT_MS);
	}
	weft_timer_free(t);
}

/* ---- stopping ---- */

GTEST(stop_stops, 2)
{
	int64_t period = 2 * WEFT_MS;

	for (int i = 0; i < 20; i++) {
		int64_t start = weft_now();
		weft_timer *t = weft_ticker_make(period);
		weft_chan *c = weft_timer_chan(t);

		receive_ticks(c, start, period, i % 3);
		if (i % 2)
			weft_sleep(2 * period);		/* one is there */
		EQ(weft_timer_stop(t), true);
		nothing_there(c);
		EQ(weft_timer_stop(t), false);
		nothing_comes(c, 3 * period);
		EQ(weft_timer_stop(t), false);
		weft_timer_free(t);
	}
}

GTEST(freed_while_ticking, 4)
{
	for (int i = 0; i < 300; i++) {
		weft_timer *t = weft_ticker_make(1 + i % 10 * 5 * WEFT_US);
		weft_chan *c = weft_chan_retain(weft_timer_chan(t));

		for (int k = i % 4; k > 0; k--)
			weft_chan_recv(c, NULL);
		weft_timer_free(t);
		nothing_there(c);
		weft_chan_release(c);
	}
}

/* ---- resetting ---- */

GTEST(reset_changes_the_period, 2)
{
	static const int64_t ms[] = { 10, 25, 8, 12 };
	bool good[4] = {0};

	for (int i = 0; i < 20; i++) {
		weft_timer *t = weft_ticker_make(HOUR);
		bool all_good = true;

		for (int k = 0; k < 4; k++) {
			int64_t start = weft_now();

			EQ(weft_timer_reset(t, ms[k] * WEFT_MS), true);
			good[k] |= keeps_pace(t, start, ms[k] * WEFT_MS, 5);
			all_good &= good[k];
		}
		weft_timer_free(t);
		if (all_good)
			return;
	}
	t_fail(__FILE__, __LINE__, "a period is never kept");
}

GTEST(reset_of_a_stopped_one, 1)
{
	weft_timer *t = weft_ticker_make(WEFT_MS);
	int64_t start;

	weft_chan_recv(weft_timer_chan(t), NULL);
	EQ(weft_timer_stop(t), true);
	start = weft_now();
	EQ(weft_timer_reset(t, 3 * WEFT_MS), false);
	receive_ticks(weft_timer_chan(t), start, 3 * WEFT_MS, 4);
	EQ(weft_timer_stop(t), true);
	weft_timer_free(t);
}

/* The tick that was there is of before. */
GTEST(reset_leaves_no_tick, 2)
{
	weft_timer *t = weft_ticker_make(WEFT_MS);
	weft_chan *c = weft_timer_chan(t);

	for (int i = 0; i < 30; i++) {
		int64_t start;

		weft_sleep(2 * WEFT_MS);
		EQ(weft_timer_reset(t, HOUR), true);
		nothing_comes(c, WEFT_MS);
		start = weft_now();
		EQ(weft_timer_reset(t, WEFT_MS), true);
		receive_ticks(c, start, WEFT_MS, 2);
	}
	weft_timer_free(t);
}

static int waiting;

static void
wait_for_ticks(weft_timer *t, int64_t start, int64_t period)
{
	__atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
	receive_ticks(weft_timer_chan(t), start, period, 3);
	weft_waitgroup_done(&all);
}

GTEST(reset_under_a_waiter, 2)
{
	weft_timer *t = weft_ticker_make(HOUR);

	weft_waitgroup_add(&all, 1);
	weft_go(wait_for_ticks, t, weft_now(), 5 * WEFT_MS);
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		weft_yield();
	weft_sleep(2 * WEFT_MS);
	EQ(weft_timer_stop(t), true);
	EQ(weft_timer_reset(t, HOUR), false);
	EQ(weft_timer_reset(t, 5 * WEFT_MS), true);
	weft_waitgroup_wait(&all);
	weft_timer_free(t);
}

/* ---- many ---- */

static void
tick_and_free(int i, int n)
{
	int64_t period = (20 + i % 10) * WEFT_MS, start = weft_now();
	weft_timer *t = weft_ticker_make(period);

	receive_ticks(weft_timer_chan(t), start, period, n);
	EQ(weft_timer_stop(t), true);
	weft_timer_free(t);
	weft_waitgroup_done(&all);
}

static void
many(int n)
{
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(tick_and_free, i, 4);
	weft_waitgroup_wait(&all);
}

GTEST(a_thousand_on_one, 1) { many(1000); }
GTEST(a_thousand_on_four, 4) { many(1000); }

/* Many receive from one: each tick is had by one of them. */
static int64_t ticks[3000];
static int n_ticks;

static void
share_ticks(weft_chan *c, int n)
{
	while (n-- > 0) {
		int64_t v = weft_recv(c, int64_t);
		int k = __atomic_fetch_add(&n_ticks, 1, __ATOMIC_RELAXED);

		ticks[k] = v;
	}
	weft_waitgroup_done(&all);
}

static void
shared_by_many(int receivers, int each)
{
	int64_t period = 100 * WEFT_US, start = weft_now();
	weft_timer *t = weft_ticker_make(period);

	weft_waitgroup_add(&all, receivers);
	for (int i = 0; i < receivers; i++)
		weft_go(share_ticks, weft_timer_chan(t), each);
	weft_waitgroup_wait(&all);
	EQ(n_ticks, receivers * each);
	qsort(ticks, (size_t)n_ticks, sizeof ticks[0], ascending);
	for (int i = 0; i < n_ticks; i++) {
		OK(ticks[i] >= start + (i + 1) * period);
		OK(i == 0 || ticks[i] > ticks[i - 1]);
	}
	weft_timer_free(t);
}

GTEST(shared_by_many_on_one, 1) { shared_by_many(100, 10); }
GTEST(shared_by_many_on_four, 4) { shared_by_many(300, 5); }

/* ---- ends of the range ---- */

static int turns;

/* It is always due, and yet others run. */
static void
tiny_period(void)
{
	int64_t start = weft_now();
	weft_timer *t = weft_ticker_make(1);

	weft_waitgroup_add(&all, 1);
	weft_go(take_turns, &turns, &all);
	receive_ticks(weft_timer_chan(t), start, 1, (int)t_scale(2000));
	while (__atomic_load_n(&turns, __ATOMIC_RELAXED) < 100)
		weft_yield();
	__atomic_store_n(&turns, INT32_MIN, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&all);
	EQ(weft_timer_stop(t), true);
	nothing_comes(weft_timer_chan(t), WEFT_MS);
	weft_timer_free(t);
}

GTEST(tiny_period_on_one, 1) { tiny_period(); }
GTEST(tiny_period_on_four, 4) { tiny_period(); }

/* No goroutine receives, and the program goes on sleeping and working. */
GTEST(tiny_period_unheard, 2)
{
	weft_timer *t[10];

	for (int i = 0; i < 10; i++)
		t[i] = weft_ticker_make(1 + i);
	for (int i = 0; i < 20; i++)
		weft_sleep(WEFT_MS);
	for (int i = 0; i < 10; i++) {
		EQ(weft_timer_stop(t[i]), true);
		nothing_there(weft_timer_chan(t[i]));
		weft_timer_free(t[i]);
	}
}

GTEST(huge_periods_never_tick, 2)
{
	for (int i = 0; i < NEVER_TIMES; i++) {
		weft_timer *t = make_for_never(weft_ticker_make, i,
		    5 * WEFT_MS);

		EQ(weft_timer_stop(t), true);
		EQ(weft_timer_stop(t), false);
		weft_timer_free(t);
	}
}

GTEST(in_select, 2)
{
	int64_t period = 2 * WEFT_MS, start = weft_now(), a, b;
	weft_timer *t = weft_ticker_make(period);
	weft_timer *u = weft_ticker_make(3 * period);
	weft_case cases[] = { WEFT_CASE_RECV(weft_timer_chan(t), &a),
	    WEFT_CASE_RECV(weft_timer_chan(u), &b) };
	int n = 0, m = 0;

	while (n < 12 || m < 4) {
		int k = weft_select(cases, 2);

		OK(k >= 0 && cases[k].ok);
		if (k == 0)
			OK(a >= start + ++n * period);
		else
			OK(b >= start + ++m * 3 * period);
	}
	EQ(weft_timer_stop(t), true);
	EQ(weft_timer_stop(u), true);
	weft_timer_free(t);
	weft_timer_free(u);
}

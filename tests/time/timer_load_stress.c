/* SPDX-License-Identifier: MIT */
/*
 * Timers by the thousand: in order, none lost, none early, none after it was
 * stopped, and those that are due at once do come at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

#define HOUR (3600 * WEFT_SECOND)

static weft_waitgroup all;

/* ---- in order ---- */

enum { QUEUED = 13 };
static weft_chan *arrivals;

static void
tell_arrival(weft_chan *c, int64_t slot)
{
	weft_chan_recv(c, NULL);
	weft_chan_release(c);
	weft_send(arrivals, slot);
}

static void
tell_slot(void *slot)
{
	weft_send(arrivals, (int64_t)(intptr_t)slot);
}

/* Sets them in a wild order; true if they came in order of their time. */
static bool
fire_shuffled(bool func)
{
	static const int slots[QUEUED] = { 5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8,
	    0 };
	int64_t start = weft_now(), last = -1;
	weft_timer *t[QUEUED] = {0};
	bool sorted = true;

	for (int i = 0; i < QUEUED; i++) {
		int64_t ns = slots[i] * 15 * WEFT_MS;

		if (func)
			t[i] = weft_after_func(ns, tell_slot,
			    (void *)(intptr_t)slots[i]);
		else
			weft_go(tell_arrival, weft_after(ns), slots[i]);
	}
	for (int i = 0; i < QUEUED; i++) {
		int64_t slot = weft_recv(arrivals, int64_t);

		OK(weft_now() >= start + slot * 15 * WEFT_MS);
		sorted &= slot >= last;
		last = slot;
	}
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i < QUEUED; i++)
		weft_timer_free(t[i]);
	return sorted;
}

/* Two that are 15 ms apart may be swapped by a busy machine, but not always. */
static void
in_order(bool func)
{
	bool sorted = false;

	arrivals = weft_chan_make(8, 0);
	for (int i = 0; i < 20 && !sorted; i++)
		sorted = fire_shuffled(func);
	OK(sorted);
	weft_chan_release(arrivals);
}

GTEST(channels_in_order_on_one, 1) { in_order(false); }
GTEST(channels_in_order_on_four, 4) { in_order(false); }
GTEST(funcs_in_order_on_one, 1) { in_order(true); }
GTEST(funcs_in_order_on_four, 4) { in_order(true); }

/* ---- zero ---- */

static void
prompt(int64_t start)
{
	if (weft_now() - start > 10 * WEFT_SECOND)
		t_fail(__FILE__, __LINE__, "ten seconds for nothing");
}

GTEST(zero_timers, 1)
{
	for (long i = 0; i < t_scale(300000); i++) {
		int64_t start = weft_now();
		weft_timer *t = weft_timer_make(0);

		weft_chan_recv(weft_timer_chan(t), NULL);
		prompt(start);
		weft_timer_free(t);
	}
}

static void
reset_to_zero(long n)
{
	weft_timer *t = weft_timer_make(HOUR);

	while (n-- > 0) {
		int64_t start = weft_now();

		weft_timer_reset(t, 0);
		weft_chan_recv(weft_timer_chan(t), NULL);
		prompt(start);
	}
	weft_timer_free(t);
	weft_waitgroup_done(&all);
}

GTEST(zero_timers_on_four, 4)
{
	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		weft_go(reset_to_zero, t_scale(30000));
	weft_waitgroup_wait(&all);
}

GTEST(zero_afters_and_sleeps, 4)
{
	for (long i = 0; i < t_scale(100000); i++) {
		int64_t start = weft_now();
		weft_chan *c = weft_after(0);

		weft_chan_recv(c, NULL);
		weft_chan_release(c);
		weft_sleep(1);
		prompt(start);
	}
}

/* ---- made earlier ---- */

static void
pull_forward(int how)
{
	for (int i = 0; i < 50; i++) {
		int64_t start = weft_now();
		weft_timer *t = weft_timer_make(HOUR);
		weft_timer *far[20];

		for (int k = 0; k < 20; k++)
			far[k] = weft_timer_make(HOUR - k);
		if (how == 1)
			weft_sleep(100 * WEFT_US);
		OK(weft_timer_reset(t, WEFT_MS));
		OK(weft_recv(weft_timer_chan(t), int64_t) >= start + WEFT_MS);
		prompt(start);
		for (int k = 0; k < 20; k++) {
			OK(weft_timer_stop(far[k]));
			weft_timer_free(far[k]);
		}
		weft_timer_free(t);
	}
}

GTEST(pulled_forward_on_one, 1) { pull_forward(0); pull_forward(1); }
GTEST(pulled_forward_on_four, 4) { pull_forward(0); pull_forward(1); }

/* ---- set and set again at random ---- */

enum { TIMERS = 4000 };
static struct subject {
	weft_timer *t;
	int64_t due;	/* not before; NEVER if it must not fire */
	int fired;
} subjects[TIMERS];

static void
subject_fires(void *arg)
{
	struct subject *s = arg;
	int64_t due = __atomic_load_n(&s->due, __ATOMIC_ACQUIRE);

	if (due == WEFT_NEVER)
		t_fail(__FILE__, __LINE__, "fired though stopped");
	else if (weft_now() < due)
		t_fail(__FILE__, __LINE__, "fired early");
	__atomic_add_fetch(&s->fired, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

/* First the goal is known and then the timer set, so that it can judge. */
static void
set_subject(struct subject *s, int64_t ns)
{
	__atomic_store_n(&s->due, weft_deadline(ns), __ATOMIC_RELEASE);
	weft_waitgroup_add(&all, 1);
	if (weft_timer_reset(s->t, ns))
		weft_waitgroup_done(&all);
}

static void
adjust(struct subject *s, int n, unsigned seed, weft_waitgroup *done)
{
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < n; i++)
			if (rand_r(&seed) % 3)
				OK(weft_timer_reset(s[i].t,
				    HOUR + rand_r(&seed) % HOUR));
	for (int i = 0; i < n; i++) {
		if (i % 4 == 0) {
			OK(weft_timer_stop(s[i].t));
			weft_waitgroup_done(&all);
			continue;
		}
		set_subject(&s[i], rand_r(&seed) % (50 * WEFT_MS));
		if (i % 4 == 1)
			weft_yield();
	}
	weft_waitgroup_done(done);
}

static void
adjust_by_some(int goroutines)
{
	int n = (int)t_scale(TIMERS) / goroutines;
	weft_waitgroup done = {0};

	weft_waitgroup_add(&all, n * goroutines);
	for (int i = 0; i < n * goroutines; i++) {
		subjects[i].due = WEFT_NEVER;
		subjects[i].t = weft_after_func(HOUR - i % 97, subject_fires,
		    &subjects[i]);
	}
	weft_waitgroup_add(&done, goroutines);
	for (int i = 0; i < goroutines; i++)
		weft_go(adjust, subjects + n * i, n, (unsigned)i + 1, &done);
	weft_waitgroup_wait(&done);
	weft_waitgroup_wait(&all);
	weft_sleep(60 * WEFT_MS);
	for (int i = 0; i < n * goroutines; i++) {
		EQ(subjects[i].fired, i % n % 4 != 0);
		EQ(weft_timer_stop(subjects[i].t), false);
		weft_timer_free(subjects[i].t);
	}
}

GTEST(adjusted_on_one, 1) { adjust_by_some(4); }
GTEST(adjusted_on_four, 4) { adjust_by_some(8); }

/* Some are moved on, some stopped, some let be, again and again. */
static void
shuffle(struct subject *s, int n, unsigned seed, weft_waitgroup *done)
{
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < n; i++) {
			int64_t ns = rand_r(&seed) % (10 * WEFT_MS);

			switch (rand_r(&seed) % 4) {
			case 0:
				if (weft_timer_stop(s[i].t))
					weft_waitgroup_done(&all);
				break;
			case 1:
				weft_waitgroup_add(&all, 1);
				if (weft_timer_reset(s[i].t, ns))
					weft_waitgroup_done(&all);
				break;
			}
		}
		weft_sleep(rand_r(&seed) % (2 * WEFT_MS));
	}
	weft_waitgroup_done(done);
}

/* Counted: each time it was set it fires, or a call says that it does not. */
GTEST(none_lost_in_the_shuffle, 4)
{
	int n = (int)t_scale(TIMERS) / 8;
	weft_waitgroup done = {0};

	weft_waitgroup_add(&all, 1);	/* ours: it must not be zero yet */
	for (int i = 0; i < n * 8; i++) {
		weft_waitgroup_add(&all, 1);
		subjects[i].t = weft_after_func(rand() % (10 * WEFT_MS),
		    subject_fires, &subjects[i]);
	}
	weft_waitgroup_add(&done, 8);
	for (int i = 0; i < 8; i++)
		weft_go(shuffle, subjects + n * i, n, (unsigned)i + 1, &done);
	weft_waitgroup_wait(&done);
	weft_waitgroup_done(&all);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < n * 8; i++) {
		EQ(weft_timer_stop(subjects[i].t), false);
		weft_timer_free(subjects[i].t);
	}
	while (weft_goroutines() > 1)
		weft_yield();
}

/* ---- deadlines that mostly do not come ---- */

static void
answer(weft_chan *ask, weft_chan *reply)
{
	while (weft_chan_recv(ask, NULL))
		weft_chan_send(reply, NULL);
	weft_waitgroup_done(&all);
}

static void
ask(long n, int64_t patience)
{
	weft_chan *question = weft_chan_make(0, 0);
	weft_chan *reply = weft_chan_make(0, 0);
	long late = 0;

	weft_waitgroup_add(&all, 1);
	weft_go(answer, question, reply);
	for (long i = 0; i < n; i++) {
		int64_t when = weft_deadline(patience);

		weft_chan_send(question, NULL);
		if (weft_chan_recv_until(reply, NULL, when))
			continue;
		OK(weft_now() >= when);
		late++;
		weft_chan_recv(reply, NULL);
	}
	OK(patience < HOUR || late == 0);
	weft_chan_close(question);
	weft_waitgroup_wait(&all);
	weft_chan_release(question);
	weft_chan_release(reply);
}

GTEST(deadlines_that_do_not_come, 1) { ask(t_scale(200000), HOUR); }
GTEST(deadlines_that_may_come_on_one, 1) { ask(t_scale(50000), 500); }
GTEST(deadlines_that_may_come, 4) { ask(t_scale(50000), 2 * WEFT_US); }

/* ---- many at once ---- */

static void
tick_some(int64_t period, int n)
{
	int64_t start = weft_now();
	weft_timer *t = weft_ticker_make(period);

	for (int i = 1; i <= n; i++)
		if (weft_recv(weft_timer_chan(t), int64_t) < start + i * period)
			t_fail(__FILE__, __LINE__, "ticked early");
	weft_timer_free(t);
	weft_waitgroup_done(&all);
}

GTEST(a_thousand_tickers, 4)
{
	int n = (int)t_scale(1000);

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(tick_some, (1 + i % 20) * WEFT_MS, 20);
	weft_waitgroup_wait(&all);
}

/* All wait for the same instant, each its own way. */
static void
wait_till(int64_t when, int how, weft_chan *silent)
{
	weft_case c = WEFT_CASE_RECV(silent, NULL);
	weft_chan *after = NULL;

	switch (how) {
	case 0: weft_sleep_until(when); break;
	case 1: EQ(weft_chan_recv_until(silent, NULL, when), false); break;
	case 2: EQ(weft_select_until(&c, 1, when), -ETIMEDOUT); break;
	case 3: EQ(weft_select_until(NULL, 0, when), -ETIMEDOUT); break;
	case 4:
		after = weft_after(when - weft_now());
		OK(weft_chan_recv(after, NULL));
		weft_chan_release(after);
		break;
	}
	if (weft_now() < when)
		t_fail(__FILE__, __LINE__, "too early");
	weft_waitgroup_done(&all);
}

GTEST(all_at_one_instant, 4)
{
	weft_chan *silent = weft_chan_make(0, 0);
	int n = (int)t_scale(5000);

	for (int round = 0; round < 5; round++) {
		int64_t when = weft_deadline(20 * WEFT_MS);

		weft_waitgroup_add(&all, n);
		for (int i = 0; i < n; i++)
			weft_go(wait_till, when, i % 5, silent);
		weft_waitgroup_wait(&all);
	}
	weft_chan_release(silent);
}

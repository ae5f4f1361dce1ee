/* SPDX-License-Identifier: MIT */
/*
 * Stop, reset and free at the moment of firing. Each firing is either
 * prevented, and then it is never seen, or it is received or run, once; and
 * what the call returned says which.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

#define HOUR (3600 * WEFT_SECOND)

/* Some time, without the runtime's knowing; up to about a duration of ns. */
static void
dawdle(unsigned *seed, int64_t ns)
{
	int64_t until = weft_now() + rand_r(seed) % ns;

	while (weft_now() < until)
		;
}

/* ---- no receiver: then stop and reset are always in time ---- */

static void
check_empty(weft_chan *c, int line)
{
	int64_t v = 0;

	if (weft_chan_try_recv(c, &v))
		t_eq(__FILE__, line, "a value that was prevented", v, 0);
}

static void
one_stop(weft_timer *t, unsigned *seed)
{
	weft_chan *c = weft_timer_chan(t);

	if (rand_r(seed) % 4 == 0)
		weft_yield();
	else
		dawdle(seed, 10 * WEFT_US);
	if (!weft_timer_stop(t))
		t_fail(__FILE__, __LINE__, "stop failed, not yet received");
	check_empty(c, __LINE__);
	if (rand_r(seed) % 4 == 0)
		weft_yield();
	check_empty(c, __LINE__);
	if (weft_timer_stop(t))
		t_fail(__FILE__, __LINE__, "stopped twice");
}

static void
stop_unreceived(unsigned seed, long n, weft_waitgroup *wg)
{
	while (n-- > 0) {
		int64_t ns = rand_r(&seed) % (10 * WEFT_US);
		weft_timer *t = n % 8 ? weft_timer_make(ns) :
		    weft_ticker_make(ns + 1);

		one_stop(t, &seed);
		if (n % 2) {
			weft_timer_reset(t, ns + 1);
			one_stop(t, &seed);
		}
		weft_timer_free(t);
	}
	weft_waitgroup_done(wg);
}

static void
each_by_some(void (*fn)(unsigned, long, weft_waitgroup *), int goroutines,
    long n)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, goroutines);
	for (int i = 0; i < goroutines; i++)
		weft_go(fn, (unsigned)i + 1, n, &wg);
	weft_waitgroup_wait(&wg);
}

GTEST(stop_is_in_time_on_one, 1)
{
	each_by_some(stop_unreceived, 2, t_scale(6000));
}

GTEST(stop_is_in_time_on_four, 4)
{
	each_by_some(stop_unreceived, 8, t_scale(3000));
}

/* Receives, now or later; the time must be of after the reset. */
static void
receive_after(weft_chan *c, int64_t due, bool poll)
{
	int64_t v = 0;

	if (!poll || !weft_chan_try_recv(c, &v))
		v = weft_recv(c, int64_t);
	if (v < due)
		EQ(v, due);
	check_empty(c, __LINE__);
}

/* A reset one gives the time of its new deadline and no other. */
static void
reset_unreceived(unsigned seed, long n, weft_waitgroup *wg)
{
	weft_timer *t = weft_timer_make(0);

	while (n-- > 0) {
		int64_t ns = rand_r(&seed) % (20 * WEFT_US), due;

		dawdle(&seed, 5 * WEFT_US);
		due = weft_deadline(ns);
		if (!weft_timer_reset(t, ns))
			t_fail(__FILE__, __LINE__, "reset, not received");
		if (n % 2)
			continue;
		receive_after(weft_timer_chan(t), due, n % 4);
		if (weft_timer_reset(t, rand_r(&seed) % 4000))
			t_fail(__FILE__, __LINE__, "reset, received");
	}
	weft_timer_free(t);
	weft_waitgroup_done(wg);
}

GTEST(reset_is_in_time_on_one, 1)
{
	each_by_some(reset_unreceived, 2, t_scale(6000));
}

GTEST(reset_is_in_time_on_four, 4)
{
	each_by_some(reset_unreceived, 8, t_scale(3000));
}

/* ---- a receiver: either it has the value or stop prevented it ---- */

struct duel {
	weft_timer *t;
	weft_chan *quit, *result;
};

/* Waits for the timer or for being told to quit; tells how many it got. */
static void
receiver(struct duel *d)
{
	for (;;) {
		weft_case cases[] = {
			WEFT_CASE_RECV(weft_timer_chan(d->t), NULL),
			WEFT_CASE_RECV(d->quit, NULL)
		};
		int64_t got = 0;
		int k = weft_select(cases, 2);

		if (k == 1 && !cases[1].ok)
			return;
		if (k == 0) {
			got = 1;
			weft_chan_recv(d->quit, NULL);
		}
		if (weft_chan_try_recv(weft_timer_chan(d->t), NULL))
			got++;
		weft_send(d->result, got);
	}
}

PLAIN_THREAD(receive_plainly, receiver(arg))

static void
stop_against(struct duel *d, unsigned seed, long n)
{
	while (n-- > 0) {
		int64_t got;
		bool stopped;

		weft_timer_reset(d->t, rand_r(&seed) % (15 * WEFT_US));
		if (n % 4)
			dawdle(&seed, 15 * WEFT_US);
		else
			weft_yield();
		stopped = weft_timer_stop(d->t);
		if (n % 3 == 0 && weft_timer_stop(d->t))
			t_fail(__FILE__, __LINE__, "stopped twice");
		weft_chan_send(d->quit, NULL);
		got = weft_recv(d->result, int64_t);
		if (got != !stopped)
			EQ(got, !stopped);
	}
	weft_chan_close(d->quit);
}

static void
duel(unsigned seed, long n, bool thread)
{
	struct duel d = { weft_timer_make(HOUR), weft_chan_make(0, 0),
	    weft_chan_make(8, 0) };
	pthread_t t;

	if (thread)
		EQ(pthread_create(&t, NULL, receive_plainly, &d), 0);
	else
		weft_go(receiver, &d);
	stop_against(&d, seed, n);
	if (thread)
		pthread_join(t, NULL);
	else
		while (weft_goroutines() > 1)
			weft_yield();
	weft_timer_free(d.t);
	weft_chan_release(d.quit);
	weft_chan_release(d.result);
}

GTEST(received_or_stopped_on_one, 1) { duel(1, t_scale(10000), false); }
GTEST(received_or_stopped_on_two, 2) { duel(2, t_scale(10000), false); }
GTEST(received_or_stopped_on_four, 4) { duel(3, t_scale(10000), false); }
GTEST(received_or_stopped_by_a_thread, 2) { duel(4, t_scale(5000), true); }

/*
 * A receive that begins after the reset has returned gets no time of before
 * the reset plus the period.
 */
GTEST(no_tick_of_before, 4)
{
	weft_timer *t = weft_ticker_make(WEFT_US);
	weft_chan *c = weft_timer_chan(t);
	unsigned seed = 1;

	for (long i = 0; i < t_scale(2000); i++) {
		int64_t period = 1 + rand_r(&seed) % (5 * WEFT_US), due, v;

		due = weft_now() + period;
		if (!weft_timer_reset(t, period))
			t_fail(__FILE__, __LINE__, "it was ticking");
		for (int k = rand_r(&seed) % 3; k > 0; k--) {
			v = weft_recv(c, int64_t);
			if (v < due)
				t_fail(__FILE__, __LINE__, "a tick of before");
			due += period;
		}
		dawdle(&seed, 3 * WEFT_US);
	}
	weft_timer_free(t);
}

/* ---- several stop or reset at once: one of them prevented it ---- */

static weft_timer *shared;
static weft_waitgroup here, told;
static int wins;

static void
try_to_stop(unsigned seed)
{
	weft_waitgroup_wait(&here);
	dawdle(&seed, 5 * WEFT_US);
	if (weft_timer_stop(shared))
		__atomic_add_fetch(&wins, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&told);
}

static void
several_stop(long n)
{
	unsigned seed = 1;

	shared = weft_timer_make(HOUR);
	while (n-- > 0) {
		wins = 0;
		weft_waitgroup_add(&here, 1);
		weft_waitgroup_add(&told, 4);
		for (int i = 0; i < 4; i++)
			weft_go(try_to_stop, seed + (unsigned)i);
		weft_timer_reset(shared, rand_r(&seed) % (8 * WEFT_US));
		weft_waitgroup_done(&here);
		weft_waitgroup_wait(&told);
		if (wins != 1)
			EQ(wins, 1);
		check_empty(weft_timer_chan(shared), __LINE__);
	}
	weft_timer_free(shared);
}

GTEST(one_of_several_stops_on_one, 1) { several_stop(t_scale(5000)); }
GTEST(one_of_several_stops_on_four, 4) { several_stop(t_scale(5000)); }

/* ---- goroutines of after_func: run or stopped ---- */

static long ran, stopped, armed;

static void
count_run(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

/* Each time it is set, it runs or a caller is told that it will not. */
static void
stop_funcs(unsigned seed, long n, weft_waitgroup *wg)
{
	weft_timer *t = weft_after_func(0, count_run, NULL);
	long set = 1, prevented = 0;

	for (; n > 0; n--, set++) {
		int64_t ns = rand_r(&seed) % (10 * WEFT_US);

		dawdle(&seed, 10 * WEFT_US);
		if (n % 3)
			prevented += weft_timer_stop(t);
		if (n % 5 == 0) {
			prevented += weft_timer_stop(t);
			weft_timer_free(t);
			t = weft_after_func(ns, count_run, NULL);
		} else {
			prevented += weft_timer_reset(t, ns);
		}
	}
	prevented += weft_timer_stop(t);
	weft_timer_free(t);
	__atomic_add_fetch(&armed, set, __ATOMIC_RELAXED);
	__atomic_add_fetch(&stopped, prevented, __ATOMIC_RELAXED);
	weft_waitgroup_done(wg);
}

static void
run_or_stopped(int goroutines, long n)
{
	each_by_some(stop_funcs, goroutines, n);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(ran + stopped, armed);
}

GTEST(run_or_stopped_on_one, 1) { run_or_stopped(2, t_scale(10000)); }
GTEST(run_or_stopped_on_four, 4) { run_or_stopped(8, t_scale(5000)); }

/* ---- what fires frees, while the call that set it is hardly back ---- */

struct last {
	weft_timer *t;
	weft_waitgroup *wg;
};

static void
free_it(void *arg)
{
	struct last *l = arg;

	weft_timer_free(l->t);
	weft_waitgroup_done(l->wg);
}

static void
set_for_free(unsigned seed, long n, weft_waitgroup *wg)
{
	while (n-- > 0) {
		weft_waitgroup fired = {0};
		struct last l = { .wg = &fired };

		weft_waitgroup_add(&fired, 1);
		l.t = weft_after_func(HOUR, free_it, &l);
		weft_timer_reset(l.t, rand_r(&seed) % 3);
		dawdle(&seed, 3 * WEFT_US);
		weft_waitgroup_wait(&fired);
	}
	weft_waitgroup_done(wg);
}

GTEST(freed_by_what_it_fired_on_one, 1)
{
	each_by_some(set_for_free, 4, t_scale(10000));
}

GTEST(freed_by_what_it_fired_on_four, 4)
{
	each_by_some(set_for_free, 8, t_scale(10000));
}

/* ---- everybody at everything ---- */

enum { SHARED = 32 };
static weft_timer *pool[SHARED];
static int go_on = 1;

static void
meddle_once(unsigned *seed)
{
	weft_timer *t = pool[rand_r(seed) % SHARED], *own;
	int64_t ns = 1 + rand_r(seed) % (30 * WEFT_US);

	switch (rand_r(seed) % 8) {
	case 0: weft_timer_stop(t); break;
	case 1: weft_timer_reset(t, ns); break;
	case 2: weft_timer_reset(t, HOUR); break;
	case 3: weft_chan_try_recv(weft_timer_chan(t), NULL); break;
	case 4: weft_chan_recv_until(weft_timer_chan(t), NULL,
		    weft_deadline(ns));
		break;
	case 5:
		own = weft_ticker_make(ns);
		weft_timer_reset(own, 2 * ns);
		weft_chan_recv_until(weft_timer_chan(own), NULL,
		    weft_deadline(ns));
		weft_timer_free(own);
		break;
	case 6: weft_chan_release(weft_after(ns)); break;
	case 7:
		own = weft_after_func(ns, count_run, NULL);
		dawdle(seed, 30 * WEFT_US);
		weft_timer_free(own);
		break;
	}
}

static void
meddle(unsigned seed, weft_waitgroup *wg)
{
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED))
		meddle_once(&seed);
	weft_waitgroup_done(wg);
}

static weft_waitgroup meddlers;

PLAIN_THREAD(meddle_plainly, meddle((unsigned)(uintptr_t)arg, &meddlers))

static void
everybody(int goroutines, int threads)
{
	pthread_t t[8];

	for (int i = 0; i < SHARED; i++)
		pool[i] = i % 2 ? weft_timer_make(HOUR) :
		    weft_ticker_make(50 * WEFT_US);
	weft_waitgroup_add(&meddlers, goroutines + threads);
	for (int i = 0; i < goroutines; i++)
		weft_go(meddle, (unsigned)i, &meddlers);
	for (intptr_t i = 0; i < threads; i++)
		EQ(pthread_create(&t[i], NULL, meddle_plainly,
		    (void *)(i + 1000)), 0);
	while (t_more(0.5))
		weft_sleep(WEFT_MS);
	__atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&meddlers);
	threads_join(t, threads);
	for (int i = 0; i < SHARED; i++) {
		weft_timer_stop(pool[i]);
		check_empty(weft_timer_chan(pool[i]), __LINE__);
		weft_timer_free(pool[i]);
	}
	while (weft_goroutines() > 1)
		weft_yield();
}

GTEST(everybody_at_once_on_one, 1) { everybody(20, 0); }
GTEST(everybody_at_once_on_four, 4) { everybody(20, 4); }

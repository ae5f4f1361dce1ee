/* SPDX-License-Identifier: MIT */
/*
 * A million selects of each kind leave the process as large as it was: what
 * a select needs while it waits is given back or used again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { ALLOWED = 1 << 20, MANY = 20 };

static weft_chan *c[MANY], *back;

static void
prepare(void)
{
	for (int i = 0; i < MANY; i++)
		c[i] = weft_chan_make(sizeof(int), 0);
	back = weft_chan_make(sizeof(int), 0);
}

/*
 * What the first tenth needs may stay. Sanitizers keep books that grow, and an
 * emulator its translations, so there only the running itself is tested.
 */
static void
check_steady(void (*some)(long n))
{
	long n = t_scale(1000000);
	int64_t before, after;

	prepare();
	some(n / 10 + 1);
	before = t_resident();
	some(n);
	after = t_resident();
	OK(T_SANITIZED || t_emulated() || after < before + ALLOWED);
	for (int i = 0; i < MANY; i++)
		weft_chan_release(c[i]);
	weft_chan_release(back);
}

static void
fill(weft_case *k, int n, int *v)
{
	for (int i = 0; i < n; i++)
		k[i] = i % 2 ? WEFT_CASE_SEND_FROM(c[i], v) :
		    WEFT_CASE_RECV(c[i], v);
}

/* ---- kinds ---- */

static void
with_default(long n)
{
	weft_case k[MANY];
	int v = 0;

	for (; n > 0; n--) {
		fill(k, 3, &v);
		k[3] = WEFT_CASE_DEFAULT;
		EQ(weft_select(k, 4), 3);
	}
}

static void
many_with_default(long n)
{
	weft_case k[MANY];
	int v = 0;

	for (n /= 20; n > 0; n--) {
		fill(k, MANY, &v);
		k[5] = WEFT_CASE_DEFAULT;
		EQ(weft_select(k, MANY), 5);
	}
}

static void
too_late(long n)
{
	weft_case k[4];
	int v = 0;

	for (; n > 0; n--) {
		fill(k, 4, &v);
		EQ(weft_select_until(k, 4, 1), -ETIMEDOUT);
	}
}

/* Waits for one microsecond; a hundredth as many. */
static void
timed_out(long n)
{
	weft_case k[MANY];
	int v = 0;

	fill(k, MANY, &v);
	for (n /= 100; n > 0; n--)
		EQ(weft_select_until(k, n % 4 ? 3 : MANY,
		    weft_deadline(WEFT_US)),
		    -ETIMEDOUT);
}

static void
answer(long n, int cases, int64_t in)
{
	weft_case k[MANY];
	int v = 0;

	for (; n > 0; n--) {
		int i;

		for (int j = 0; j < cases; j++)
			k[j] = WEFT_CASE_RECV(c[j], &v);
		i = in ?
		    weft_select_until(k, (size_t)cases, weft_deadline(in)) :
		    weft_select(k, (size_t)cases);
		weft_send(back, i);
	}
}

/* The select waits each time, for one of them or another. */
static void
talk(long n, int cases, int64_t in)
{
	OK(weft_try_go(answer, n, cases, in) > 0);
	for (; n > 0; n--) {
		int i = (int)(n % cases);

		weft_send(c[i], 1);
		EQ(weft_recv(back, int), i);
	}
	while (weft_goroutines() > 1)
		weft_yield();
}

static void woken(long n) { talk(n, 3, 0); }
static void many_woken(long n) { talk(n / 4, MANY, 0); }
static void woken_in_time(long n) { talk(n, 3, WEFT_SECOND * 1000); }
static void many_woken_in_time(long n)
{
	talk(n / 4, MANY, WEFT_SECOND * 1000);
}

GTEST(default_on_1, 1) { check_steady(with_default); }
GTEST(many_default_on_1, 1) { check_steady(many_with_default); }
GTEST(past_on_1, 1) { check_steady(too_late); }
GTEST(timed_out_on_1, 1) { check_steady(timed_out); }
GTEST(timed_out_on_2, 2) { check_steady(timed_out); }
GTEST(woken_on_1, 1) { check_steady(woken); }
GTEST(woken_on_2, 2) { check_steady(woken); }
GTEST(many_woken_on_1, 1) { check_steady(many_woken); }
GTEST(many_woken_on_2, 2) { check_steady(many_woken); }
GTEST(woken_in_time_on_1, 1) { check_steady(woken_in_time); }
GTEST(woken_in_time_on_2, 2) { check_steady(woken_in_time); }
GTEST(many_woken_in_time_on_2, 2) { check_steady(many_woken_in_time); }

/* ---- goroutines and threads that come, wait once and go ---- */

static void
wait_once(weft_chan *ended)
{
	weft_case k[MANY];
	int v = 0;

	for (int i = 0; i < MANY; i++)
		k[i] = WEFT_CASE_RECV(c[i], &v);
	EQ(weft_select(k, MANY), 0);
	weft_send(ended, v);
}

static void
crowds(long n)
{
	for (n /= 1000; n > 0; n--) {
		for (int i = 0; i < 100; i++)
			OK(weft_try_go(wait_once, back) > 0);
		for (int i = 0; i < 100; i++)
			weft_send(c[0], i);
		for (int i = 0; i < 100; i++)
			weft_recv(back, int);
		/* else the next crowd may need memory beside this one's */
		while (weft_goroutines() > 1)
			weft_yield();
	}
}

GTEST(crowds_on_2, 2) { check_steady(crowds); }

PLAIN_THREAD(wait_plainly, wait_once(arg))

static void
threads(long n)
{
	for (n /= 1000; n > 0; n--) {
		pthread_t t;

		EQ(pthread_create(&t, NULL, wait_plainly, back), 0);
		weft_send(c[0], 1);
		EQ(weft_recv(back, int), 1);
		pthread_join(t, NULL);
	}
}

GTEST(threads_on_1, 1) { check_steady(threads); }

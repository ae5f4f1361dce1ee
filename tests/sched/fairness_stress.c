/* SPDX-License-Identifier: MIT */
/*
 * On one processor each goroutine gets a turn, soon, whatever the others do:
 * those that yield, those just spawned, and those whose time has come. Where
 * this was not so they waited for seconds, or for ever.
 */
#include "busy.h"
#include "t.h"

#include <stdatomic.h>
#include <weft.h>

static atomic_bool stop;
static atomic_long turns, ran;

static void
yielder(int64_t ns)
{
	while (!stop) {
		busy_for(ns);
		weft_yield();
		turns++;
	}
}

/* Yields until it has come so far; false if that takes too long. */
static bool
see(atomic_long *what, long n, int64_t seconds)
{
	int64_t end = weft_deadline(seconds * WEFT_SECOND);

	while (*what < n && weft_now() < end)
		weft_yield();
	return *what >= n;
}

/* ---- two that hand something back and forth ---- */

struct pair {
	weft_chan *there, *back;
	int64_t ns;		/* what each computes before */
};

static void
ping(struct pair *p)
{
	while (!stop) {
		busy_for(p->ns);
		weft_chan_send(p->there, NULL);
		weft_chan_recv(p->back, NULL);
	}
	weft_chan_close(p->there);
}

static void
pong(struct pair *p)
{
	while (weft_chan_recv(p->there, NULL)) {
		busy_for(p->ns);
		weft_chan_send(p->back, NULL);
	}
	weft_chan_release(p->there);
	weft_chan_release(p->back);
	p->there = NULL;
}

static void
pair_start(struct pair *p, int64_t ns)
{
	p->there = weft_chan_make(0, 0);
	p->back = weft_chan_make(0, 0);
	p->ns = ns;
	weft_go(pong, p);
	weft_go(ping, p);
}

static void
end_all(void)
{
	stop = true;
	while (weft_goroutines() > 1)
		weft_yield();
}

/* ---- timers that are due at every switch ---- */

static void
listen(weft_timer *t)
{
	while (!stop)
		weft_chan_recv(weft_timer_chan(t), NULL);
}

GTEST(yielders_beside_a_ticker, 1)
{
	weft_timer *t = weft_ticker_make(1);

	weft_go(listen, t);
	weft_go(yielder, 0);
	OK(see(&turns, 1000, 20));
	end_all();
	weft_timer_free(t);
}

GTEST(yielders_beside_a_pair_and_a_ticker, 1)
{
	weft_timer *t = weft_ticker_make(1);
	struct pair p;

	pair_start(&p, 20 * WEFT_US);
	weft_go(yielder, 0);
	OK(see(&turns, 100, 20));
	end_all();
	weft_timer_free(t);
}

/* ---- newborns ---- */

static void
newborn(void)
{
	ran++;
}

static void
newborns(int pairs)
{
	struct pair p[4];
	long n = t_scale(8000);

	for (int i = 0; i < pairs; i++)
		pair_start(&p[i], 0);
	for (int i = 0; i < 100; i++)
		weft_yield();
	for (long i = 0; i < n; i++)
		weft_go(newborn);
	OK(see(&ran, n, 20));
	end_all();
}

GTEST(newborns_beside_a_pair, 1) { newborns(1); }
GTEST(newborns_beside_pairs, 1) { newborns(4); }

/* ---- many whose time is the same ---- */

enum { MANY = 400 };

static void
sleeper(int64_t when, atomic_int *asleep)
{
	++*asleep;
	weft_sleep_until(when);
	ran++;
}

GTEST(sleepers_beside_workers, 1)
{
	int64_t when = weft_deadline(100 * WEFT_MS);
	atomic_int asleep = 0;

	for (int i = 0; i < MANY; i++)
		weft_go(sleeper, when, &asleep);
	while (asleep < MANY)
		weft_yield();
	weft_go(yielder, WEFT_MS);
	weft_go(yielder, WEFT_MS);
	weft_sleep_until(when);
	OK(see(&ran, MANY, 10));
	end_all();
}

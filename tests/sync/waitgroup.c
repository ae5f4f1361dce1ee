/* SPDX-License-Identifier: MIT */
/* weft_waitgroup, between goroutines and plain threads alike. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { THREADS = 4 };

/* ---- many goroutines ---- */

static void
set(int *slot, int value, weft_waitgroup *wg)
{
	*slot = value;
	weft_waitgroup_done(wg);
}

/* The slots are plain memory: the wait must make them visible. */
GTEST(what_was_done_is_seen, 4)
{
	weft_waitgroup wg = {0};
	int n = (int)t_scale(50000);
	int *slots = calloc((size_t)n, sizeof *slots);

	for (int i = 0; i < n; i++) {
		weft_waitgroup_add(&wg, 1);
		OK(weft_try_go(set, &slots[i], i + 1, &wg) > 0);
	}
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < n; i++)
		EQ(slots[i], i + 1);
	free(slots);
}

/* The same one again and again, alive on the stack only as long as needed. */
GTEST(rounds, 4)
{
	weft_waitgroup wg = {0};
	int slots[16];

	for (long r = t_scale(2000); r > 0; r--) {
		int round = (int)r;

		weft_waitgroup_add(&wg, 16);
		for (int i = 0; i < 16; i++)
			OK(weft_try_go(set, &slots[i], round + i, &wg) > 0);
		weft_waitgroup_wait(&wg);
		for (int i = 0; i < 16; i++)
			EQ(slots[i], round + i);
	}
}

static void
one_shot(weft_waitgroup *outer)
{
	weft_waitgroup inner = {0};
	int slot = 0;

	weft_waitgroup_add(&inner, 1);
	OK(weft_try_go(set, &slot, 1, &inner) > 0);
	weft_waitgroup_wait(&inner);
	EQ(slot, 1);
	weft_waitgroup_done(outer);
}

/* A group may go away as soon as the wait has returned. */
GTEST(short_lives, 4)
{
	weft_waitgroup wg = {0};
	int n = (int)t_scale(10000);

	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(one_shot, &wg) > 0);
	weft_waitgroup_wait(&wg);
}

/* ---- several waiters ---- */

struct crowd {
	weft_waitgroup gate, started, ended;
	int opened;		/* plain: written before the gate opens */
};

static void
wait_at_gate(struct crowd *c)
{
	weft_waitgroup_done(&c->started);
	weft_waitgroup_wait(&c->gate);
	EQ(c->opened, 1);
	weft_waitgroup_done(&c->ended);
}

PLAIN_THREAD(wait_plainly, wait_at_gate(arg))

static void
crowd(int goroutines)
{
	struct crowd c = {0};
	pthread_t t[THREADS];

	weft_waitgroup_add(&c.gate, 1);
	weft_waitgroup_add(&c.started, goroutines + THREADS);
	weft_waitgroup_add(&c.ended, goroutines + THREADS);
	for (int i = 0; i < goroutines; i++)
		OK(weft_try_go(wait_at_gate, &c) > 0);
	threads_start(t, THREADS, wait_plainly, &c);
	weft_waitgroup_wait(&c.started);
	c.opened = 1;
	weft_waitgroup_done(&c.gate);
	weft_waitgroup_wait(&c.ended);
	threads_join(t, THREADS);
}

GTEST(several_waiters_on_one, 1)
{
	crowd(100);
}

GTEST(several_waiters_on_four, 4)
{
	for (long i = t_scale(50); i > 0; i--)
		crowd(200);
}

/* ---- counting ---- */

GTEST(zero_returns_at_once, 1)
{
	weft_waitgroup wg = {0};
	weft_stats before, after;

	weft_stats_read(&before, sizeof before);
	weft_waitgroup_wait(&wg);
	weft_waitgroup_add(&wg, 0);
	weft_waitgroup_wait(&wg);
	weft_waitgroup_add(&wg, 3);
	weft_waitgroup_done(&wg);
	weft_waitgroup_add(&wg, -2);
	weft_waitgroup_wait(&wg);
	weft_stats_read(&after, sizeof after);
	EQ(after.parks, before.parks);
}

GTEST(not_before_zero, 1)
{
	weft_waitgroup wg = {0};
	int slot[3] = {0};

	weft_waitgroup_add(&wg, 2);
	weft_waitgroup_add(&wg, 2);
	weft_waitgroup_add(&wg, -1);
	for (int i = 0; i < 3; i++)
		OK(weft_try_go(set, &slot[i], 1, &wg) > 0);
	weft_waitgroup_wait(&wg);
	EQ(slot[0] + slot[1] + slot[2], 3);
}

GTEST(large_counts, 1)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, INT32_MAX);
	weft_waitgroup_add(&wg, -INT32_MAX + 1);
	OK(weft_try_go(weft_waitgroup_done, &wg) > 0);
	weft_waitgroup_wait(&wg);
}

/* ---- plain threads ---- */

struct work {
	weft_waitgroup wg;
	long each;
	int sum;
};

static void
add_up(struct work *w)
{
	__atomic_add_fetch(&w->sum, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&w->wg);
}

static void *
add_plainly(void *arg)
{
	struct work *w = arg;

	for (long i = 0; i < w->each; i++) {
		weft_waitgroup_add(&w->wg, 2);
		OK(weft_try_go(add_up, w) > 0);
		add_up(w);
	}
	weft_waitgroup_done(&w->wg);
	return NULL;
}

GTEST(threads_add_and_do, 2)
{
	struct work w = { .each = t_scale(5000) };
	pthread_t t[THREADS];

	weft_waitgroup_add(&w.wg, THREADS);
	threads_start(t, THREADS, add_plainly, &w);
	weft_waitgroup_wait(&w.wg);
	EQ(w.sum, 2 * THREADS * w.each);
	threads_join(t, THREADS);
}

static void *
rounds_plainly(void *arg)
{
	long n = *(long *)arg;
	weft_waitgroup wg = {0};
	int slot = 0;

	for (int i = 1; i <= n; i++) {
		weft_waitgroup_add(&wg, 1);
		OK(weft_try_go(set, &slot, i, &wg) > 0);
		weft_waitgroup_wait(&wg);
		EQ(slot, i);
	}
	return NULL;
}

/* The goroutines run while main blocks its own thread in a join. */
GTEST(threads_wait, 2)
{
	long n = t_scale(2000);
	pthread_t t[THREADS];

	threads_start(t, THREADS, rounds_plainly, &n);
	threads_join(t, THREADS);
}

PLAIN_THREAD(finish, weft_waitgroup_done(arg))

/* Hangs if a wake is lost. */
TEST(without_a_runtime)
{
	weft_waitgroup wg = {0};
	pthread_t t[THREADS];

	weft_waitgroup_wait(&wg);
	for (long i = t_scale(200); i > 0; i--) {
		weft_waitgroup_add(&wg, THREADS);
		threads_start(t, THREADS, finish, &wg);
		weft_waitgroup_wait(&wg);
		threads_join(t, THREADS);
	}
}

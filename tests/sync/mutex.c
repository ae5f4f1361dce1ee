/* SPDX-License-Identifier: MIT */
/* weft_mutex, between goroutines and plain threads alike. */
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "stats_now.h"
#include "t.h"

enum { THREADS = 4, GOROUTINES = 10 };

/* ---- one at a time ---- */

struct work {
	weft_mutex m;
	weft_waitgroup wg;
	long each;
	long inside, sum;	/* plain: the mutex guards them */
};

static void
hammer(struct work *w)
{
	for (long i = 0; i < w->each; i++) {
		if (i % 3 == 0)
			while (!weft_mutex_try_lock(&w->m))
				weft_yield();
		else
			weft_mutex_lock(&w->m);
		EQ(++w->inside, 1);
		if (i % 16 == 0)
			weft_yield();
		w->sum++;
		w->inside--;
		weft_mutex_unlock(&w->m);
	}
	weft_waitgroup_done(&w->wg);
}

PLAIN_THREAD(hammer_plainly, hammer(arg))

static void
one_at_a_time(void)
{
	struct work w = { .each = t_scale(2000) };
	pthread_t t[THREADS];

	weft_waitgroup_add(&w.wg, GOROUTINES + THREADS);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(hammer, &w) > 0);
	threads_start(t, THREADS, hammer_plainly, &w);
	weft_waitgroup_wait(&w.wg);
	EQ(w.sum, (GOROUTINES + THREADS) * w.each);
	OK(weft_mutex_try_lock(&w.m));
	threads_join(t, THREADS);
}
ON_ALL(one_at_a_time)

TEST(without_a_runtime)
{
	struct work w = { .each = t_scale(2000) };
	pthread_t t[THREADS];

	weft_waitgroup_add(&w.wg, THREADS);
	threads_start(t, THREADS, hammer_plainly, &w);
	threads_join(t, THREADS);
	EQ(w.sum, THREADS * w.each);
}

/* ---- alone ---- */

GTEST(free_means_no_waiting, 1)
{
	weft_mutex m = {0};
	weft_stats before, after;

	weft_stats_read(&before, sizeof before);
	for (int i = 0; i < 100; i++) {
		weft_mutex_lock(&m);
		OK(!weft_mutex_try_lock(&m));
		weft_mutex_unlock(&m);
		OK(weft_mutex_try_lock(&m));
		weft_mutex_unlock(&m);
	}
	weft_stats_read(&after, sizeof after);
	EQ(after.parks, before.parks);
	EQ(after.yields, before.yields);
}

static void
unlock_for(weft_mutex *m)
{
	OK(!weft_mutex_try_lock(m));
	weft_mutex_unlock(m);
}

/* It belongs to no goroutine in particular. */
GTEST(another_may_unlock, 1)
{
	weft_mutex m = {0};

	for (int i = 0; i < 100; i++) {
		weft_mutex_lock(&m);
		OK(weft_try_go(unlock_for, &m) > 0);
	}
	weft_mutex_lock(&m);
}

/* ---- in what order ---- */

struct line {
	weft_mutex m;
	weft_waitgroup wg;
	int n, order[64];	/* under m */
};

static void
queue_up(struct line *l, int i)
{
	weft_mutex_lock(&l->m);
	l->order[l->n++] = i;
	weft_mutex_unlock(&l->m);
	weft_waitgroup_done(&l->wg);
}

/* Lets others run until n waits have begun since there were so many. */
static void
await_parks(uint64_t before, int n)
{
	weft_stats s;

	do {
		weft_yield();
		weft_stats_read(&s, sizeof s);
	} while (s.parks < before + (uint64_t)n);
}

GTEST(first_come_first_served, 1)
{
	struct line l = {0};
	uint64_t before = stats_now().parks;

	weft_mutex_lock(&l.m);
	weft_waitgroup_add(&l.wg, 64);
	for (int i = 0; i < 64; i++) {
		OK(weft_try_go(queue_up, &l, i) > 0);
		await_parks(before, i + 1);
	}
	weft_mutex_unlock(&l.m);
	weft_waitgroup_wait(&l.wg);
	EQ(l.n, 64);
	for (int i = 0; i < 64; i++)
		EQ(l.order[i], i);
}

/* Burns more time than anybody waits in normal mode. */
static void
let_starve(void)
{
	int64_t end = weft_deadline(2 * WEFT_MS);

	while (weft_now() < end)
		;
}

/*
 * One processor, so each step is known. The waiter is woken by the first
 * unlock but finds the mutex taken again; it has waited too long by then, so
 * the second unlock gives it the mutex, and the processor, too.
 */
GTEST(hand_over, 1)
{
	struct line l = {0};
	uint64_t before = stats_now().parks;

	weft_mutex_lock(&l.m);
	weft_waitgroup_add(&l.wg, 1);
	OK(weft_try_go(queue_up, &l, 7) > 0);
	await_parks(before, 1);
	let_starve();
	weft_mutex_unlock(&l.m);
	OK(weft_mutex_try_lock(&l.m));
	EQ(l.n, 0);
	await_parks(before, 2);
	weft_mutex_unlock(&l.m);
	EQ(l.n, 1);
	weft_mutex_lock(&l.m);
	EQ(l.n, 1);
	weft_mutex_unlock(&l.m);
	weft_waitgroup_wait(&l.wg);
}

static void
hold_when_got(struct line *l, int i, weft_chan *go)
{
	weft_mutex_lock(&l->m);
	l->order[l->n++] = i;
	weft_recv(go, int);
	weft_mutex_unlock(&l->m);
	weft_waitgroup_done(&l->wg);
}

/* While it goes from hand to hand it is never free, not even in between. */
GTEST(none_overtakes_the_starving, 1)
{
	weft_chan *go = weft_chan_make(sizeof(int), 0);
	struct line l = {0};
	uint64_t before = stats_now().parks;

	weft_mutex_lock(&l.m);
	weft_waitgroup_add(&l.wg, 8);
	for (int i = 0; i < 8; i++) {
		OK(weft_try_go(hold_when_got, &l, i, go) > 0);
		await_parks(before, i + 1);
	}
	let_starve();
	weft_mutex_unlock(&l.m);
	OK(weft_mutex_try_lock(&l.m));	/* the last time */
	await_parks(before, 9);
	weft_mutex_unlock(&l.m);
	for (int i = 0; i < 8; i++) {
		OK(!weft_mutex_try_lock(&l.m));
		while (l.n < i + 1) {
			weft_yield();
			OK(!weft_mutex_try_lock(&l.m));
		}
		EQ(l.n, i + 1);
		let_starve();		/* for those behind it */
		weft_send(go, i);
	}
	weft_waitgroup_wait(&l.wg);
	for (int i = 0; i < 8; i++)
		EQ(l.order[i], i);
	OK(weft_mutex_try_lock(&l.m));
	weft_chan_release(go);
}

/* ---- fairness ---- */

struct greedy {
	weft_mutex m;
	weft_waitgroup wg;
	bool stop;		/* atomic */
};

static void
sleep_inside(struct greedy *g)
{
	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED)) {
		weft_mutex_lock(&g->m);
		weft_sleep(100 * WEFT_US);
		weft_mutex_unlock(&g->m);
	}
	weft_waitgroup_done(&g->wg);
}

/* One that holds it all the time does not keep others out. */
static void
fair(void)
{
	struct greedy g = {0};
	double end = t_now() + 10;

	weft_waitgroup_add(&g.wg, 1);
	OK(weft_try_go(sleep_inside, &g) > 0);
	for (int i = 0; i < 10; i++) {
		weft_sleep(100 * WEFT_US);
		weft_mutex_lock(&g.m);
		weft_mutex_unlock(&g.m);
	}
	OK(t_now() < end);
	__atomic_store_n(&g.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&g.wg);
}
ON_ALL(fair)

/* ---- lifetime ---- */

struct shared {
	weft_mutex m;
	int refs;		/* under m */
	weft_waitgroup *wg;
};

static void
drop_ref(struct shared *s)
{
	weft_waitgroup *wg = s->wg;
	int left;

	weft_mutex_lock(&s->m);
	left = --s->refs;
	weft_mutex_unlock(&s->m);
	if (left == 0)
		free(s);
	weft_waitgroup_done(wg);
}

PLAIN_THREAD(drop_plainly, drop_ref(arg))

/*
 * The last one frees it, while those before it may not have returned from
 * their unlocks. (A use after that is seen by AddressSanitizer.)
 */
static void
freed_by_the_last(void)
{
	weft_waitgroup wg = {0};
	pthread_t t;

	for (long r = t_scale(3000); r > 0; r--) {
		struct shared *s = calloc(1, sizeof *s);
		bool thread = r % 16 == 0;

		s->refs = 4;
		s->wg = &wg;
		weft_waitgroup_add(&wg, 4);
		if (thread)
			EQ(pthread_create(&t, NULL, drop_plainly, s), 0);
		else
			OK(weft_try_go(drop_ref, s) > 0);
		for (int i = 0; i < 3; i++)
			OK(weft_try_go(drop_ref, s) > 0);
		weft_waitgroup_wait(&wg);
		if (thread)
			pthread_join(t, NULL);
	}
}
ON_ALL(freed_by_the_last)

/* SPDX-License-Identifier: MIT */
/* weft_cond, between goroutines and plain threads alike. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { WAITERS = 20, THREADS = 4 };

struct gate {
	weft_mutex m;
	weft_cond c;
	weft_waitgroup wg;
	/* under m */
	int waiting, awake;
	int order[WAITERS];
	bool open;
};

/* With the mutex locked: lets others run until so many wait, or are awake. */
static void
await(struct gate *g, int *p, int n)
{
	while (*p != n) {
		weft_mutex_unlock(&g->m);
		weft_yield();
		weft_mutex_lock(&g->m);
	}
}

/* ---- exactly one ---- */

static void
wait_once(struct gate *g, int i)
{
	weft_mutex_lock(&g->m);
	g->waiting++;
	weft_cond_wait(&g->c, &g->m);
	g->order[g->awake++] = i;
	weft_mutex_unlock(&g->m);
	weft_waitgroup_done(&g->wg);
}

PLAIN_THREAD(wait_plainly, wait_once(arg, 0))

static void
signal_wakes_one(void)
{
	struct gate g = {0};
	pthread_t t[THREADS];

	weft_cond_signal(&g.c);		/* no waiter: not kept */
	weft_waitgroup_add(&g.wg, WAITERS);
	for (int i = 0; i < WAITERS - THREADS; i++)
		OK(weft_try_go(wait_once, &g, 0) > 0);
	threads_start(t, THREADS, wait_plainly, &g);
	weft_mutex_lock(&g.m);
	await(&g, &g.waiting, WAITERS);
	for (int n = 0; n < WAITERS; n++) {
		for (int i = 0; i < 20; i++) {
			EQ(g.awake, n);
			weft_mutex_unlock(&g.m);
			weft_yield();
			weft_mutex_lock(&g.m);
		}
		weft_cond_signal(&g.c);
		await(&g, &g.awake, n + 1);
	}
	weft_cond_signal(&g.c);
	weft_mutex_unlock(&g.m);
	weft_waitgroup_wait(&g.wg);
	threads_join(t, THREADS);
}
ON_ALL(signal_wakes_one)

/* ---- the one that has waited longest ---- */

static void
in_order(void)
{
	struct gate g = {0};

	weft_waitgroup_add(&g.wg, WAITERS);
	weft_mutex_lock(&g.m);
	for (int i = 0; i < WAITERS; i++) {
		OK(weft_try_go(wait_once, &g, i) > 0);
		await(&g, &g.waiting, i + 1);
	}
	for (int i = 0; i < WAITERS; i++) {
		weft_cond_signal(&g.c);
		await(&g, &g.awake, i + 1);
		EQ(g.order[i], i);
	}
	weft_mutex_unlock(&g.m);
	weft_waitgroup_wait(&g.wg);
}
ON_ALL(in_order)

/* A new one does not get the signal that was meant for an old one. */
static void
again_and_again(struct gate *g, int me)
{
	weft_mutex_lock(&g->m);
	for (int i = 0; i < 50; i++) {
		g->waiting++;
		weft_cond_wait(&g->c, &g->m);
		EQ(g->order[0], me);
		g->awake++;
	}
	weft_mutex_unlock(&g->m);
	weft_waitgroup_done(&g->wg);
}

static void
generations(void)
{
	enum { N = 5 };
	struct gate g = {0};

	weft_waitgroup_add(&g.wg, N);
	weft_mutex_lock(&g.m);
	for (int i = 0; i < N; i++) {
		OK(weft_try_go(again_and_again, &g, i) > 0);
		await(&g, &g.waiting, i + 1);
	}
	for (int i = 0; i < 50 * N; i++) {
		g.order[0] = i % N;
		weft_cond_signal(&g.c);
		await(&g, &g.awake, i + 1);
		if (i < 49 * N)
			await(&g, &g.waiting, N + i + 1);
	}
	weft_mutex_unlock(&g.m);
	weft_waitgroup_wait(&g.wg);
}
ON_ALL(generations)

/* ---- all ---- */

static void
rounds(struct gate *g, int n)
{
	for (int i = 0; i < n; i++) {
		weft_mutex_lock(&g->m);
		g->waiting++;
		weft_cond_wait(&g->c, &g->m);
		EQ(g->order[0], i);
		g->awake++;
		weft_mutex_unlock(&g->m);
	}
	weft_waitgroup_done(&g->wg);
}

PLAIN_THREAD(rounds_plainly, rounds(arg, 50))

static void
broadcast_wakes_all(void)
{
	struct gate g = {0};
	pthread_t t[THREADS];

	weft_waitgroup_add(&g.wg, WAITERS);
	for (int i = 0; i < WAITERS - THREADS; i++)
		OK(weft_try_go(rounds, &g, 50) > 0);
	threads_start(t, THREADS, rounds_plainly, &g);
	weft_mutex_lock(&g.m);
	for (int i = 0; i < 50; i++) {
		await(&g, &g.waiting, WAITERS);
		EQ(g.awake, 0);
		g.waiting = 0;
		g.order[0] = i;
		if (i % 2) {
			weft_cond_broadcast(&g.c);
			weft_mutex_unlock(&g.m);
		} else {
			weft_mutex_unlock(&g.m);
			weft_cond_broadcast(&g.c);
		}
		weft_mutex_lock(&g.m);
		while (g.awake < WAITERS) {
			weft_mutex_unlock(&g.m);
			weft_yield();
			weft_mutex_lock(&g.m);
		}
		g.awake = 0;
	}
	weft_mutex_unlock(&g.m);
	weft_waitgroup_wait(&g.wg);
	threads_join(t, THREADS);
}
ON_ALL(broadcast_wakes_all)

/* ---- two at a time: a signal is for the first ---- */

static void
stolen_not(struct gate *g, weft_chan *waiting, weft_chan *woken)
{
	weft_mutex_lock(&g->m);
	weft_send(waiting, 1);
	weft_cond_wait(&g->c, &g->m);
	weft_mutex_unlock(&g->m);
	weft_send(woken, 1);
}

static void
broadcast_when_open(struct gate *g)
{
	weft_mutex_lock(&g->m);
	while (!g->open)
		weft_cond_wait(&g->c, &g->m);
	weft_mutex_unlock(&g->m);
	weft_waitgroup_done(&g->wg);
}

/*
 * One waits; another comes to wait while the first is being signalled. The
 * signal is the first one's.
 */
static void
no_signal_is_stolen(void)
{
	weft_chan *waiting = weft_chan_make(sizeof(int), 2);
	weft_chan *woken = weft_chan_make(sizeof(int), 2);

	for (long r = t_scale(1000); r > 0; r--) {
		struct gate g = {0};
		int x;

		OK(weft_try_go(stolen_not, &g, waiting, woken) > 0);
		weft_recv(waiting, int);
		weft_mutex_lock(&g.m);	/* so it waits */
		weft_mutex_unlock(&g.m);
		weft_waitgroup_add(&g.wg, 1);
		OK(weft_try_go(broadcast_when_open, &g) > 0);
		weft_cond_signal(&g.c);
		OK(weft_chan_recv_until(woken, &x,
		    weft_deadline(10 * WEFT_SECOND)));
		weft_mutex_lock(&g.m);
		g.open = true;
		weft_cond_broadcast(&g.c);
		weft_mutex_unlock(&g.m);
		weft_waitgroup_wait(&g.wg);
	}
	weft_chan_release(waiting);
	weft_chan_release(woken);
}
ON_ALL(no_signal_is_stolen)

/* ---- a queue, the usual way ---- */

struct queue {
	weft_mutex m;
	weft_cond not_empty, not_full;
	weft_waitgroup wg;
	int n;			/* under m */
	long sum, each;
};

static void
produce(struct queue *q)
{
	for (long i = 0; i < q->each; i++) {
		weft_mutex_lock(&q->m);
		while (q->n == 3)
			weft_cond_wait(&q->not_full, &q->m);
		q->n++;
		weft_cond_signal(&q->not_empty);
		weft_mutex_unlock(&q->m);
	}
	weft_waitgroup_done(&q->wg);
}

/* Every other time with a deadline, which is over at once or far away. */
static void
consume(struct queue *q)
{
	for (long i = 0; i < q->each; i++) {
		weft_mutex_lock(&q->m);
		while (q->n == 0)
			if (i % 2)
				weft_cond_wait(&q->not_empty, &q->m);
			else
				weft_cond_wait_until(&q->not_empty, &q->m,
				    i % 4 ? weft_deadline(WEFT_SECOND) :
				    weft_deadline(20 * WEFT_US));
		OK(q->n > 0);
		q->n--;
		q->sum++;
		weft_mutex_unlock(&q->m);
		weft_cond_signal(&q->not_full);
	}
	weft_waitgroup_done(&q->wg);
}

PLAIN_THREAD(produce_plainly, produce(arg))

PLAIN_THREAD(consume_plainly, consume(arg))

static void
bounded_queue(void)
{
	struct queue q = { .each = t_scale(2000) };
	pthread_t t[2];

	weft_waitgroup_add(&q.wg, 10);
	for (int i = 0; i < 4; i++) {
		OK(weft_try_go(produce, &q) > 0);
		OK(weft_try_go(consume, &q) > 0);
	}
	EQ(pthread_create(&t[0], NULL, produce_plainly, &q), 0);
	EQ(pthread_create(&t[1], NULL, consume_plainly, &q), 0);
	weft_waitgroup_wait(&q.wg);
	EQ(q.not_empty.waiters_, 0);
	EQ(q.not_full.waiters_, 0);
	EQ(q.sum, 5 * q.each);
	EQ(q.n, 0);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}
ON_ALL(bounded_queue)

/* ---- until ---- */

static void
until_returns_with_the_mutex(void)
{
	weft_mutex m = {0};
	weft_cond c = {0};
	int64_t when;

	weft_mutex_lock(&m);
	OK(!weft_cond_wait_until(&c, &m, -1));
	OK(!weft_mutex_try_lock(&m));
	OK(!weft_cond_wait_until(&c, &m, weft_now()));
	OK(!weft_mutex_try_lock(&m));
	when = weft_deadline(2 * WEFT_MS);
	OK(!weft_cond_wait_until(&c, &m, when));
	OK(weft_now() >= when);
	OK(!weft_mutex_try_lock(&m));
	weft_mutex_unlock(&m);
}
ON_ALL(until_returns_with_the_mutex)

TEST(until_without_a_runtime)
{
	until_returns_with_the_mutex();
	thread_call(until_returns_with_the_mutex);
}

static void
wait_long(struct gate *g, int64_t when)
{
	weft_mutex_lock(&g->m);
	g->waiting++;
	OK(weft_cond_wait_until(&g->c, &g->m, when));
	g->awake++;
	weft_mutex_unlock(&g->m);
	weft_waitgroup_done(&g->wg);
}

/* One whose time was up is not in the way of those behind it. */
static void
late_ones_take_no_signal(void)
{
	struct gate g = {0};

	weft_mutex_lock(&g.m);
	for (int i = 0; i < 10; i++)
		OK(!weft_cond_wait_until(&g.c, &g.m,
		    weft_deadline(10 * WEFT_US)));
	weft_waitgroup_add(&g.wg, 2);
	OK(weft_try_go(wait_long, &g, weft_deadline(50 * WEFT_SECOND)) > 0);
	OK(weft_try_go(wait_long, &g, 0) > 0);
	await(&g, &g.waiting, 2);
	weft_cond_signal(&g.c);
	await(&g, &g.awake, 1);
	weft_cond_signal(&g.c);
	await(&g, &g.awake, 2);
	weft_mutex_unlock(&g.m);
	weft_waitgroup_wait(&g.wg);
}
ON_ALL(late_ones_take_no_signal)

/* ---- with a context ---- */

static void
context_returns_with_the_mutex(void)
{
	int64_t when = weft_deadline(2 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);
	weft_mutex m = {0};
	weft_cond c = {0};

	weft_mutex_lock(&m);
	OK(!weft_cond_wait_context(&c, &m, ctx));
	OK(weft_now() >= when);
	OK(!weft_mutex_try_lock(&m));
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	OK(!weft_cond_wait_context(&c, &m, ctx));	/* over already */
	OK(!weft_mutex_try_lock(&m));
	weft_mutex_unlock(&m);
	EQ(m.state_, 0);
	EQ(c.waiters_, 0);
	weft_context_release(ctx);
}
ON_ALL(context_returns_with_the_mutex)

TEST(context_without_a_runtime)
{
	context_returns_with_the_mutex();
	thread_call(context_returns_with_the_mutex);
}

/* A limit that is over lets others have the mutex all the same. */
static void
open_gate(struct gate *g)
{
	weft_mutex_lock(&g->m);
	g->open = true;
	weft_mutex_unlock(&g->m);
}

static void
waits_in_vain_let_others_lock(void)
{
	weft_context *ctx = weft_context_make(NULL);
	struct gate g = {0};

	weft_context_cancel(ctx, 0);
	weft_mutex_lock(&g.m);
	OK(weft_try_go(open_gate, &g) > 0);
	for (int i = 0; !g.open; i++)
		OK(!(i % 2 ? weft_cond_wait_until(&g.c, &g.m, -1) :
		    weft_cond_wait_context(&g.c, &g.m, ctx)));
	weft_mutex_unlock(&g.m);
	weft_context_release(ctx);
}
ON_ALL(waits_in_vain_let_others_lock)

static void
wait_cancelled(struct gate *g, weft_context *ctx, bool signalled)
{
	weft_mutex_lock(&g->m);
	g->waiting++;
	EQ(weft_cond_wait_context(&g->c, &g->m, ctx), signalled);
	g->awake++;
	weft_mutex_unlock(&g->m);
	weft_waitgroup_done(&g->wg);
}

/* Those that were cancelled, and have not left yet, take no signal. */
static void
cancelled_ones_take_no_signal(void)
{
	weft_context *ctx = weft_context_make(NULL);
	struct gate g = {0};

	weft_waitgroup_add(&g.wg, 5);
	weft_mutex_lock(&g.m);
	for (int i = 0; i < 3; i++)
		OK(weft_try_go(wait_cancelled, &g, ctx, false) > 0);
	await(&g, &g.waiting, 3);
	for (int i = 0; i < 2; i++)
		OK(weft_try_go(wait_cancelled, &g, NULL, true) > 0);
	await(&g, &g.waiting, 5);
	weft_context_cancel(ctx, 0);
	weft_cond_signal(&g.c);
	weft_cond_signal(&g.c);
	weft_mutex_unlock(&g.m);
	weft_waitgroup_wait(&g.wg);
	EQ(g.c.waiters_, 0);
	weft_context_release(ctx);
}
ON_ALL(cancelled_ones_take_no_signal)

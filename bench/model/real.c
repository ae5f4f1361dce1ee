/* SPDX-License-Identifier: MIT */
/* The workloads as goroutines, to compare the model with what is there. */
#include <stdlib.h>

#include "loads.h"

static weft_waitgroup all;

static void
compute_for(int64_t ns)
{
	int64_t end = weft_now() + ns;

	while (weft_now() < end)
		;
}

static double
by_op(int64_t start, long ops)
{
	return (double)(weft_now() - start) / (double)ops;
}

static void
node(weft_chan *up, int depth)
{
	weft_chan *c;
	char v = 0;

	if (depth == 0) {
		compute_for(TREE_LEAF_NS);
	} else {
		c = weft_chan_make(1, TREE_FAN);
		for (int i = 0; i < TREE_FAN; i++)
			weft_go(node, c, depth - 1);
		for (int i = 0; i < TREE_FAN; i++)
			weft_chan_recv(c, &v);
		weft_chan_release(c);
	}
	weft_chan_send(up, &v);
}

double
real_tree(int ps, long n)
{
	weft_chan *c = weft_chan_make(1, 1);
	int64_t start = weft_now();
	long nodes = 1, level = 1;
	int depth = 0;
	char v;

	(void)ps;
	n /= 50;
	while (nodes < n) {
		level *= TREE_FAN;
		nodes += level;
		depth++;
	}
	weft_go(node, c, depth);
	weft_chan_recv(c, &v);
	weft_chan_release(c);
	return by_op(start, nodes);
}

static int arrived;
static int64_t started;

/* Keeps its P until all others are here, too, each on its own P then. */
static void
spread(int ps)
{
	if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == ps)
		started = weft_now();
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < ps)
		;
}

static void
one_of(void (*fn)(long n), int ps, long n)
{
	spread(ps);
	fn(n / ps);
}

/* Runs fn on as many goroutines as there are Ps. */
static double
on_all(void (*fn)(long n), int ps, long n)
{
	arrived = 0;
	weft_waitgroup_add(&all, ps);
	for (int i = 0; i < ps; i++)
		weft_go(one_of, fn, ps, n);
	weft_waitgroup_wait(&all);
	return by_op(started, n);
}

static void
spawner(long n)
{
	weft_waitgroup own = {0};

	weft_waitgroup_add(&own, (int)n);
	for (long i = 0; i < n; i++)
		weft_go(weft_waitgroup_done, &own);
	weft_waitgroup_wait(&own);
	weft_waitgroup_done(&all);
}

double
real_storm(int ps, long n)
{
	return on_all(spawner, ps, n);
}

static void
spawner_shared(long n)
{
	for (long i = 0; i < n; i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(weft_waitgroup_done, &all);
	}
	weft_waitgroup_done(&all);
}

double
real_storm_shared(int ps, long n)
{
	return on_all(spawner_shared, ps, n);
}

static void
answer(weft_chan *in, weft_chan *out)
{
	for (long v; weft_chan_recv(in, &v); )
		weft_chan_send(out, &v);
	weft_chan_release(in);
	weft_chan_release(out);
}

static void
pair(long n)
{
	weft_chan *to = weft_chan_make(sizeof n, 0);
	weft_chan *from = weft_chan_make(sizeof n, 0);
	long v = 0;

	weft_chan_retain(to);
	weft_chan_retain(from);
	weft_go(answer, to, from);
	for (long i = 0; i < n / 2; i++) {
		weft_chan_send(to, &v);
		weft_chan_recv(from, &v);
	}
	weft_chan_close(to);
	weft_chan_release(to);
	weft_chan_release(from);
	weft_waitgroup_done(&all);
}

double
real_pairs(int ps, long n)
{
	return on_all(pair, ps, n);
}

double
real_half(int ps, long n)
{
	return on_all(pair, (ps + 1) / 2, n);
}

static weft_chan *shared;

/* As many elements are sent as are received, and there is room for all. */
static void
channel_user(long n)
{
	long v = 0;

	for (long i = 0; i < n / 2; i++) {
		weft_chan_send(shared, &v);
		weft_chan_recv(shared, &v);
	}
	weft_waitgroup_done(&all);
}

double
real_channel(int ps, long n)
{
	double ns;

	shared = weft_chan_make(sizeof n, 1024);
	ns = on_all(channel_user, ps, n);
	weft_chan_release(shared);
	return ns;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static void
timer_user(long n)
{
	weft_timer *t = weft_after_func(WEFT_MS * 1000, nothing, NULL);

	for (long i = 0; i < n; i++) {
		weft_timer_stop(t);
		weft_timer_reset(t, WEFT_MS * 1000);
	}
	weft_timer_free(t);
	weft_waitgroup_done(&all);
}

double
real_timers(int ps, long n)
{
	return on_all(timer_user, ps, n);
}

static void
long_one(void)
{
	compute_for(WAKE_TASK_NS);
	weft_waitgroup_done(&all);
}

double
real_wake(int ps, long n)
{
	int64_t start = weft_now();

	(void)ps;
	n /= 500;
	weft_waitgroup_add(&all, (int)n);
	for (long i = 0; i < n; i++)
		weft_go(long_one);
	weft_waitgroup_wait(&all);
	return by_op(start, n);
}

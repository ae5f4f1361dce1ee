/* SPDX-License-Identifier: MIT */
/* Making goroutines, waiting for their results, and letting others run. */
#include "bench.h"

#include <weft.h>

static void
spawn(long n)
{
	weft_waitgroup wg = {0};
	double t = bench_now_ns();

	for (long i = 0; i < n; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go(weft_waitgroup_done, &wg);
	}
	weft_waitgroup_wait(&wg);
	bench_ns_op("spawn", n, bench_now_ns() - t);
}

void
bench_spawn(void)
{
	spawn(200000);		/* warm up, as the peers do */
	spawn(3000000);
}

static void
child(weft_chan *done)
{
	weft_chan_send(done, NULL);
}

/* Spawns one child and waits for it, again and again. */
void
bench_spawnjoin(void)
{
	const long n = 1000000;
	int64_t before = weft_goroutines();
	double t = bench_now_ns();
	weft_chan *done = weft_chan_make(0, 0);

	for (long i = 0; i < n; i++) {
		weft_go(child, done);
		weft_chan_recv(done, NULL);
	}
	bench_ns_op("spawnjoin", n, bench_now_ns() - t);
	bench_settle(before);
	weft_chan_release(done);
}

/* A few frames deep, as in a program: the way back costs something too. */
static __attribute__((noinline)) void
deep(int frames)
{
	if (frames > 0) {
		deep(frames - 1);
		__asm__ volatile("");	/* not a tail call */
	} else {
		weft_yield();
	}
}

static void
yielder(long n, weft_waitgroup *wg)
{
	for (long i = 0; i < n; i++)
		deep(3);
	weft_waitgroup_done(wg);
}

void
bench_yield(void)
{
	const long n = 8000000;
	weft_waitgroup wg = {0};
	double t = bench_now_ns();

	weft_waitgroup_add(&wg, 4);
	for (int i = 0; i < 4; i++)
		weft_go(yielder, n / 4, &wg);
	weft_waitgroup_wait(&wg);
	bench_ns_op("yield", n, bench_now_ns() - t);
}

/*
 * A tree of fan-out 10: each node sums up what its children send it. Once a
 * value was received its sender is done with the channel, so the node that
 * made one releases it after the last.
 */
static void
sky(weft_chan *c, long num, long size)
{
	weft_chan *rc;
	long sum = 0, v;

	if (size == 1) {
		weft_chan_send(c, &num);
		return;
	}
	rc = weft_chan_make(sizeof v, 0);
	for (long i = 0; i < 10; i++)
		weft_go(sky, rc, num + i * (size / 10), size / 10);
	for (int i = 0; i < 10; i++) {
		weft_chan_recv(rc, &v);
		sum += v;
	}
	weft_chan_release(rc);
	weft_chan_send(c, &sum);
}

static void
skynet(void)
{
	int64_t before = weft_goroutines();
	weft_chan *c = weft_chan_make(sizeof(long), 0);
	double t = bench_now_ns();
	long sum;

	weft_go(sky, c, 0, 1000000);
	weft_chan_recv(c, &sum);
	bench_check("skynet1M", sum, 499999500000);
	bench_ms("skynet1M", bench_now_ns() - t);
	bench_settle(before);
	weft_chan_release(c);
}

void
bench_skynet(void)
{
	for (int i = 0; i < 3; i++)
		skynet();
}

static long fib(long n);

static void
fib_left(weft_chan *c, long n)
{
	long v = fib(n);

	weft_chan_send(c, &v);
}

/* Fork and join: a goroutine for the left branch, this one does the right. */
static long
fib(long n)
{
	weft_chan *c;
	long left, right;

	if (n < 2)
		return n;
	c = weft_chan_make(sizeof left, 1);
	weft_go(fib_left, c, n - 1);
	right = fib(n - 2);
	weft_chan_recv(c, &left);
	weft_chan_release(c);
	return left + right;
}

void
bench_fib(void)
{
	for (int i = 0; i < 2; i++) {
		int64_t before = weft_goroutines();
		double t = bench_now_ns();

		bench_check("fib27", fib(27), 196418);
		bench_ms("fib27", bench_now_ns() - t);
		bench_settle(before);
	}
}

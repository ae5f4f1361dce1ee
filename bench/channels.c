/* SPDX-License-Identifier: MIT */
/*
 * Handing values from goroutine to goroutine.
 *
 * Each workload takes the time when the last value has arrived, lets what it
 * started come to its end, and releases the channels when no goroutine is left.
 */
#include "bench.h"

#include <weft.h>

static void
echo(weft_chan *in, weft_chan *out)
{
	long v;

	while (weft_chan_recv(in, &v))
		weft_chan_send(out, &v);
	weft_chan_close(out);
}

void
bench_pingpong(void)
{
	const long n = 2000000;
	int64_t before = weft_goroutines();
	weft_chan *a = weft_chan_make(sizeof(long), 0);
	weft_chan *b = weft_chan_make(sizeof(long), 0);
	double t;
	long v = -1;

	weft_go(echo, a, b);
	t = bench_now_ns();
	for (long i = 0; i < n; i++) {
		weft_chan_send(a, &i);
		weft_chan_recv(b, &v);
	}
	bench_ns_op("pingpong", n, bench_now_ns() - t);
	bench_check("pingpong", v, n - 1);
	weft_chan_close(a);
	bench_settle(before);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* Whoever gets the spent token ends the ring: each closes for the next. */
static void
node(weft_chan *in, weft_chan *out, weft_chan *done)
{
	long v;

	while (weft_chan_recv(in, &v)) {
		if (v == 0) {
			weft_chan_send(done, &v);
			break;
		}
		v--;
		weft_chan_send(out, &v);
	}
	weft_chan_close(out);
}

void
bench_ring(void)
{
	enum { NODES = 503 };
	const long n = 3000000;
	int64_t before = weft_goroutines();
	weft_chan *c[NODES], *done = weft_chan_make(sizeof(long), 0);
	double t;

	for (int i = 0; i < NODES; i++)
		c[i] = weft_chan_make(sizeof(long), 0);
	for (int i = 0; i < NODES; i++)
		weft_go(node, c[i], c[(i + 1) % NODES], done);
	t = bench_now_ns();
	weft_chan_send(c[0], &n);
	weft_chan_recv(done, NULL);
	bench_ns_op("ring", n, bench_now_ns() - t);
	bench_settle(before);
	for (int i = 0; i < NODES; i++)
		weft_chan_release(c[i]);
	weft_chan_release(done);
}

static void
count_up(weft_chan *c, long n)
{
	for (long i = 0; i < n; i++)
		weft_chan_send(c, &i);
}

static void
count_up_and_close(weft_chan *c, long n)
{
	count_up(c, n);
	weft_chan_close(c);
}

void
bench_spsc(void)
{
	const long n = 10000000;
	int64_t before = weft_goroutines();
	weft_chan *c = weft_chan_make(sizeof(long), 128);
	double t = bench_now_ns();
	long sum = 0, v;

	weft_go(count_up_and_close, c, n);
	while (weft_chan_recv(c, &v))
		sum += v;
	bench_ns_op("chan_spsc128", n, bench_now_ns() - t);
	bench_check("chan_spsc128", sum, n * (n - 1) / 2);
	bench_settle(before);
	weft_chan_release(c);
}

static void
producer(weft_chan *c, long n, weft_waitgroup *wg)
{
	count_up(c, n);
	weft_waitgroup_done(wg);
}

static void
consumer(weft_chan *c, long *received, weft_waitgroup *wg)
{
	long n = 0, v;

	while (weft_chan_recv(c, &v))
		n++;
	__atomic_add_fetch(received, n, __ATOMIC_RELAXED);
	weft_waitgroup_done(wg);
}

void
bench_mpmc(void)
{
	const long n = 4000000;
	weft_waitgroup producers = {0}, consumers = {0};
	weft_chan *c = weft_chan_make(sizeof(long), 128);
	double t = bench_now_ns();
	long received = 0;

	weft_waitgroup_add(&producers, 4);
	weft_waitgroup_add(&consumers, 4);
	for (int i = 0; i < 4; i++)
		weft_go(producer, c, n / 4, &producers);
	for (int i = 0; i < 4; i++)
		weft_go(consumer, c, &received, &consumers);
	weft_waitgroup_wait(&producers);
	weft_chan_close(c);
	weft_waitgroup_wait(&consumers);
	bench_ns_op("chan_mpmc128", n, bench_now_ns() - t);
	bench_check("chan_mpmc128", received, n);
	weft_chan_release(c);
}

void
bench_select(void)
{
	const long n = 2000000;
	int64_t before = weft_goroutines();
	weft_chan *c[4];
	weft_case cases[4];
	double t;

	for (int i = 0; i < 4; i++) {
		c[i] = weft_chan_make(sizeof(long), 0);
		cases[i] = WEFT_CASE_RECV(c[i], NULL);
		weft_go(count_up, c[i], n / 4);
	}
	t = bench_now_ns();
	for (long i = 0; i < n; i++)
		weft_select(cases, 4);
	bench_ns_op("select4", n, bench_now_ns() - t);
	bench_settle(before);
	for (int i = 0; i < 4; i++)
		weft_chan_release(c[i]);
}

static void
generate(weft_chan *out, int *quit)
{
	for (long i = 2; !__atomic_load_n(quit, __ATOMIC_RELAXED); i++)
		weft_chan_send(out, &i);
	weft_chan_close(out);
}

static void
filter(weft_chan *in, weft_chan *out, long prime)
{
	long v;

	while (weft_chan_recv(in, &v))
		if (v % prime != 0)
			weft_chan_send(out, &v);
	weft_chan_close(out);
}

void
bench_sieve(void)
{
	enum { PRIMES = 1500 };
	int64_t before = weft_goroutines();
	weft_chan *c[PRIMES + 1];
	double t = bench_now_ns();
	long prime = 0;
	int quit = 0;

	c[0] = weft_chan_make(sizeof prime, 0);
	weft_go(generate, c[0], &quit);
	for (int i = 0; i < PRIMES; i++) {
		weft_chan_recv(c[i], &prime);
		c[i + 1] = weft_chan_make(sizeof prime, 0);
		weft_go(filter, c[i], c[i + 1], prime);
	}
	bench_ms("sieve1500", bench_now_ns() - t);
	bench_check("sieve1500", prime, 12553);
	__atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
	while (weft_chan_recv(c[PRIMES], NULL))
		;			/* what is under way */
	bench_settle(before);
	for (int i = 0; i <= PRIMES; i++)
		weft_chan_release(c[i]);
}

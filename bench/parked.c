/* SPDX-License-Identifier: MIT */
/*
 * A million goroutines that wait for the same thing; and a million that will
 * only begin when it is there, which have no stack until then.
 */
#include "bench.h"

#include <weft.h>

static long ready;

static void
waiter(weft_chan *gate)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
	weft_chan_recv(gate, NULL);
}

void
bench_parked(void)
{
	const long n = 1000000;
	int64_t before = weft_goroutines();
	double r0 = bench_resident(), t, ns;
	weft_chan *gate = weft_chan_make(sizeof(long), 0);

	t = bench_now_ns();
	for (long i = 0; i < n; i++)
		weft_go(waiter, gate);
	while (__atomic_load_n(&ready, __ATOMIC_RELAXED) < n)
		weft_sleep(WEFT_MS);
	weft_sleep(200 * WEFT_MS);	/* until the last of them waits */
	ns = bench_now_ns() - t;
	bench_value("parked_mem", (bench_resident() - r0) / (double)n,
	    "bytes/g");
	bench_ns_op("parked_spawn", n, ns);
	t = bench_now_ns();
	weft_chan_close(gate);
	bench_settle(before);
	bench_ns_op("parked_wake", n, bench_now_ns() - t);
	weft_chan_release(gate);
}

static void
begun(void)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
}

void
bench_parked_lazy_chan(void)
{
	const long n = 1000000;
	int64_t before = weft_goroutines();
	double r0 = bench_resident(), t = bench_now_ns();
	weft_chan *gate = weft_chan_make(sizeof(long), 0);

	ready = 0;
	for (long i = 0; i < n; i++)
		weft_go_recv(gate, NULL, NULL, begun);
	bench_ns_op("lazy_chan_spawn", n, bench_now_ns() - t);
	bench_value("parked_lazy_chan", (bench_resident() - r0) / (double)n,
	    "bytes/g");
	t = bench_now_ns();
	weft_chan_close(gate);
	bench_settle(before);
	bench_ns_op("lazy_chan_wake", n, bench_now_ns() - t);
	bench_check("parked_lazy_chan", ready, n);
	weft_chan_release(gate);
}

void
bench_parked_lazy_time(void)
{
	const long n = 1000000;
	int64_t before = weft_goroutines();
	int64_t when = weft_deadline(3 * WEFT_SECOND);
	double r0 = bench_resident(), t = bench_now_ns();

	ready = 0;
	for (long i = 0; i < n; i++)
		weft_go_at(when + i, begun);
	bench_ns_op("lazy_time_spawn", n, bench_now_ns() - t);
	bench_value("parked_lazy_time", (bench_resident() - r0) / (double)n,
	    "bytes/g");
	weft_sleep_until(when);
	t = bench_now_ns();
	bench_settle(before);
	bench_ns_op("lazy_time_wake", n, bench_now_ns() - t);
	bench_check("parked_lazy_time", ready, n);
}

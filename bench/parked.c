/* SPDX-License-Identifier: MIT */
/* A million goroutines that wait for the same thing. */
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

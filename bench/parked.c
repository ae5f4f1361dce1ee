/* SPDX-License-Identifier: MIT */
/* A million goroutines that wait for the same thing. */
#include "bench.h"

#include <time.h>

#include <weft.h>

static long ready;

static void
waiter(weft_waitgroup *gate)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(gate);
}

void
bench_parked(void)
{
	const long n = 1000000;
	const struct timespec settle = { .tv_nsec = 200000000 };
	weft_waitgroup gate = {0};
	int64_t before = weft_count();
	double r0 = bench_resident(), t = bench_now_ns(), ns;

	weft_waitgroup_add(&gate, 1);
	for (long i = 0; i < n; i++)
		weft_go(waiter, &gate);
	while (__atomic_load_n(&ready, __ATOMIC_RELAXED) < n)
		weft_yield();
	nanosleep(&settle, NULL);	/* as the peers do */
	ns = bench_now_ns() - t;
	bench_value("parked_mem", (bench_resident() - r0) / (double)n,
	    "bytes/g");
	bench_ns_op("parked_spawn", n, ns);
	t = bench_now_ns();
	weft_waitgroup_done(&gate);
	while (weft_count() > before)
		weft_yield();
	bench_ns_op("parked_wake", n, bench_now_ns() - t);
}

/* SPDX-License-Identifier: MIT */
/* Making goroutines, and letting others run. */
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

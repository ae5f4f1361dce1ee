/* SPDX-License-Identifier: MIT */
/* Goroutines that want the same lock. */
#include "bench.h"

#include <weft.h>

static struct {
	weft_mutex lock;
	long count;		/* under lock */
} shared;

static void
locker(long n, weft_waitgroup *wg)
{
	for (long i = 0; i < n; i++) {
		weft_mutex_lock(&shared.lock);
		shared.count++;
		weft_mutex_unlock(&shared.lock);
	}
	weft_waitgroup_done(wg);
}

void
bench_mutex(void)
{
	const long n = 8000000;
	weft_waitgroup wg = {0};
	double t = bench_now_ns();

	weft_waitgroup_add(&wg, 8);
	for (int i = 0; i < 8; i++)
		weft_go(locker, n / 8, &wg);
	weft_waitgroup_wait(&wg);
	bench_ns_op("mutex8", n, bench_now_ns() - t);
	bench_check("mutex8", shared.count, n);
}

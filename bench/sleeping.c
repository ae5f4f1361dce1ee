/* SPDX-License-Identifier: MIT */
/* What sleeping costs, and a timer that is stopped before it fires. */
#include "bench.h"

#include <weft.h>

static void
sleeper(int64_t ns, weft_waitgroup *wg)
{
	weft_sleep(ns);
	weft_waitgroup_done(wg);
}

void
bench_sleepers(void)
{
	const long n = 500000;
	weft_waitgroup wg = {0};
	double t = bench_now_ns();

	for (long i = 0; i < n; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go(sleeper, (1 + i % 1000) * 100 * WEFT_US, &wg);
	}
	weft_waitgroup_wait(&wg);
	bench_ns_op("sleep_many", n, bench_now_ns() - t);
}

static void
nothing(void *arg)
{
	(void)arg;
}

void
bench_timers(void)
{
	const long n = 5000000;
	double t = bench_now_ns();
	long stopped = 0;

	for (long i = 0; i < n; i++) {
		weft_timer *tm = weft_after_func(3600 * WEFT_SECOND, nothing,
		    NULL);

		stopped += weft_timer_stop(tm);
		weft_timer_free(tm);
	}
	bench_ns_op("timer_churn", n, bench_now_ns() - t);
	bench_check("timer_churn", stopped, n);
}

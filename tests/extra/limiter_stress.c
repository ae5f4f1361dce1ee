/* SPDX-License-Identifier: MIT */
/*
 * A limiter under load: in any stretch of time from the first call on, no more
 * tokens are used than burst + rate * time, whoever gives up meanwhile.
 */
#include <pthread.h>

#include <weft/extra.h>

#include "t.h"
#include "workers.h"

enum { GOROUTINES = 16, RATE = 50000, BURST = 100 };

static struct load {
	weft_limiter l;
	long used, gave_up;	/* atomic */
} load;

static bool
wait_somehow(unsigned r, uint64_t n)
{
	weft_context *ctx;
	bool got;

	switch (r % 4) {
	case 0:
		return weft_limiter_try_wait(&load.l, n);
	case 1:
		return weft_limiter_wait_until(&load.l, n,
		    weft_deadline(r / 4 % 500 * WEFT_US));
	case 2:
		ctx = weft_context_make_until(NULL,
		    weft_deadline(r / 4 % 500 * WEFT_US));
		if (r / 64 % 2)
			weft_context_cancel(ctx, 0);
		got = weft_limiter_wait_context(&load.l, n, ctx);
		weft_context_release(ctx);
		return got;
	default:
		weft_limiter_wait(&load.l, n);
		return true;
	}
}

static void
work(unsigned seed)
{
	while (workers_wanted()) {
		unsigned r = (seed = seed * 1103515245 + 12345) >> 8;
		uint64_t n = r / 4096 % 5 + 1;

		if (wait_somehow(r, n))
			__atomic_add_fetch(&load.used, (long)n,
			    __ATOMIC_SEQ_CST);
		else
			__atomic_add_fetch(&load.gave_up, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
	weft_waitgroup_done(&workers.wg);
}

PLAIN_THREAD(work_plainly, work((unsigned)(uintptr_t)arg))

static void
run(void)
{
	int64_t start, now;
	long used;

	load.l = (weft_limiter){ .rate = RATE, .burst = BURST };
	start = weft_now();
	workers_start(GOROUTINES, work, work_plainly);
	while (t_more(3)) {
		weft_sleep(WEFT_MS);
		used = __atomic_load_n(&load.used, __ATOMIC_SEQ_CST);
		now = weft_now();
		OK((double)used <= BURST + (double)(now - start) * RATE / 1e9);
	}
	workers_stop();
	OK(load.used > BURST);
	OK(load.gave_up > 0);
}

GTEST(never_too_many, 4)
{
	run();
}

GTEST(never_too_many_more_ps, 16)
{
	run();
}

/* ---- first come, first served ---- */

static struct order {
	weft_limiter l;
	weft_waitgroup wg;
	int64_t latest;		/* atomic: of calls that have returned */
	bool stop;		/* atomic */
} order = { .l = { .rate = 1e6, .burst = 3 } };

/* A call that begins after another has returned gets a later time. */
static void
reserve(void)
{
	while (!__atomic_load_n(&order.stop, __ATOMIC_RELAXED)) {
		int64_t seen = __atomic_load_n(&order.latest, __ATOMIC_SEQ_CST);
		int64_t at = weft_limiter_reserve(&order.l, 1);
		int64_t latest = seen;

		OK(at > seen);
		while (latest < at && !__atomic_compare_exchange_n(
		    &order.latest, &latest, at, false, __ATOMIC_SEQ_CST,
		    __ATOMIC_SEQ_CST))
			;
	}
	weft_waitgroup_done(&order.wg);
}

GTEST(times_in_order_of_arrival, 4)
{
	/* A debt from the start, so that no two have the time of their call. */
	weft_limiter_reserve(&order.l, 10000000);
	weft_waitgroup_add(&order.wg, 8);
	for (int i = 0; i < 8; i++)
		weft_go(reserve);
	while (t_more(1))
		weft_sleep(WEFT_MS);
	__atomic_store_n(&order.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&order.wg);
}

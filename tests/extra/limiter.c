/* SPDX-License-Identifier: MIT */
/*
 * weft_limiter. What is said of times has no upper limit where the machine
 * may be late: a reservation tells what the limiter decided, exactly.
 */
#include <math.h>
#include <pthread.h>

#include <weft/extra.h>

#include "plain_thread.h"
#include "t.h"

GTEST(zero_value_has_no_limit, 1)
{
	weft_limiter l = {0};
	int64_t before = weft_now();

	for (int i = 0; i < 1000; i++) {
		OK(weft_limiter_try_wait(&l, 1000000));
		weft_limiter_wait(&l, UINT64_MAX);
		OK(weft_limiter_reserve(&l, 1000) <= weft_now());
	}
	OK(weft_limiter_reserve(&l, 1) >= before);
}

/* A rate so low that nothing comes during the test. */
GTEST(burst, 1)
{
	weft_limiter l = { .rate = 1e-6, .burst = 5 }, one = { .rate = 1e-6 };

	OK(!weft_limiter_try_wait(&l, 6));
	OK(weft_limiter_try_wait(&l, 3));
	OK(!weft_limiter_try_wait(&l, 3));
	OK(weft_limiter_try_wait(&l, 0));
	OK(weft_limiter_try_wait(&l, 2));
	OK(!weft_limiter_try_wait(&l, 1));
	OK(weft_limiter_try_wait(&l, 0));
	OK(weft_limiter_try_wait(&one, 1));
	OK(!weft_limiter_try_wait(&one, 1));
}

/* Without a burst each has its own time, exactly one period apart. */
GTEST(reserve_spaces, 1)
{
	weft_limiter l = { .rate = 10, .burst = 1 };
	int64_t before = weft_now(), first = weft_limiter_reserve(&l, 1), at;

	OK(first >= before && first <= weft_now());
	at = weft_limiter_reserve(&l, 1);
	OK(at >= before + WEFT_SECOND / 10);
	OK(at <= weft_now() + WEFT_SECOND / 10);
	for (int i = 1; i < 50; i++) {
		int64_t next = weft_limiter_reserve(&l, 1);

		EQ(next - at, WEFT_SECOND / 10);
		at = next;
	}
	EQ(weft_limiter_reserve(&l, 3) - at, 3 * WEFT_SECOND / 10);
	OK(!weft_limiter_try_wait(&l, 1));
}

/* More than the burst: as long as it takes, from a full bucket. */
GTEST(more_than_burst, 1)
{
	weft_limiter l = { .rate = 100, .burst = 10 };
	int64_t before = weft_now(), at = weft_limiter_reserve(&l, 30);

	OK(at >= before + 200 * WEFT_MS);
	OK(at <= weft_now() + 200 * WEFT_MS);
}

/* The bucket fills at the rate, and not beyond the burst. */
GTEST(refills, 1)
{
	weft_limiter l = { .rate = 1000, .burst = 3 };

	OK(weft_limiter_try_wait(&l, 3));
	weft_sleep(20 * WEFT_MS);
	OK(!weft_limiter_try_wait(&l, 4));
	OK(weft_limiter_try_wait(&l, 3));
}

/* So many a second, with rates that do not divide one. */
GTEST(precise_rates, 1)
{
	static const double rates[] = { 3, 7, 300000, 3e6, 7e7, 3e8 };

	for (int i = 0; i < 6; i++) {
		weft_limiter l = { .rate = rates[i] };
		int64_t first = weft_limiter_reserve(&l, 1), last = 0;
		double ns;

		/* The first ones may come later than their time. */
		for (int j = 0; j < 10000; j++)
			first = weft_limiter_reserve(&l, 1000);
		for (int j = 0; j < 10000; j++)
			last = weft_limiter_reserve(&l, 1);
		ns = (double)(last - first);
		if (last <= weft_now())
			continue;	/* a slow machine: no debt */
		OK(fabs(ns * rates[i] / 1e13 - 1) < 0.005);
	}
}

GTEST(waits, 2)
{
	weft_limiter l = { .rate = 1000, .burst = 5 };
	int64_t before = weft_now();

	for (int i = 0; i < 35; i++)
		weft_limiter_wait(&l, 1);
	OK(weft_now() - before >= 30 * WEFT_MS);
}

static void *
wait_plainly(void *l)
{
	weft_limiter_wait(l, 10);
	weft_limiter_wait(l, 10);
	return NULL;
}

TEST(without_runtime)
{
	weft_limiter l = { .rate = 1000, .burst = 10 };
	int64_t before = weft_now();

	thread_run(wait_plainly, &l);
	OK(weft_now() - before >= 10 * WEFT_MS);
	OK(!weft_limiter_wait_until(&l, 1000, weft_deadline(WEFT_MS)));
}

/* ---- limits ---- */

GTEST(until, 1)
{
	weft_limiter l = { .rate = 1, .burst = 2 };
	int64_t before = weft_now();

	/* What is there is taken whatever the time says. */
	OK(weft_limiter_wait_until(&l, 1, weft_now()));
	OK(weft_limiter_wait_until(&l, 1, 1));
	/* Refused at once, and nothing is taken. */
	for (int i = 0; i < 1000; i++)
		OK(!weft_limiter_wait_until(&l, 1,
		    before + WEFT_SECOND / 2));
	OK(weft_limiter_reserve(&l, 1) <= weft_now() + WEFT_SECOND);
	l = (weft_limiter){ .rate = 100 };
	OK(weft_limiter_wait_until(&l, 1, 0));
	OK(weft_limiter_wait_until(&l, 1, 0));
	OK(weft_limiter_wait_until(&l, 1, weft_deadline(WEFT_SECOND)));
}

static void
cancel_soon(weft_context *ctx)
{
	weft_sleep(2 * WEFT_MS);
	weft_context_cancel(ctx, 0);
}

GTEST(cancelled_gives_back, 2)
{
	weft_limiter l = { .rate = 0.01, .burst = 1 };
	weft_context *ctx = weft_context_make(NULL);
	int64_t at;

	OK(weft_limiter_wait_context(&l, 1, ctx));
	weft_go(cancel_soon, ctx);
	OK(!weft_limiter_wait_context(&l, 1, ctx));
	OK(!weft_limiter_wait_context(&l, 1, ctx));
	/* The next one has the time that the cancelled one had. */
	at = weft_limiter_reserve(&l, 1);
	OK(at <= weft_now() + 100 * WEFT_SECOND);
	/* Of a cancelled context, what is there is taken all the same. */
	l = (weft_limiter){ .rate = 0.01 };
	OK(weft_limiter_wait_context(&l, 1, ctx));
	weft_context_release(ctx);
}

GTEST(context_deadline, 1)
{
	weft_context *ctx = weft_context_make_until(NULL,
	    weft_deadline(20 * WEFT_SECOND));
	weft_limiter l = { .rate = 0.01 }, fast = { .rate = 1000 };

	OK(weft_limiter_wait_context(&l, 1, ctx));
	OK(!weft_limiter_wait_context(&l, 1, ctx));
	OK(weft_limiter_wait_context(&fast, 3, ctx));
	OK(weft_limiter_wait_context(&fast, 3, NULL));
	OK(weft_now() < weft_context_deadline(ctx));
	weft_context_release(ctx);
}

/* Beyond the end of the clock: nothing is taken. */
GTEST(never, 1)
{
	weft_limiter l = { .rate = 1e-9, .burst = 2 };

	EQ(weft_limiter_reserve(&l, UINT64_MAX), WEFT_NEVER);
	OK(!weft_limiter_wait_until(&l, UINT64_MAX, weft_deadline(WEFT_MS)));
	OK(weft_limiter_try_wait(&l, 2));
}

/* ---- first come, first served ---- */

enum { LINE = 16, PERIOD_MS = 2 };

struct line {
	weft_limiter l;
	weft_waitgroup wg;
	int64_t through[LINE];
};

static void
stand(struct line *q, int me)
{
	weft_limiter_wait(&q->l, 1);
	q->through[me] = weft_now();
	weft_waitgroup_done(&q->wg);
}

/* That a waiter took its tokens is to be seen only in the limiter's word. */
static uint64_t
word(struct line *q)
{
	return __atomic_load_n(&q->l.full_, __ATOMIC_RELAXED);
}

/* The n-th to come waits for n periods, whoever else waits. */
GTEST(each_waits_for_those_before, 2)
{
	struct line q = { .l = { .rate = 1000.0 / PERIOD_MS } };
	int64_t start = weft_now();

	weft_limiter_wait(&q.l, 1);
	weft_waitgroup_add(&q.wg, LINE);
	for (int i = 0; i < LINE; i++) {
		uint64_t before = word(&q);

		weft_go(stand, &q, i);
		while (word(&q) == before)
			weft_yield();
	}
	weft_waitgroup_wait(&q.wg);
	for (int i = 0; i < LINE; i++)
		OK(q.through[i] - start >= (i + 1) * PERIOD_MS * WEFT_MS);
}

DIES(negative_rate, 1, "the rate is negative or not a number")
{
	weft_limiter l = { .rate = -1 };

	weft_limiter_try_wait(&l, 1);
}

DIES(rate_is_not_a_number, 1, "the rate is negative or not a number")
{
	weft_limiter l = { .rate = NAN };

	weft_limiter_wait(&l, 1);
}

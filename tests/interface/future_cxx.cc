/* SPDX-License-Identifier: MIT */
/* Futures in C++: results of several types, contexts, ranges. */
#include <cerrno>
#include <cstdlib>

#include <weft.h>

#include "t.h"

static long twice(long n) { return 2 * n; }
static double half(double d) { return d / 2; }
static float quarter(float d, int by) { return d / (float)by; }
static bool is_set(const int &v) { return v != 0; }
static void store(int *at, int v) { *at = v; }

static long
fib(long n)
{
	weft_future(long) left;

	if (n < 2)
		return n;
	weft_future_go(&left, fib, n - 1);
	long right = fib(n - 2);
	return weft_future_join(&left) + right;
}

static void
results()
{
	weft_future(long) l;
	weft_future(double) d;
	weft_future(float) f;
	weft_future(bool) b;
	weft_future(void) v;
	int at = 3;

	weft_future_go(&l, twice, 21);
	EQ(weft_future_join(&l), 42);
	weft_future_go(&d, half, 3);
	OK(weft_future_join(&d) == 1.5);
	weft_future_go(&f, quarter, 3, 4);
	OK(weft_future_join(&f) == 0.75f);
	weft_future_go(&b, is_set, at);
	OK(weft_future_join(&b));
	weft_future_go(&v, store, &at, 5);
	weft_future_join(&v);
	EQ(at, 5);
	EQ(fib(15), 610);
}
ON_ALL(results)

/* On one P, in a region, none begins, however long this goroutine is held up. */
__attribute__((constructor)) static void
none_detached()
{
	setenv("WEFT_MAX_DETACHED", "-1", 1);
}

GTEST(contexts, 1)
{
	weft_context *ctx = weft_context_make(nullptr);
	weft_future(long) l;

	weft_preempt_off();
	weft_future_go_context(&l, ctx, twice, 1);
	weft_context_cancel(ctx, 0);
	weft_preempt_on();
	EQ(weft_future_wait(&l), -ECANCELED);
	EQ(weft_future_result(&l), 0);
	weft_preempt_off();
	weft_future_go(&l, twice, 1);
	OK(weft_future_cancel(&l));
	weft_preempt_on();
	weft_context_release(ctx);
}

GTEST(ranges, 2)
{
	long count = 0;

	weft_parallel_for(10, 1000, [](size_t lo, size_t hi, void *n) {
		__atomic_add_fetch(static_cast<long *>(n),
		    static_cast<long>(hi - lo), __ATOMIC_RELAXED);
	}, &count);
	EQ(count, 990);
}

static int running;

static void
ends_late()
{
	__atomic_store_n(&running, 1, __ATOMIC_RELAXED);
	weft_sleep(WEFT_MS);
	__atomic_store_n(&running, 0, __ATOMIC_RELAXED);
}

static void
throws_meanwhile()
{
	weft_future(void) f;

	weft_future_go(&f, ends_late);
	weft_yield();
	throw 7;
}

/* The function has ended when the exception is caught, or never begun. */
static void
exceptions()
{
	for (int i = 1; i <= 20; i++) {
		try {
			throws_meanwhile();
			OK(false);
		} catch (int n) {
			EQ(n, 7);
		}
		EQ(__atomic_load_n(&running, __ATOMIC_RELAXED), 0);
	}
}
ON_ALL(exceptions)

/* Others do not have it in C++. */
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12
static _Float16 half_of(_Float16 x) { return x / 2; }

GTEST(small_floats, 1)
{
	weft_future(_Float16) f;

	weft_future_go(&f, half_of, (_Float16)3);
	OK(weft_future_join(&f) == (_Float16)1.5);
}
#endif

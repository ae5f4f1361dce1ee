/* SPDX-License-Identifier: MIT */
/*
 * Futures: results of every type, joins in every order and by every kind of
 * caller, functions that wait, defer, nest deep, and are cancelled.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

/* ---- results ---- */

static bool yes(void) { return true; }
static signed char minus_three(void) { return -3; }
static unsigned short u16(int a) { return (unsigned short)(a + 1); }
static int least(void) { return INT_MIN; }
static float third(float a) { return a / 3; }
static double sum(double a, int b, double c) { return a + b + c; }
static const char *text(const char *s) { return s + 1; }

static long
eight(long a, short b, int c, char d, double e, float f, long g, long h)
{
	return a + b + c + d + (long)e + (long)f + g + h;
}

static void store(int *at, int v) { *at = v; }

#define RESULT(T, want, ...) do {					\
	weft_future(T) f_;						\
	weft_future_go(&f_, __VA_ARGS__);				\
	OK(weft_future_join(&f_) == (want));				\
} while (0)

static void
results(void)
{
	weft_future(void) f;
	int at = 0;

	RESULT(bool, true, yes);
	RESULT(signed char, -3, minus_three);
	RESULT(unsigned short, 8, u16, 7);
	RESULT(int, INT_MIN, least);
	RESULT(float, 0.5f, third, 1.5f);
	RESULT(double, 9.25, sum, 1.25, 3, 5.0);
	RESULT(long, 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8, eight, 1, 2, 3, 4, 5.5,
	    6.5f, 7, 8);
	weft_future(const char *) s;
	weft_future_go(&s, text, "xabc");
	OK(strcmp(weft_future_join(&s), "abc") == 0);
	weft_future_go(&f, store, &at, 17);
	weft_future_join(&f);
	EQ(at, 17);
}
ON_ALL(results)

/* ---- order ---- */

static long twice(long i) { return 2 * i; }

/* Joined from the last on, from the first on, and from the middle. */
static void
orders(void)
{
	enum { N = 200 };
	static weft_future(long) f[N];

	for (int step = 1; step < N; step += 2) {
		if (step % 5 == 0)
			continue;	/* no common factor with N */
		for (long i = 0; i < N; i++)
			weft_future_go(&f[i], twice, i);
		for (long k = 0, i = 0; k < N; k++, i = (i + step) % N)
			EQ(weft_future_join(&f[i]), 2 * i);
	}
	for (long i = 0; i < N; i++)
		weft_future_go(&f[i], twice, i);
	for (long i = N - 1; i >= 0; i--)
		EQ(weft_future_join(&f[i]), 2 * i);
}
ON_ALL(orders)

static long
fib(long n)
{
	weft_future(long) left;
	long right;

	if (n < 2)
		return n;
	weft_future_go(&left, fib, n - 1);
	right = fib(n - 2);
	return weft_future_join(&left) + right;
}

static void
trees(void)
{
	EQ(fib(18), 2584);
}
ON_ALL(trees)

/* Each joins the next: more than one stack can hold. */
static long
chain(long n)
{
	weft_future(long) f;

	if (!n)
		return 0;
	weft_future_go(&f, chain, n - 1);
	return weft_future_join(&f) + 1;
}

GTEST(a_chain_of_many, 2)
{
	long n = t_scale(100000);

	EQ(chain(n), n);
}

/* Many that are started before one is joined. */
GTEST(many_at_once, 2)
{
	enum { N = 20000 };
	static weft_future(long) f[N];
	long total = 0;

	for (long i = 0; i < N; i++)
		weft_future_go(&f[i], twice, i);
	for (long i = 0; i < N; i++)
		total += weft_future_join(&f[i]);
	EQ(total, (long)N * (N - 1));
}

/* ---- waiting ---- */

static long
pass_on(weft_chan *in, weft_chan *out)
{
	long v;

	weft_chan_recv(in, &v);
	v++;
	weft_chan_send(out, &v);
	return v;
}

/* The first that is joined waits for the second, which nothing else runs. */
static void
wait_for_each_other(void)
{
	weft_chan *c[3];
	weft_future(long) a, b;
	long v = 5;

	for (int i = 0; i < 3; i++)
		c[i] = weft_chan_of(long, i == 0);
	weft_future_go(&a, pass_on, c[1], c[2]);
	weft_future_go(&b, pass_on, c[0], c[1]);
	weft_send(c[0], v);
	weft_go(twice, 0L);
	weft_future(long) last;
	weft_future_go(&last, pass_on, c[2], c[0]);
	EQ(weft_future_join(&a), 7);
	EQ(weft_future_join(&b), 6);
	EQ(weft_future_join(&last), 8);
	EQ(weft_recv(c[0], long), 8);
	for (int i = 0; i < 3; i++)
		weft_chan_release(c[i]);
}
ON_ALL(wait_for_each_other)

static long
sleeps(long ms)
{
	weft_sleep(ms * WEFT_MS);
	return ms;
}

GTEST(is_done_once_it_ran_elsewhere, 2)
{
	weft_future(long) f;

	weft_future_go(&f, sleeps, 1L);
	while (!weft_future_is_done(&f))
		weft_sleep(WEFT_MS / 4);
	EQ(weft_future_join(&f), 1);
}

/* ---- callers ---- */

static long
in_region(long n)
{
	weft_future(long) f;
	long r;

	weft_preempt_off();
	weft_future_go(&f, twice, n);
	r = weft_future_join(&f);
	weft_preempt_on();
	return r;
}

static void
pinned(void)
{
	weft_future(long) f;

	weft_pin();
	weft_future_go(&f, in_region, 4L);
	EQ(weft_future_join(&f), 8);
	weft_unpin();
}
ON_ALL(pinned)

struct shared {
	weft_future(long) f;
	long got;
};

static void
join_it(struct shared *s)
{
	s->got = weft_future_join(&s->f);
}

static void
start_and_join(struct shared *s)
{
	weft_future_go(&s->f, twice, 21L);
	join_it(s);
}

PLAIN_THREAD(joins, join_it(arg))
PLAIN_THREAD(starts_and_joins, start_and_join(arg))

GTEST(plain_threads_join, 2)
{
	struct shared s;

	weft_future_go(&s.f, sleeps, 2L);
	thread_run(joins, &s);
	EQ(s.got, 2);
	thread_run(starts_and_joins, &s);
	EQ(s.got, 42);
}

/* Started by one goroutine, joined by another. */
GTEST(another_goroutine_joins, 2)
{
	weft_waitgroup wg = {0};
	struct shared s;

	weft_future_go(&s.f, twice, 4L);
	weft_waitgroup_go(&wg, join_it, &s);
	weft_waitgroup_wait(&wg);
	EQ(s.got, 8);
}

/* ---- what a function may do ---- */

static int deferred;

static void count_deferred(void *by) { deferred += *(int *)by; }

static long
defers(int *by)
{
	weft_defer(count_deferred, by);
	return deferred;
}

static void
defer_in_futures(void)
{
	weft_future(long) f, g;
	int one = 1, ten = 10;

	deferred = 0;
	weft_defer(count_deferred, &ten);
	weft_future_go(&f, defers, &one);
	EQ(weft_future_join(&f), 0);
	EQ(deferred, 1);
	weft_future_go(&f, defers, &one);
	weft_future_go(&g, defers, &one);
	weft_future_join(&g);
	weft_future_join(&f);
	EQ(deferred, 3);
}

static void
in_goroutine(void (*fn)(void))
{
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, fn);
	weft_waitgroup_wait(&wg);
}

GTEST(deferred_calls_come_before_the_join_returns, 1)
{
	in_goroutine(defer_in_futures);
	EQ(deferred, 13);
}

/* ---- cancelling ---- */

static int called;

static long
count_call(void)
{
	return __atomic_add_fetch(&called, 1, __ATOMIC_RELAXED);
}

/*
 * On one P, in a region, none begins: else those that are queued do, if the
 * machine has no time for this goroutine for longer than a slice.
 */
#define NONE_BEGINS "WEFT_MAX_DETACHED=-1"

ETEST(cancel_withdraws_what_has_not_begun, 1, NONE_BEGINS)
{
	weft_future(long) f, g;

	weft_preempt_off();
	weft_future_go(&g, count_call);
	weft_future_go(&f, count_call);
	OK(weft_future_cancel(&g));		/* not the newest */
	OK(weft_future_cancel(&f));
	weft_preempt_on();
	weft_yield();
	EQ(called, 0);
	weft_future_go(&f, count_call);
	EQ(weft_future_join(&f), 1);
}

GTEST(cancel_of_what_has_begun_is_refused, 1)
{
	weft_future(long) f;

	weft_future_go(&f, sleeps, 5L);
	weft_yield();
	OK(!weft_future_cancel(&f));
	EQ(weft_future_join(&f), 5);
}

ETEST(a_context_cancels_what_has_not_begun, 1, NONE_BEGINS)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_future(long) f, g;

	called = 0;
	weft_future_go_context(&f, ctx, count_call);
	EQ(weft_future_join(&f), 1);
	weft_preempt_off();
	weft_future_go_context(&f, ctx, count_call);
	weft_future_go_context(&g, ctx, count_call);
	weft_context_cancel(ctx, 0);
	weft_preempt_on();
	EQ(weft_future_wait(&f), -ECANCELED);
	EQ(weft_future_result(&f), 0);
	EQ(weft_future_join(&g), 0);
	EQ(called, 1);
	weft_context_release(ctx);
}

static int64_t own_id(void) { return weft_self_id(); }

/* One that is joined in place is no goroutine, wherever it is queued. */
ETEST(nothing_is_left, 1, NONE_BEGINS)
{
	int64_t before = weft_goroutines(), self = weft_self_id();
	weft_future(int64_t) f, g;
	bool here;

	do {	/* until neither had begun before it was joined */
		weft_preempt_off();
		weft_future_go(&f, own_id);
		weft_future_go(&g, own_id);
		EQ(weft_goroutines(), before + 2);
		weft_preempt_on();
		here = weft_future_join(&f) == self;
		here = weft_future_join(&g) == self && here;
		if (here)
			EQ(weft_goroutines(), before);
		while (weft_goroutines() > before)
			weft_yield();
	} while (!here);
	orders();
	for (int i = 0; i < 1000 && weft_goroutines() > before; i++)
		weft_sleep(WEFT_MS);
	EQ(weft_goroutines(), before);
}

#ifndef WEFT_HARD
struct self_join {
	weft_future(long) f;
};

static long
join_oneself(struct self_join *s)
{
	return weft_future_join(&s->f);
}

static void
self_join(void)
{
	struct self_join s;

	weft_future_go(&s.f, join_oneself, &s);
	weft_future_join(&s.f);
}

/* In place: with the usual slice it may begin before. */
DIES(joins_itself, 0, "was joined already")
{
	run_env(1, "WEFT_SLICE_US=1000000", self_join);
}
#endif

enum colour { RED, GREEN };
typedef int (*getter)(void);
static enum colour green(void) { return GREEN; }
static getter get_least(void) { return least; }

GTEST(results_of_other_types, 1)
{
	weft_future(enum colour) c;
	weft_future(getter) g;

	weft_future_go(&c, green);
	OK(weft_future_join(&c) == GREEN);
	weft_future_go(&g, get_least);
	OK(weft_future_join(&g) == least);
}

/* ---- misuse ---- */

static long exits(void) { weft_goexit(); }

DIES(goexit_in_place, 1, "weft_goexit: in the function of a future")
{
	weft_future(long) f;

	weft_future_go(&f, exits);
	weft_future_join(&f);
}

DIES(goexit_in_its_own_goroutine, 1, "weft_goexit: in the function of a future")
{
	weft_future(long) f;

	weft_future_go(&f, exits);
	weft_sleep(100 * WEFT_MS);
}

DIES(joined_twice, 1, "was joined already")
{
	weft_future(long) f;

	weft_future_go(&f, twice, 1L);
	weft_future_join(&f);
	weft_future_join(&f);
}

static long (*no_function)(void);

DIES(null_function, 1, "weft_future_go(no_function): null function")
{
	weft_future(long) f;

	weft_future_go(&f, no_function);
}

/* ---- vectors are no integers ---- */

typedef float two_floats __attribute__((vector_size(8)));

static float second_of(two_floats v) { return v[1]; }

GTEST(vector_as_argument, 1)
{
	weft_future(float) f;

	weft_future_go(&f, second_of, ((two_floats){ 3, 4 }));
	OK(weft_future_join(&f) == 4);
}

/* ---- labels ---- */

/* They do not make each future a goroutine. */
GTEST(in_place_with_labels, 1)
{
	weft_future(int64_t) f;
	int here = 0;

	EQ(weft_label_set("kind", "a"), 0);
	for (int i = 0; i < 1000; i++) {
		weft_future_go(&f, own_id);
		here += weft_future_join(&f) == weft_self_id();
	}
	OK(here > 0);
}

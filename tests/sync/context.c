/* SPDX-License-Identifier: MIT */
/* Contexts: which are cancelled, with what, and which are not. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

static bool
is_done(weft_context *ctx)
{
	OK(!weft_chan_try_recv(weft_context_done(ctx), NULL));
	return weft_chan_is_closed(weft_context_done(ctx));
}

static void
is_live(weft_context *ctx)
{
	EQ(weft_context_error(ctx), 0);
	EQ(weft_context_cause(ctx), 0);
	OK(!is_done(ctx));
}

static void
is_over(weft_context *ctx, int error, int cause)
{
	EQ(weft_context_error(ctx), error);
	EQ(weft_context_cause(ctx), cause);
	OK(is_done(ctx));
}

/* Runs fn(arg) on a goroutine with a stack of the usual size, to its end. */
static void
on_goroutine(void (*fn)(void))
{
	int64_t before = weft_goroutines();

	OK(weft_try_go(fn) > 0);
	while (weft_goroutines() > before)
		weft_yield();
}

/* ---- one ---- */

TEST(null_is_the_root)
{
	EQ(weft_context_error(NULL), 0);
	EQ(weft_context_cause(NULL), 0);
	OK(weft_context_done(NULL) == NULL);
	EQ(weft_context_deadline(NULL), WEFT_NEVER);
	OK(weft_context_value(NULL, "x") == NULL);
	OK(weft_context_retain(NULL) == NULL);
	weft_context_release(NULL);
}

GTEST(first_cancel_counts, 1)
{
	weft_context *ctx = weft_context_make(NULL);

	is_live(ctx);
	EQ(weft_context_deadline(ctx), WEFT_NEVER);
	weft_context_cancel(ctx, -EIO);
	is_over(ctx, -ECANCELED, -EIO);
	weft_context_cancel(ctx, -EPIPE);
	weft_context_cancel(ctx, 0);
	is_over(ctx, -ECANCELED, -EIO);
	weft_context_release(ctx);
	EQ(t_leaks(), 0);
}

GTEST(no_cause_is_the_error, 1)
{
	weft_context *ctx = weft_context_make(NULL);

	weft_context_cancel(ctx, 0);
	is_over(ctx, -ECANCELED, -ECANCELED);
	weft_context_cancel(ctx, 7);
	is_over(ctx, -ECANCELED, -ECANCELED);
	weft_context_release(ctx);
}

/* Without a runtime too. */
TEST(from_a_plain_program)
{
	weft_context *a = weft_context_make(NULL);
	weft_context *b = weft_context_make_value(a, "key", &a);

	OK(weft_context_value(b, "other") == NULL);
	weft_context_cancel(a, 5);
	is_over(b, -ECANCELED, 5);
	weft_context_release(a);
	weft_context_release(b);
}

/* ---- parents and children ---- */

GTEST(goes_down_and_not_up, 1)
{
	weft_context *top = weft_context_make(NULL);
	weft_context *left = weft_context_make(top);
	weft_context *right = weft_context_make(top);
	weft_context *leaf = weft_context_make(left);

	weft_context_cancel(left, 3);
	is_live(top);
	is_live(right);
	is_over(left, -ECANCELED, 3);
	is_over(leaf, -ECANCELED, 3);
	weft_context_cancel(top, 4);
	is_over(right, -ECANCELED, 4);
	is_over(left, -ECANCELED, 3);
	weft_context_release(top);
	weft_context_release(left);
	weft_context_release(right);
	weft_context_release(leaf);
	EQ(t_leaks(), 0);
}

GTEST(child_of_a_cancelled_one, 1)
{
	weft_context *top = weft_context_make(NULL), *c, *d;

	weft_context_cancel(top, 9);
	c = weft_context_make(top);
	is_over(c, -ECANCELED, 9);
	d = weft_context_make_value(c, &top, &c);
	is_over(d, -ECANCELED, 9);
	weft_context_cancel(c, 10);
	is_over(c, -ECANCELED, 9);
	weft_context_release(top);
	weft_context_release(c);
	weft_context_release(d);
}

/* A released one in the middle still passes a cancel on. */
GTEST(released_in_the_middle, 1)
{
	weft_context *top = weft_context_make(NULL);
	weft_context *mid = weft_context_make_value(top, &top, &mid);
	weft_context *leaf = weft_context_make(mid);

	weft_context_release(mid);
	is_live(leaf);
	OK(weft_context_value(leaf, &top) == &mid);
	weft_context_cancel(top, 2);
	is_over(leaf, -ECANCELED, 2);
	weft_context_release(top);
	OK(weft_context_value(leaf, &top) == &mid);
	weft_context_release(leaf);
	EQ(t_leaks(), 0);
}

GTEST(as_many_owners_as_you_like, 1)
{
	weft_context *ctx = weft_context_make(NULL);

	OK(weft_context_retain(ctx) == ctx);
	OK(weft_context_retain(ctx) == ctx);
	weft_context_release(ctx);
	weft_context_release(ctx);
	is_live(ctx);
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
	EQ(t_leaks(), 0);
}

static void
wide(void)
{
	long n = t_scale(100000);
	weft_context **c = calloc((size_t)n, sizeof *c);
	weft_context *top = weft_context_make(NULL);

	for (long i = 0; i < n; i++)
		c[i] = weft_context_make(top);
	weft_context_cancel(top, 77);
	for (long i = 0; i < n; i++) {
		is_over(c[i], -ECANCELED, 77);
		weft_context_release(c[i]);
	}
	weft_context_release(top);
	free(c);
}

GTEST(a_hundred_thousand_children, 1)
{
	on_goroutine(wide);
	EQ(t_leaks(), 0);
}

/* Released from the top: all of them go with the last one. */
static void
deep(void)
{
	long n = t_scale(100000);
	weft_context **c = calloc((size_t)n, sizeof *c);

	for (long i = 0; i < n; i++)
		c[i] = weft_context_make(i ? c[i - 1] : NULL);
	weft_context_cancel(c[n / 2], 1);
	weft_context_cancel(c[0], 2);
	for (long i = 0; i < n; i++)
		is_over(c[i], -ECANCELED, i < n / 2 ? 2 : 1);
	for (long i = 0; i < n; i++)
		weft_context_release(c[i]);
	free(c);
}

GTEST(a_hundred_thousand_generations, 1)
{
	on_goroutine(deep);
	EQ(t_leaks(), 0);
}

/* A random tree, in which some are cancelled first and others after. */
enum { NODES = 3000, CANCELS = 30 };

static void
expect(weft_context **c, const int *parent, int *cause)
{
	for (int i = 0; i < NODES; i++) {
		if (!cause[i] && i)
			cause[i] = cause[parent[i]];
		if (cause[i])
			is_over(c[i], -ECANCELED, cause[i]);
		else
			is_live(c[i]);
	}
}

GTEST(a_random_tree, 1)
{
	static weft_context *c[NODES];
	static int parent[NODES], cause[NODES];
	unsigned seed = 1;
	int at;

	for (int i = 0; i < NODES; i++) {
		parent[i] = i ? rand_r(&seed) % i : 0;
		if (i && rand_r(&seed) % 4 == 0)	/* or a long chain */
			parent[i] = i - 1;
		c[i] = i % 3 ? weft_context_make(i ? c[parent[i]] : NULL) :
		    weft_context_make_value(i ? c[parent[i]] : NULL, c, NULL);
	}
	for (int k = 1; k <= CANCELS; k++) {
		at = k == CANCELS ? 0 : 1 + rand_r(&seed) % (NODES - 1);
		weft_context_cancel(c[at], k);
		if (!cause[at])
			cause[at] = k;
		expect(c, parent, cause);
	}
	for (int i = 0; i < NODES; i++)
		weft_context_release(c[i * 7 % NODES]);	/* 7: no divisor */
	EQ(t_leaks(), 0);
}

/* ---- it leaves nothing behind ---- */

static void
make_and_release(weft_context *top, long n)
{
	for (long i = 0; i < n; i++) {
		weft_context *c = i % 2 ? weft_context_make(top) :
		    weft_context_make_until(top,
		    weft_deadline(WEFT_SECOND * 3600));

		weft_context_release(c);
	}
}

GTEST(a_million_released, 1)
{
	weft_context *top = weft_context_make(NULL);
	int64_t before;

	make_and_release(top, t_scale(1000));
	before = t_resident();
	make_and_release(top, t_scale(1000000));
	/* AddressSanitizer keeps what was freed for a while. */
	OK(T_ASAN || t_resident() - before < 4 << 20 || t_valgrind());
	is_live(top);
	EQ(weft_goroutines(), 1);
	weft_context_release(top);
	EQ(t_leaks(), 0);
}

GTEST(a_million_cancelled, 1)
{
	weft_context *top = weft_context_make(NULL), *c;
	int64_t before = 0;

	for (long i = 0; i < t_scale(1000000); i++) {
		if (i == t_scale(1000))
			before = t_resident();
		c = weft_context_make(top);
		weft_context_cancel(c, 0);
		weft_context_release(c);
	}
	OK(T_ASAN || t_resident() - before < 4 << 20 || t_valgrind());
	weft_context_release(top);
	EQ(t_leaks(), 0);
}

/* ---- waiting for it ---- */

static long woken;

static void
wait_done(weft_context *ctx, weft_waitgroup *wg)
{
	OK(!weft_chan_recv(weft_context_done(ctx), NULL));
	EQ(weft_context_error(ctx), -ECANCELED);
	__atomic_add_fetch(&woken, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(wg);
}

static void *
wait_done_plainly(void *ctx)
{
	OK(!weft_chan_recv(weft_context_done(ctx), NULL));
	EQ(weft_context_error(ctx), -ECANCELED);
	return NULL;
}

GTEST(wakes_all_below, 2)
{
	enum { N = 500 };
	weft_context *top = weft_context_make(NULL);
	weft_context *below = weft_context_make(top);
	weft_waitgroup wg = {0};
	pthread_t t;

	pthread_create(&t, NULL, wait_done_plainly, below);
	weft_waitgroup_add(&wg, 2 * N);
	for (int i = 0; i < N; i++) {
		OK(weft_try_go(wait_done, top, &wg) > 0);
		OK(weft_try_go(wait_done, below, &wg) > 0);
	}
	for (int i = 0; i < 100; i++)
		weft_yield();
	EQ(__atomic_load_n(&woken, __ATOMIC_RELAXED), 0);
	weft_context_cancel(top, 0);
	weft_waitgroup_wait(&wg);
	pthread_join(t, NULL);
	weft_context_release(below);
	weft_context_release(top);
	EQ(t_leaks(), 0);
}

GTEST(one_case_of_several, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_chan *a = weft_chan_make(sizeof(int), 1);
	weft_chan *b = weft_chan_make(sizeof(int), 0);
	int x = 0, y = 1;
	weft_case cases[] = {
		WEFT_CASE_RECV(a, &x), WEFT_CASE_SEND_FROM(b, &y),
		WEFT_CASE_RECV(weft_context_done(ctx), NULL),
		WEFT_CASE_RECV(NULL, NULL)
	};

	weft_send(a, 42);
	EQ(weft_select(cases, 4), 0);
	EQ(x, 42);
	OK(weft_try_go(weft_context_cancel, ctx, 0) > 0);
	EQ(weft_select(cases, 4), 2);
	OK(!cases[2].ok);
	EQ(weft_select_ordered(cases, 4), 2);
	weft_chan_release(a);
	weft_chan_release(b);
	while (weft_goroutines() > 1)
		weft_yield();
	weft_context_release(ctx);
}

/* A goroutine that sees a child's channel closed finds the parents' closed. */
enum { CHAIN = 1000 };
static bool looks;

static void *
look_up(void *arg)
{
	weft_context **c = arg;

	__atomic_store_n(&looks, true, __ATOMIC_RELAXED);
	while (!is_done(c[CHAIN - 1]))
		;
	for (int i = 0; i < CHAIN; i++)
		OK(is_done(c[i]));
	return NULL;
}

GTEST(parents_first, 1)
{
	static weft_context *c[CHAIN];
	pthread_t t;

	for (long round = 0; round < t_scale(30); round++) {
		for (int i = 0; i < CHAIN; i++)
			c[i] = weft_context_make(i ? c[i - 1] : NULL);
		__atomic_store_n(&looks, false, __ATOMIC_RELAXED);
		pthread_create(&t, NULL, look_up, c);
		while (!__atomic_load_n(&looks, __ATOMIC_RELAXED))
			weft_yield();
		weft_context_cancel(c[0], 0);
		pthread_join(t, NULL);
		for (int i = 0; i < CHAIN; i++)
			weft_context_release(c[i]);
	}
}

/* ---- values ---- */

GTEST(nearest_value, 1)
{
	static int red, green, blue;	/* keys */
	static char va = 'a', vb = 'b', vd = 'd';
	weft_context *a = weft_context_make_value(NULL, &red, &va);
	weft_context *b = weft_context_make_value(a, &green, &vb);
	weft_context *c = weft_context_make(b);
	weft_context *d = weft_context_make_value(c, &red, &vd);
	weft_context *e = weft_context_make_value(d, &green, NULL);

	OK(weft_context_value(a, &red) == &va);
	OK(weft_context_value(c, &red) == &va);
	OK(weft_context_value(d, &red) == &vd);
	OK(weft_context_value(d, &green) == &vb);
	OK(weft_context_value(e, &green) == NULL);
	OK(weft_context_value(a, &green) == NULL);
	OK(weft_context_value(e, &blue) == NULL);
	OK(weft_context_value(e, NULL) == NULL);
	/* Cancelled or released, a value stays for the nodes below. */
	weft_context_cancel(a, 0);
	weft_context_release(a);
	weft_context_release(b);
	weft_context_release(c);
	weft_context_release(d);
	OK(weft_context_value(e, &red) == &vd);
	weft_context_release(e);
	EQ(t_leaks(), 0);
}

/* A value's context can be cancelled like any other, and by itself. */
GTEST(value_is_cancelled_alone, 1)
{
	weft_context *a = weft_context_make(NULL);
	weft_context *b = weft_context_make_value(a, "k", NULL);
	weft_context *c = weft_context_make(b);

	weft_context_cancel(b, 6);
	is_live(a);
	is_over(b, -ECANCELED, 6);
	is_over(c, -ECANCELED, 6);
	weft_context_release(a);
	weft_context_release(b);
	weft_context_release(c);
}

/* SPDX-License-Identifier: MIT */
/* weft_waitgroup_go: any function, and done when its goroutine has ended. */
#include <pthread.h>
#include <stdint.h>

#include <weft.h>

#include "late_work.h"
#include "t.h"

static long sum;

static void
add(long n)
{
	__atomic_add_fetch(&sum, n, __ATOMIC_RELAXED);
}

static void nothing(void) { add(1); }
static void two(int a, const char *b) { add(a + (b[0] == 'b')); }

static double
result(float f, double d, long n)
{
	add((long)(f + d) + n);
	return d;
}

static void
eight(char a, short b, int c, long d, float e, double f, bool g, long *h)
{
	add(a + b + c + d + (long)e + (long)f + g);
	__atomic_add_fetch(h, 1, __ATOMIC_RELAXED);
}

GTEST(arguments, 2)
{
	weft_waitgroup wg = {0};
	long n = 0;

	weft_waitgroup_go(&wg, nothing);
	weft_waitgroup_go(&wg, two, 2, "b");
	weft_waitgroup_go(&wg, result, 1.5f, 2.5, 10);
	weft_waitgroup_go(&wg, eight, 1, 2, 3, 4L, 5.0f, 6.0, true, &n);
	weft_waitgroup_wait(&wg);
	EQ(sum, 1 + 3 + 14 + 22);
	EQ(n, 1);
}

static void
ends(int how, int *count)
{
	leave_late_work(count);
	if (how % 2)
		weft_goexit();
}

/* The count is on the stack of the waiter, and gone at once. */
static void
ends_by_return_and_exit(void)
{
	for (long i = 0; i < t_scale(200); i++) {
		weft_waitgroup wg = {0};
		int count = 0;

		for (int k = 0; k < 10; k++)
			weft_waitgroup_go(&wg, ends, k, &count);
		weft_waitgroup_wait(&wg);
		EQ(count, 20);
	}
}
ON_ALL(ends_by_return_and_exit)

static void
spread(weft_waitgroup *wg, int depth)
{
	add(1);
	for (int i = 0; i < 2 && depth; i++)
		weft_waitgroup_go(wg, spread, wg, depth - 1);
}

GTEST(from_its_own_goroutines, 4)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, spread, &wg, 9);
	weft_waitgroup_wait(&wg);
	EQ(sum, 1023);
}

static void *
plainly(void *arg)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 100; i++)
		weft_waitgroup_go(&wg, add, 1);
	weft_waitgroup_wait(&wg);
	return arg;
}

GTEST(from_a_plain_thread, 2)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, plainly, NULL), 0);
	while (__atomic_load_n(&sum, __ATOMIC_RELAXED) < 100)
		weft_yield();
	pthread_join(t, NULL);
	EQ(sum, 100);
}

/* A name of before is not taken for one of these. */
static void
is_nameless(int n)
{
	add(weft_self_name()[0] == '\0' ? n : 100);
}

GTEST(has_no_name, 1)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 100; i++) {
		weft_go_opt(WEFT_OPT(.name = "named"), add, 0);
		weft_yield();
		weft_waitgroup_go(&wg, is_nameless, 1);
		weft_waitgroup_wait(&wg);
	}
	EQ(sum, 100);
}

DIES(null, 1, "weft_waitgroup_go(fn): null function (at " __FILE__ ":")
{
	weft_waitgroup wg = {0};
	void (*fn)(void) = NULL;

	weft_waitgroup_go(&wg, fn);
}

DIES(without_a_runtime, 0, "weft_waitgroup_go(nothing): no runtime is running")
{
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, nothing);
}

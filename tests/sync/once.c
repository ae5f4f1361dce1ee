/* SPDX-License-Identifier: MIT */
/* weft_once, between goroutines and plain threads alike. */
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { GOROUTINES = 20, THREADS = 4 };

struct first {
	weft_once once;
	weft_waitgroup wg;
	long value;		/* plain: seen by all that return from do */
};

/* Lets the others come while it runs. */
static void
make(void *arg)
{
	struct first *f = arg;

	for (int i = 0; i < 20; i++)
		weft_yield();
	f->value++;
}

static void
need(struct first *f)
{
	weft_once_do(&f->once, make, f);
	EQ(f->value, 1);
	weft_once_do(&f->once, make, f);
	EQ(f->value, 1);
	weft_waitgroup_done(&f->wg);
}

PLAIN_THREAD(need_plainly, need(arg))

static void
only_once(void)
{
	for (long r = t_scale(100); r > 0; r--) {
		struct first f = {0};
		pthread_t t[THREADS];

		weft_waitgroup_add(&f.wg, GOROUTINES + THREADS);
		for (int i = 0; i < GOROUTINES; i++)
			OK(weft_try_go(need, &f) > 0);
		threads_start(t, THREADS, need_plainly, &f);
		weft_waitgroup_wait(&f.wg);
		threads_join(t, THREADS);
	}
}
ON_ALL(only_once)

TEST(without_a_runtime)
{
	struct first f = {0};
	pthread_t t[THREADS];

	weft_waitgroup_add(&f.wg, THREADS);
	threads_start(t, THREADS, need_plainly, &f);
	threads_join(t, THREADS);
	EQ(f.value, 1);
}

/* ---- two that come at the same time ---- */

struct race {
	struct first *first;
	long n;
	long arrived;		/* atomic */
};

static void
add_one(void *arg)
{
	++*(long *)arg;
}

static void *
run(void *arg)
{
	struct race *r = arg;

	for (long i = 0; i < r->n; i++) {
		struct first *f = &r->first[i];
		int spins = 0;

		__atomic_add_fetch(&r->arrived, 1, __ATOMIC_RELAXED);
		while (__atomic_load_n(&r->arrived, __ATOMIC_RELAXED) <
		    2 * (i + 1))
			if (++spins % 5000 == 0)
				weft_yield();
		weft_once_do(&f->once, add_one, &f->value);
		EQ(f->value, 1);
	}
	return NULL;
}

TEST(two_race)
{
	struct race r = { .n = t_scale(30000) };
	pthread_t t[2];

	r.first = calloc((size_t)r.n, sizeof *r.first);
	threads_start(t, 2, run, &r);
	threads_join(t, 2);
	for (long i = 0; i < r.n; i++)
		EQ(r.first[i].value, 1);
	free(r.first);
}

/* ---- alone ---- */

static void
count(void *arg)
{
	++*(int *)arg;
}

/* What is to be called later does not matter, not even if it is nothing. */
GTEST(done_is_done, 1)
{
	weft_once o = {0}, other = {0};
	weft_stats before, after;
	int n = 0, m = 0;

	weft_stats_read(&before, sizeof before);
	weft_once_do(&o, count, &n);
	weft_once_do(&o, count, &m);
	weft_once_do(&o, NULL, NULL);
	weft_once_do(&other, count, &m);
	EQ(n, 1);
	EQ(m, 1);
	weft_stats_read(&after, sizeof after);
	EQ(after.parks, before.parks);
}

struct nested {
	weft_once inner;
	int n;
};

static void
inside(void *arg)
{
	struct nested *x = arg;

	weft_once_do(&x->inner, count, &x->n);
	EQ(x->n, 1);
}

GTEST(one_within_another, 1)
{
	struct nested x = {0};
	weft_once outer = {0};

	weft_once_do(&outer, inside, &x);
	EQ(x.n, 1);
}

/* ---- a function that does not return ---- */

static weft_gls thing;

static void
done(void *wg)
{
	weft_waitgroup_done(wg);
}

static void
exit_instead(void *arg)
{
	struct first *f = arg;

	EQ(weft_gls_set(&thing, f), 0);
	for (int i = 0; i < 20; i++)
		weft_yield();
	f->value++;
	weft_goexit();
}

static void
exit_or_need(struct first *f)
{
	EQ(weft_defer(done, &f->wg), 0);
	weft_once_do(&f->once, exit_instead, f);
	EQ(f->value, 1);
}

/* That was the call, and its goroutine's end was the call's end. */
static void
ended_is_done(void)
{
	struct first f = {0};

	weft_waitgroup_add(&f.wg, GOROUTINES);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(exit_or_need, &f) > 0);
	weft_waitgroup_wait(&f.wg);
	weft_once_do(&f.once, make, &f);
	EQ(f.value, 1);
}
ON_ALL(ended_is_done)

static int destroyed;

static void
destroy(void *value)
{
	EQ(value == &destroyed, true);
	destroyed++;
}

static weft_gls kept = { destroy };

static void
keep(void *arg)
{
	EQ(weft_gls_set(&kept, arg), 0);
}

static void
keep_once(weft_once *o, weft_waitgroup *wg)
{
	EQ(weft_defer(done, wg), 0);
	weft_once_do(o, keep, &destroyed);
	OK(weft_gls_get(&kept) == &destroyed);
}

/* What the function leaves with its goroutine stays there. */
GTEST(values_stay, 1)
{
	weft_waitgroup wg = {0};
	weft_once o = {0};

	weft_waitgroup_add(&wg, 1);
	OK(weft_try_go(keep_once, &o, &wg) > 0);
	weft_waitgroup_wait(&wg);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(destroyed, 1);
}

/* ---- lifetime ---- */

struct shared {
	struct first f;
	int refs;		/* atomic */
	weft_waitgroup *wg;
};

static void
use_and_drop(struct shared *s)
{
	weft_waitgroup *wg = s->wg;

	weft_once_do(&s->f.once, make, &s->f);
	EQ(s->f.value, 1);
	if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(s);
	weft_waitgroup_done(wg);
}

/* As for a mutex: AddressSanitizer sees accesses that come too late. */
static void
freed_by_the_last(void)
{
	weft_waitgroup wg = {0};

	for (long r = t_scale(1000); r > 0; r--) {
		struct shared *s = calloc(1, sizeof *s);

		s->refs = 4;
		s->wg = &wg;
		weft_waitgroup_add(&wg, 4);
		for (int i = 0; i < 4; i++)
			OK(weft_try_go(use_and_drop, s) > 0);
		weft_waitgroup_wait(&wg);
	}
}
ON_ALL(freed_by_the_last)

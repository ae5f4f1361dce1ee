/* SPDX-License-Identifier: MIT */
/* weft_pool: objects are reused, shared between Ps, and given back. */
#include <pthread.h>
#include <stdlib.h>

#include <weft/extra.h>

#include "plain_thread.h"
#include "t.h"

static int made, destroyed;	/* atomic */

static void *
make(void *arg)
{
	long *x = malloc(sizeof *x);

	*x = (long)(intptr_t)arg;
	__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	return x;
}

static void
destroy(void *x)
{
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
	free(x);
}

static int
count(int *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

/* ---- one user ---- */

static void
reuse(void)
{
	weft_pool p = { .make = make, .destroy = destroy, .arg = (void *)7L };
	long *a = weft_pool_get(&p), *b;

	EQ(*a, 7);
	weft_pool_put(&p, a);
	b = weft_pool_get(&p);
	OK(a == b);
	weft_pool_put(&p, NULL);
	a = weft_pool_get(&p);
	OK(a != b);
	weft_pool_put(&p, a);
	weft_pool_put(&p, b);
	EQ(made, 2);
	EQ(destroyed, 0);
	weft_pool_free(&p);
	EQ(destroyed, 2);
	/* As new. */
	weft_pool_put(&p, weft_pool_get(&p));
	EQ(made, 3);
	weft_pool_free(&p);
	weft_pool_free(&p);
	EQ(destroyed, 3);
}

TEST(reuse_without_runtime)
{
	reuse();
}

GTEST(reuse_on_one_p, 1)
{
	reuse();
}

GTEST(zero_value, 2)
{
	weft_pool p = {0};
	int x;

	OK(!weft_pool_get(&p));
	weft_pool_put(&p, &x);
	OK(weft_pool_get(&p) == &x);
	OK(!weft_pool_get(&p));
	weft_pool_put(&p, &x);
	weft_pool_free(&p);
	OK(!weft_pool_get(&p));
}

/* Far more than a stack has room for: none is lost, none comes twice. */
enum { MANY = 1000 };

static void
many(void)
{
	static char objects[MANY], seen[MANY];
	weft_pool p = {0};
	char *x;
	int n = 0;

	for (int i = 0; i < MANY; i++)
		seen[i] = 0;
	for (int i = 0; i < MANY; i++)
		weft_pool_put(&p, &objects[i]);
	while ((x = weft_pool_get(&p))) {
		EQ(seen[x - objects], 0);
		seen[x - objects] = 1;
		n++;
	}
	EQ(n, MANY);
	weft_pool_free(&p);
}

TEST(many_without_runtime)
{
	many();
}

ON_ALL(many)

GTEST(free_destroys_all, 2)
{
	weft_pool p = { .make = make, .destroy = destroy };
	static void *x[MANY];

	for (int i = 0; i < MANY; i++)
		x[i] = weft_pool_get(&p);
	EQ(made, MANY);
	for (int i = 0; i < MANY; i++)
		weft_pool_put(&p, x[i]);
	EQ(destroyed, 0);
	weft_pool_free(&p);
	EQ(destroyed, MANY);
}

/* ---- several Ps ---- */

static void
put_some(weft_pool *p, char *objects, int n)
{
	for (int i = 0; i < n; i++)
		weft_pool_put(p, &objects[i]);
}

static void *
put_on_thread(void *arg)
{
	static char objects[10];

	put_some(arg, objects, 10);
	return NULL;
}

/* What a plain thread has put is there for a goroutine. */
GTEST(from_a_thread, 2)
{
	weft_pool p = {0};

	thread_run(put_on_thread, &p);
	for (int i = 0; i < 10; i++)
		OK(weft_pool_get(&p));
	OK(!weft_pool_get(&p));
	weft_pool_free(&p);
}

static void *
get_on_thread(void *arg)
{
	int n = 0;

	while (weft_pool_get(arg))
		n++;
	return (void *)(intptr_t)n;
}

/* A thread without a P takes what the Ps have, hot objects too. */
GTEST(stolen_by_a_thread, 4)
{
	static char objects[10];
	weft_pool p = {0};
	pthread_t t;
	void *n;

	put_some(&p, objects, 10);
	EQ(pthread_create(&t, NULL, get_on_thread, &p), 0);
	pthread_join(t, &n);
	EQ((intptr_t)n, 10);
	weft_pool_free(&p);
}

/* Objects on a P that is gone are not lost. */
static void
put_and_wait(weft_pool *p, char *object, weft_waitgroup *put,
    weft_waitgroup *go)
{
	weft_pool_put(p, object);
	weft_waitgroup_done(put);
	weft_waitgroup_wait(go);
}

GTEST(fewer_procs, 8)
{
	static char objects[64];
	weft_waitgroup wg = {0}, go = {0}, ended = {0};
	weft_pool p = {0};
	int n = 0;

	weft_waitgroup_add(&go, 1);
	weft_waitgroup_add(&wg, 64);
	for (int i = 0; i < 64; i++)
		weft_waitgroup_go(&ended, put_and_wait, &p, &objects[i], &wg,
		    &go);
	weft_waitgroup_wait(&wg);
	EQ(weft_set_procs(1), 8);
	while (weft_pool_get(&p))
		n++;
	EQ(n, 64);
	weft_waitgroup_done(&go);
	weft_waitgroup_wait(&ended);
	weft_pool_free(&p);
}

/* ---- given back ---- */

static bool
reaches(int *n, int to)
{
	int64_t end = weft_deadline(30 * WEFT_SECOND);

	while (count(n) < to && weft_now() < end)
		weft_sleep(WEFT_MS);
	return count(n) == to;
}

/* Everything: the hot one, the stack, the depot. */
GTEST(idle_objects_are_destroyed, 2)
{
	weft_pool p = { make, destroy, NULL, .idle = 20 * WEFT_MS };
	static void *x[MANY];

	for (int i = 0; i < MANY; i++)
		x[i] = weft_pool_get(&p);
	for (int i = 0; i < MANY; i++)
		weft_pool_put(&p, x[i]);
	OK(reaches(&destroyed, MANY));
	/* Armed anew after it was empty. */
	for (int i = 0; i < 3; i++) {
		weft_pool_put(&p, weft_pool_get(&p));
		EQ(made, MANY + 1 + i);
		OK(reaches(&destroyed, MANY + 1 + i));
	}
	weft_pool_free(&p);
	EQ(destroyed, made);
}

/*
 * One object that is used all the time stays, beside ones that go. (Whether
 * the clock of this machine lets a use fall into each round is not certain:
 * then it may be made again, so often as rounds had none.)
 */
GTEST(used_objects_stay, 1)
{
	weft_pool p = { make, destroy, NULL, .idle = 200 * WEFT_MS };
	int64_t end;
	void *x[10];

	for (int i = 0; i < 10; i++)
		x[i] = weft_pool_get(&p);
	for (int i = 0; i < 10; i++)
		weft_pool_put(&p, x[i]);
	end = weft_deadline(WEFT_SECOND);
	while (weft_now() < end) {
		weft_pool_put(&p, weft_pool_get(&p));
		weft_yield();
	}
	OK(reaches(&destroyed, 9) || count(&made) > 10);
	OK(count(&made) <= 12);
	weft_pool_free(&p);
	EQ(destroyed, made);
}

/* free while the timer's goroutine may come at any moment. */
GTEST(free_races_with_rounds, 4)
{
	for (long i = t_scale(300); i > 0; i--) {
		weft_pool p = { make, destroy, NULL, .idle = 100 * WEFT_US };

		for (int j = 0; j < 5; j++)
			weft_pool_put(&p, make(NULL));
		weft_sleep(i % 7 * 50 * WEFT_US);
		weft_pool_free(&p);
		EQ(destroyed, made);
	}
}

/* ---- make may wait, fail, or end its goroutine ---- */

static void *
make_none(void *arg)
{
	(void)arg;
	weft_sleep(WEFT_MS);
	return NULL;
}

static void *
make_exit(void *arg)
{
	weft_waitgroup_done(arg);
	weft_goexit();
}

static void
get_in_vain(weft_pool *p)
{
	weft_pool_get(p);
	OK(false);
}

GTEST(make_waits_or_ends, 2)
{
	weft_waitgroup wg = {0};
	weft_pool none = { .make = make_none };
	weft_pool ends = { .make = make_exit, .arg = &wg };

	OK(!weft_pool_get(&none));
	weft_waitgroup_add(&wg, 1);
	weft_go(get_in_vain, &ends);
	weft_waitgroup_wait(&wg);
	weft_pool_free(&none);
	weft_pool_free(&ends);
}

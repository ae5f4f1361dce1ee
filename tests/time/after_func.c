/* SPDX-License-Identifier: MIT */
/* weft_after_func: a goroutine that starts later, once, or is called off. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"
#include "timer_expect.h"

static weft_waitgroup fired;

/* Long enough for what should not happen to happen. */
static void
wait_and_see(void)
{
	weft_sleep(50 * WEFT_MS);
}

/* ---- it runs ---- */

static int64_t seen_id, seen_at;
static void *seen_arg;

static void
look_around(void *arg)
{
	seen_at = weft_now();
	seen_id = weft_self_id();
	seen_arg = arg;
	weft_waitgroup_done(&fired);
}

static void
fires_once(int64_t ns)
{
	int64_t before = weft_now();
	weft_timer *t;

	seen_id = 0;
	weft_waitgroup_add(&fired, 1);
	t = weft_after_func(ns, look_around, &before);
	OK(t != NULL);
	weft_waitgroup_wait(&fired);
	OK(ns <= 0 || seen_at >= before + ns);
	OK(seen_id > 0 && seen_id != weft_self_id());
	OK(seen_arg == &before);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
}

static void
fires(void)
{
	for_short_times(fires_once);
}

GTEST(runs_on_a_goroutine, 1) { fires(); }
GTEST(runs_on_a_goroutine_of_four, 4) { fires(); }

/* It is an ordinary goroutine: it may wait, end early, and defer. */
static weft_waitgroup gate, gone;

static void
wait_and_exit(void *arg)
{
	EQ(weft_defer(run_and_tell, arg), 0);
	weft_yield();
	weft_sleep(WEFT_MS);
	weft_waitgroup_wait(&gate);
	weft_goexit();
}

GTEST(may_wait_and_exit, 1)
{
	enum { N = 20 };
	weft_timer *t[N];

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&gone, N);
	for (int i = 0; i < N; i++)
		t[i] = weft_after_func(WEFT_MS, wait_and_exit, &gone);
	while (weft_goroutines() < 1 + N)
		weft_yield();
	fires();	/* they do not keep others from it */
	EQ(count(), 0);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&gone);
	EQ(count(), N);
	for (int i = 0; i < N; i++)
		weft_timer_free(t[i]);
}

/* While it is pending there is no goroutine. */
GTEST(pending_is_no_goroutine, 2)
{
	weft_timer *t[1000];

	for (int i = 0; i < 1000; i++)
		t[i] = weft_after_func(HOUR, run, NULL);
	EQ(weft_goroutines(), 1);
	for (int i = 0; i < 1000; i++) {
		EQ(weft_timer_stop(t[i]), true);
		weft_timer_free(t[i]);
	}
	EQ(count(), 0);
}

/* ---- each one starts the next ---- */

struct chain {
	long left;
	int64_t ns;
	weft_timer *t;
	weft_waitgroup *done;
};

static void set_off(struct chain *c);

static void
link_up(void *arg)
{
	struct chain *c = arg;

	weft_timer_free(c->t);
	if (--c->left > 0)
		set_off(c);
	else
		weft_waitgroup_done(c->done);
}

/* In two steps, so that it knows its own timer when it runs. */
static void
set_off(struct chain *c)
{
	c->t = weft_after_func(HOUR, link_up, c);
	EQ(weft_timer_reset(c->t, c->ns), true);
}

static void
chains(int n, long links, int64_t ns)
{
	struct chain *c = calloc((size_t)n, sizeof *c);

	weft_waitgroup_add(&fired, n);
	for (int i = 0; i < n; i++) {
		c[i] = (struct chain){ links, ns, NULL, &fired };
		set_off(&c[i]);
	}
	weft_waitgroup_wait(&fired);
	for (int i = 0; i < n; i++)
		EQ(c[i].left, 0);
	free(c);
}

GTEST(each_starts_the_next_at_once, 1) { chains(1, t_scale(5000), 0); }
GTEST(each_starts_the_next_soon, 2) { chains(10, t_scale(300), WEFT_US); }
GTEST(each_starts_the_next, 4) { chains(20, t_scale(200), 30 * WEFT_US); }

/* The same timer again and again, set anew by its own goroutine. */
static weft_timer *self;
static long rounds;

static void
again(void *arg)
{
	(void)arg;
	if (--rounds > 0)
		EQ(weft_timer_reset(self, rounds % 3 * 10 * WEFT_US), false);
	else
		weft_waitgroup_done(&fired);
}

GTEST(sets_itself_again, 2)
{
	rounds = t_scale(2000);
	weft_waitgroup_add(&fired, 1);
	self = weft_after_func(HOUR, again, NULL);
	EQ(weft_timer_reset(self, 0), true);
	weft_waitgroup_wait(&fired);
	EQ(rounds, 0);
	EQ(weft_timer_stop(self), false);
	weft_timer_free(self);
}

/* ---- many ---- */

static void
many(int n, int64_t ns, int64_t step)
{
	weft_timer **t = calloc((size_t)n, sizeof *t);

	weft_waitgroup_add(&fired, n);
	for (int i = 0; i < n; i++)
		t[i] = weft_after_func(ns + i * 37 % n * step, run_and_tell,
		    &fired);
	weft_waitgroup_wait(&fired);
	EQ(count(), n);
	for (int i = 0; i < n; i++) {
		EQ(weft_timer_stop(t[i]), false);
		weft_timer_free(t[i]);
	}
	wait_and_see();
	EQ(count(), n);
	free(t);
}

GTEST(a_thousand_at_once_on_one, 1) { many(1000, 0, 0); }
GTEST(a_thousand_at_once_on_four, 4) { many(1000, 5 * WEFT_MS, 0); }
GTEST(ten_thousand_spread, 2)
{
	many((int)t_scale(10000), WEFT_MS, 3 * WEFT_US);
}

/* ---- stopping ---- */

GTEST(stopped_never_runs, 2)
{
	int64_t due = weft_deadline(20 * WEFT_MS);
	weft_timer *t = weft_after_func(20 * WEFT_MS, run, NULL);
	bool stopped = weft_timer_stop(t);

	/* It must be pending unless we were held up for so long. */
	OK(stopped || weft_now() >= due);
	EQ(weft_timer_stop(t), false);
	weft_sleep_until(due);
	wait_and_see();
	while (count() < !stopped)
		weft_yield();
	EQ(count(), !stopped);
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
}

GTEST(stop_tells_what_it_did, 1)
{
	weft_timer *t = weft_after_func(HOUR, run, NULL);

	EQ(weft_timer_stop(t), true);
	EQ(weft_timer_stop(t), false);
	EQ(weft_timer_reset(t, 0), false);
	while (count() == 0)
		weft_yield();
	EQ(weft_timer_stop(t), false);
	EQ(weft_timer_reset(t, HOUR), false);
	EQ(weft_timer_reset(t, 2 * HOUR), true);
	EQ(weft_timer_reset(t, 0), true);
	while (count() == 1)
		weft_yield();
	EQ(weft_timer_stop(t), false);
	weft_timer_free(t);
	EQ(count(), 2);
}

static void
stop_and_tell(weft_timer *t, int *result)
{
	*result = weft_timer_stop(t);
	weft_waitgroup_done(&fired);
}

static void *
stop_plainly(void *t)
{
	EQ(weft_timer_stop(t), true);
	EQ(weft_timer_stop(t), false);
	return NULL;
}

static void
stop_from_elsewhere(void)
{
	weft_timer *t = weft_after_func(HOUR, run, NULL);

	for (int i = 0; i < 50; i++) {
		int got[8], sum = 0;

		weft_waitgroup_add(&fired, 8);
		for (int k = 0; k < 8; k++)
			weft_go(stop_and_tell, t, &got[k]);
		weft_waitgroup_wait(&fired);
		for (int k = 0; k < 8; k++)
			sum += got[k];
		EQ(sum, 1);
		EQ(weft_timer_reset(t, HOUR), false);
		thread_run(stop_plainly, t);
		EQ(weft_timer_reset(t, HOUR), false);
	}
	weft_timer_free(t);
	EQ(count(), 0);
}

GTEST(stopped_from_elsewhere_on_one, 1) { stop_from_elsewhere(); }
GTEST(stopped_from_elsewhere_on_four, 4) { stop_from_elsewhere(); }

/* ---- resetting ---- */

GTEST(reset_moves_it, 2)
{
	int64_t due = weft_deadline(100 * WEFT_MS);
	weft_timer *t;

	weft_waitgroup_add(&fired, 1);
	t = weft_after_func(HOUR, look_around, &gate);
	EQ(weft_timer_reset(t, 5 * HOUR), true);
	EQ(weft_timer_reset(t, 100 * WEFT_MS), true);
	weft_waitgroup_wait(&fired);
	OK(seen_at >= due);
	OK(seen_arg == &gate);

	/* Later than it was: the old time passes and nothing happens. */
	weft_waitgroup_add(&fired, 1);
	EQ(weft_timer_reset(t, HOUR), false);
	EQ(weft_timer_reset(t, 10 * WEFT_SECOND), true);
	due = weft_deadline(100 * WEFT_MS);
	EQ(weft_timer_reset(t, 100 * WEFT_MS), true);
	weft_waitgroup_wait(&fired);
	OK(seen_at >= due);
	weft_timer_free(t);
}

/* Put off again and again, it does not run until it is left alone. */
GTEST(put_off, 2)
{
	int64_t due = 0;
	weft_timer *t;

	weft_waitgroup_add(&fired, 1);
	t = weft_after_func(HOUR, look_around, NULL);
	for (long i = 0; i < 2000; i++) {
		due = weft_deadline(10 * WEFT_SECOND);
		EQ(weft_timer_reset(t, 10 * WEFT_SECOND), true);
		if (i % 100 == 0)
			weft_sleep(WEFT_MS);
	}
	due = weft_deadline(20 * WEFT_MS);
	EQ(weft_timer_reset(t, 20 * WEFT_MS), true);
	weft_waitgroup_wait(&fired);
	OK(seen_at >= due);
	weft_timer_free(t);
}

static weft_timer *shared;

PLAIN_THREAD(reset_plainly, EQ(weft_timer_reset(shared, *(int64_t *)arg), true))

GTEST(reset_from_a_thread, 2)
{
	int64_t soon = WEFT_MS, late = 2 * HOUR;

	for (int i = 0; i < 100; i++) {
		weft_waitgroup_add(&fired, 1);
		shared = weft_after_func(HOUR, run_and_tell, &fired);
		thread_run(reset_plainly, &late);
		thread_run(reset_plainly, &soon);
		weft_waitgroup_wait(&fired);
		weft_timer_free(shared);
	}
	EQ(count(), 100);
}

/* ---- freeing ---- */

GTEST(freed_while_pending_never_runs, 2)
{
	int late = 0;

	for (int i = 0; i < 1000; i++) {
		int64_t due = weft_deadline(100 * WEFT_MS);

		weft_timer_free(weft_after_func(100 * WEFT_MS, run, NULL));
		late += weft_now() >= due;	/* it may have run before */
	}
	weft_timer_free(NULL);
	weft_sleep(100 * WEFT_MS);
	wait_and_see();
	OK(count() <= late);
}

static void
free_self(void *arg)
{
	weft_timer **t = arg;

	weft_timer_free(*t);
	*t = NULL;
	weft_yield();
	run_and_tell(&fired);
}

GTEST(freed_by_its_own_goroutine, 4)
{
	int n = (int)t_scale(2000);
	weft_timer **t = calloc((size_t)n, sizeof *t);

	weft_waitgroup_add(&fired, n);
	for (int i = 0; i < n; i++) {
		t[i] = weft_after_func(HOUR, free_self, &t[i]);
		EQ(weft_timer_reset(t[i], i % 7 * 100 * WEFT_US), true);
	}
	weft_waitgroup_wait(&fired);
	EQ(count(), n);
	for (int i = 0; i < n; i++)
		OK(t[i] == NULL);
	free(t);
}

static int inside, leave;

static void
stay_inside(void *arg)
{
	__atomic_add_fetch(&inside, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&leave, __ATOMIC_ACQUIRE))
		weft_yield();
	run_and_tell(arg);
}

GTEST(freed_while_its_goroutine_runs, 2)
{
	enum { N = 50 };
	weft_timer *t[N];

	weft_waitgroup_add(&fired, N);
	for (int i = 0; i < N; i++)
		t[i] = weft_after_func(0, stay_inside, &fired);
	while (__atomic_load_n(&inside, __ATOMIC_ACQUIRE) < N)
		weft_yield();
	for (int i = 0; i < N; i++) {
		EQ(weft_timer_stop(t[i]), false);
		weft_timer_free(t[i]);
	}
	__atomic_store_n(&leave, 1, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&fired);
	EQ(count(), N);
}

/* ---- beyond the end of the clock ---- */

GTEST(never_is_never, 2)
{
	static const int64_t some[] = { INT64_MAX, INT64_MAX - 1,
	    INT64_MAX / 2, HOUR };
	weft_timer *t[4];

	for (int i = 0; i < 4; i++)
		t[i] = weft_after_func(some[i], run, NULL);
	wait_and_see();
	EQ(count(), 0);
	for (int i = 0; i < 4; i++) {
		EQ(weft_timer_reset(t[i], some[3 - i]), true);
		EQ(weft_timer_reset(t[i], INT64_MAX - weft_now()), true);
	}
	wait_and_see();
	EQ(count(), 0);
	for (int i = 0; i < 4; i++)
		EQ(weft_timer_stop(t[i]), true);
	for (int i = 0; i < 4; i++) {
		EQ(weft_timer_reset(t[i], some[i]), false);
		weft_timer_free(t[i]);
	}
	EQ(count(), 0);
}

/* A pending one is no deadlock, though all goroutines wait. */
GTEST(pending_is_no_deadlock, 1)
{
	weft_timer *t;

	weft_waitgroup_add(&fired, 1);
	t = weft_after_func(400 * WEFT_MS, run_and_tell, &fired);
	weft_waitgroup_wait(&fired);
	weft_timer_free(t);
}

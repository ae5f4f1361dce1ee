/* SPDX-License-Identifier: MIT */
/*
 * Functions that a context calls when it is cancelled: once or not at all, and
 * stop says which. Then contexts without their parent's cancellation, and
 * deadlines with a cause.
 */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"
#include "until_alone.h"

struct call {
	weft_event called;
	int times;
	bool on_goroutine;
};

static void
note(void *arg)
{
	struct call *c = arg;

	c->on_goroutine = weft_self_id() > 0;
	__atomic_add_fetch(&c->times, 1, __ATOMIC_RELEASE);
	weft_event_set(&c->called);
}

static int
times(struct call *c)
{
	return __atomic_load_n(&c->times, __ATOMIC_ACQUIRE);
}

GTEST(called_when_cancelled, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct call c = {0};
	weft_context_func *f = weft_context_after_func(ctx, note, &c);

	for (int i = 0; i < 20; i++)
		weft_yield();
	EQ(times(&c), 0);
	weft_context_cancel(ctx, 0);
	weft_event_wait(&c.called);
	weft_context_cancel(ctx, 0);
	OK(c.on_goroutine);
	OK(!weft_context_func_stop(f));
	weft_context_release(ctx);
	until_alone();
	EQ(times(&c), 1);
}

GTEST(stopped_before, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct call c = {0};

	OK(weft_context_func_stop(weft_context_after_func(ctx, note, &c)));
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
	until_alone();
	EQ(times(&c), 0);
}

GTEST(cancelled_already, 1)
{
	weft_context *ctx = weft_context_make(NULL);
	struct call c = {0};
	weft_context_func *f;

	weft_context_cancel(ctx, 0);
	f = weft_context_after_func(ctx, note, &c);
	weft_event_wait(&c.called);
	OK(!weft_context_func_stop(f));
	weft_context_release(ctx);
	until_alone();
	EQ(times(&c), 1);
}

GTEST(overdue_already, 1)
{
	weft_context *ctx = weft_context_make_until(NULL, weft_now());
	struct call c = {0};
	weft_context_func *f = weft_context_after_func(ctx, note, &c);

	weft_event_wait(&c.called);
	OK(!weft_context_func_stop(f));
	weft_context_release(ctx);
	until_alone();
}

/* By its deadline, by a parent's cancel; the handle keeps the context. */
GTEST(by_a_deadline_above, 2)
{
	weft_context *top = weft_context_make_until(NULL,
	    weft_deadline(2 * WEFT_MS));
	weft_context *ctx = weft_context_make(top);
	struct call c = {0};
	weft_context_func *f = weft_context_after_func(ctx, note, &c);

	weft_context_release(top);
	weft_context_release(ctx);
	weft_event_wait(&c.called);
	OK(!weft_context_func_stop(f));
	until_alone();
	EQ(times(&c), 1);
}

GTEST(of_the_root, 1)
{
	struct call c = {0};
	weft_context_func *f = weft_context_after_func(NULL, note, &c);

	for (int i = 0; i < 20; i++)
		weft_yield();
	OK(weft_context_func_stop(f));
	OK(!weft_context_func_stop(NULL));
	until_alone();
	EQ(times(&c), 0);
}

/* Many, at all levels; every other one is stopped. */
GTEST(many, 4)
{
	enum { N = 200 };
	weft_context *ctx[4] = { weft_context_make(NULL) };
	static struct call c[N];
	weft_context_func *f[N];

	for (int i = 1; i < 4; i++)
		ctx[i] = weft_context_make(ctx[i - 1]);
	for (int i = 0; i < N; i++)
		f[i] = weft_context_after_func(ctx[i % 4], note, &c[i]);
	for (int i = 1; i < N; i += 2)
		OK(weft_context_func_stop(f[i]));
	weft_context_cancel(ctx[0], 0);
	for (int i = 0; i < N; i += 2) {
		weft_event_wait(&c[i].called);
		OK(!weft_context_func_stop(f[i]));
	}
	for (int i = 0; i < 4; i++)
		weft_context_release(ctx[i]);
	until_alone();
	for (int i = 0; i < N; i++)
		EQ(times(&c[i]), i % 2 == 0);
}

/* It may stop itself, and release what it belongs to. */
struct own {
	weft_context *ctx;
	weft_context_func *f;
	weft_event ready, done;
};

static void
stop_itself(void *arg)
{
	struct own *o = arg;

	weft_event_wait(&o->ready);
	OK(!weft_context_func_stop(o->f));
	weft_context_release(o->ctx);
	weft_event_set(&o->done);
}

GTEST(stops_itself, 2)
{
	struct own o = { .ctx = weft_context_make(NULL) };

	o.f = weft_context_after_func(o.ctx, stop_itself, &o);
	weft_event_set(&o.ready);
	weft_context_cancel(o.ctx, 0);
	weft_event_wait(&o.done);
	until_alone();
}

/* ---- stop against cancel ---- */

static void
cancel_it(weft_context *ctx)
{
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
}

static void
race(void)
{
	long stopped = 0, n = t_scale(5000);

	for (long i = 0; i < n; i++) {
		weft_context *ctx = weft_context_make(NULL);
		struct call c = {0};
		weft_context_func *f = weft_context_after_func(ctx, note, &c);
		bool was;

		weft_go(cancel_it, weft_context_retain(ctx));
		for (long k = 0; k < i % 5; k++)
			weft_yield();
		was = weft_context_func_stop(f);
		if (!was)
			weft_event_wait(&c.called);
		stopped += was;
		weft_context_release(ctx);
		while (weft_goroutines() > 1)
			weft_yield();
		EQ(times(&c), !was);
	}
	OK(stopped <= n);
}

GTEST(stop_against_cancel_on_1, 1) { race(); }
GTEST(stop_against_cancel_on_4, 4) { race(); }

/* Registered while it is cancelled: called once in any case. */
static void
register_race(void)
{
	for (long i = t_scale(5000); i > 0; i--) {
		weft_context *ctx = weft_context_make(NULL);
		struct call c = {0};
		weft_context_func *f;

		weft_go(cancel_it, weft_context_retain(ctx));
		for (long k = 0; k < i % 3; k++)
			weft_yield();
		f = weft_context_after_func(ctx, note, &c);
		weft_event_wait(&c.called);
		OK(!weft_context_func_stop(f));
		weft_context_release(ctx);
		while (weft_goroutines() > 1)
			weft_yield();
		EQ(times(&c), 1);
	}
}

GTEST(register_against_cancel_on_1, 1) { register_race(); }
GTEST(register_against_cancel_on_4, 4) { register_race(); }

/* ---- plain threads, and without a runtime ---- */

PLAIN_THREAD(cancel_on_a_thread, weft_context_cancel(arg, 0))

GTEST(cancelled_on_a_thread, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct call c = {0};
	weft_context_func *f = weft_context_after_func(ctx, note, &c);
	pthread_t t;

	EQ(pthread_create(&t, NULL, cancel_on_a_thread, ctx), 0);
	weft_event_wait(&c.called);
	OK(c.on_goroutine);
	OK(!weft_context_func_stop(f));
	EQ(pthread_join(t, NULL), 0);
	weft_context_release(ctx);
	until_alone();
}

static struct call early;

static int
wait_for_early(int argc, char **argv)
{
	(void)argv;
	weft_event_wait(&early.called);
	return argc;
}

/* Cancelled before there is a runtime: called when there is one. */
TEST(cancelled_before_the_runtime)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_context_func *f = weft_context_after_func(ctx, note, &early);

	weft_context_cancel(ctx, 0);
	EQ(times(&early), 0);
	EQ(weft_run(wait_for_early, 3, NULL), 3);
	EQ(times(&early), 1);
	OK(early.on_goroutine);
	OK(!weft_context_func_stop(f));
	weft_context_release(ctx);
}

TEST(stopped_without_a_runtime)
{
	weft_context *ctx = weft_context_make(NULL);

	OK(weft_context_func_stop(weft_context_after_func(ctx, note, &early)));
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
	EQ(times(&early), 0);
}

DIES(null_function, 1, "weft_context_after_func: null function")
{
	weft_context_after_func(NULL, NULL, NULL);
}

/* ---- without cancel ---- */

static char key;

TEST(without_cancel)
{
	weft_context *top = weft_context_make_until(NULL, weft_deadline(
	    3600 * WEFT_SECOND));
	weft_context *value = weft_context_make_value(top, &key, &early);
	weft_context *free = weft_context_without_cancel(value);
	weft_context *child = weft_context_make(free);

	EQ(weft_context_deadline(free), WEFT_NEVER);
	EQ(weft_context_deadline(child), WEFT_NEVER);
	OK(weft_context_value(child, &key) == &early);
	weft_context_cancel(top, 5);
	EQ(weft_context_error(value), -ECANCELED);
	EQ(weft_context_error(free), 0);
	EQ(weft_context_error(child), 0);
	OK(!weft_chan_is_closed(weft_context_done(child)));
	weft_context_release(top);
	weft_context_release(value);
	/* The values are still there; and it is a tree of its own. */
	OK(weft_context_value(child, &key) == &early);
	weft_context_cancel(free, 6);
	EQ(weft_context_error(child), -ECANCELED);
	EQ(weft_context_cause(child), 6);
	weft_context_release(free);
	weft_context_release(child);
	EQ(t_leaks(), 0);
}

TEST(without_cancel_of_cancelled)
{
	weft_context *top = weft_context_make(NULL), *free, *none;

	weft_context_cancel(top, 0);
	free = weft_context_without_cancel(top);
	none = weft_context_without_cancel(NULL);
	EQ(weft_context_error(free), 0);
	EQ(weft_context_error(none), 0);
	weft_context_release(top);
	weft_context_release(free);
	weft_context_release(none);
	EQ(t_leaks(), 0);
}

/* ---- causes of deadlines ---- */

TEST(deadline_cause)
{
	int64_t past = weft_now(), far = weft_deadline(3600 * WEFT_SECOND);
	weft_context *a = weft_context_make_until_cause(NULL, past, -EBUSY);
	weft_context *child = weft_context_make(a);
	weft_context *b = weft_context_make_until_cause(NULL, past, 0);
	weft_context *c = weft_context_make_until_cause(NULL, far, -EBUSY);

	EQ(weft_context_error(a), -ETIMEDOUT);
	EQ(weft_context_cause(a), -EBUSY);
	EQ(weft_context_error(child), -ETIMEDOUT);
	EQ(weft_context_cause(child), -EBUSY);
	EQ(weft_context_cause(b), -ETIMEDOUT);
	EQ(weft_context_cause(c), 0);
	weft_context_cancel(c, -EIO);
	EQ(weft_context_error(c), -ECANCELED);
	EQ(weft_context_cause(c), -EIO);
	weft_context_release(a);
	weft_context_release(child);
	weft_context_release(b);
	weft_context_release(c);
}

/*
 * The cause is that of the node whose deadline it is. Without a runtime the
 * call that asks notices it.
 */
static void
cause_from_above(void)
{
	int64_t soon = weft_deadline(2 * WEFT_MS);
	weft_context *top = weft_context_make_until_cause(NULL, soon, -EBUSY);
	weft_context *late = weft_context_make_until_cause(top,
	    soon + 3600 * WEFT_SECOND, -EIO);
	weft_context *never = weft_context_make_until_cause(late, 0, -EPERM);

	EQ(weft_context_deadline(never), soon);
	weft_sleep_until(soon);
	EQ(weft_context_error(never), -ETIMEDOUT);
	EQ(weft_context_cause(never), -EBUSY);
	EQ(weft_context_error(late), -ETIMEDOUT);
	EQ(weft_context_cause(late), -EBUSY);
	weft_context_release(top);
	weft_context_release(late);
	weft_context_release(never);
}

TEST(cause_from_above_without_a_runtime) { cause_from_above(); }
GTEST(cause_from_above_by_timer, 1)
{
	cause_from_above();
	until_alone();
}

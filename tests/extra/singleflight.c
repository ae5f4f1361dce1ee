/* SPDX-License-Identifier: MIT */
/* weft_flight: calls that overlap share one execution. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weft/extra.h>

#include "plain_thread.h"
#include "t.h"

/* A function that runs until it is let go. */
struct work {
	weft_flight f;
	weft_key key;
	weft_event began, go;
	weft_waitgroup wg;
	int calls, ended;	/* atomic */
	int got[3];		/* atomic: NULL, the work, refused */
};

static void *
run(void *arg)
{
	struct work *w = arg;

	__atomic_add_fetch(&w->calls, 1, __ATOMIC_RELAXED);
	weft_event_set(&w->began);
	weft_event_wait(&w->go);
	__atomic_add_fetch(&w->ended, 1, __ATOMIC_RELAXED);
	return w;
}

static void
note(struct work *w, bool done, void *result)
{
	int i = !done ? 2 : result == w;

	__atomic_add_fetch(&w->got[i], 1, __ATOMIC_SEQ_CST);
	weft_waitgroup_done(&w->wg);
}

static void
call(struct work *w)
{
	note(w, true, weft_flight_do(&w->f, w->key, run, w));
}

static void
call_until(struct work *w, int64_t when)
{
	void *r = NULL;
	bool done = weft_flight_do_until(&w->f, w->key, run, w, &r, when);

	note(w, done, r);
}

static void
call_context(struct work *w, weft_context *ctx)
{
	void *r = NULL;
	bool done = weft_flight_do_context(&w->f, w->key, run, w, &r, ctx);

	note(w, done, r);
}

PLAIN_THREAD(call_plainly, call(arg))

/* Has a goroutine call it, which is in its function now. */
static void
lead(struct work *w)
{
	weft_waitgroup_add(&w->wg, 1);
	weft_go(call, w);
	weft_event_wait(&w->began);
}

enum { WAITERS = 20 };

/* Those that come while it runs wait; whoever comes after it runs it anew. */
static void
shared(void)
{
	struct work w = { .key = weft_key_string("a key") };
	pthread_t t;

	lead(&w);
	weft_waitgroup_add(&w.wg, WAITERS + 1);
	for (int i = 0; i < WAITERS; i++)
		weft_go(call, &w);
	EQ(pthread_create(&t, NULL, call_plainly, &w), 0);
	for (int i = 0; i < 2 * WAITERS; i++)
		weft_yield();
	EQ(w.ended, 0);
	weft_event_set(&w.go);
	weft_waitgroup_wait(&w.wg);
	pthread_join(t, NULL);
	EQ(w.got[1], WAITERS + 2);
	/* A caller that came too late to wait has run it itself. */
	OK(w.calls >= 1 && w.calls <= WAITERS + 2);
	EQ(w.calls, w.ended);
	w.calls = 0;
	OK(weft_flight_do(&w.f, w.key, run, &w) == &w);
	EQ(w.calls, 1);
}
ON_ALL(shared)

static int refs;		/* atomic */

static void
retain(void *result)
{
	(void)result;
	__atomic_add_fetch(&refs, 1, __ATOMIC_RELAXED);
}

/* Goroutines that wait for an event: not such that wait for a mutex first. */
static int64_t
waiting_for_events(void)
{
	weft_goroutine_counts c;
	const char *name;

	weft_goroutine_counts_read(&c, sizeof c);
	for (int i = 0; (name = weft_wait_reason_name(i)); i++)
		if (strcmp(name, "event") == 0)
			return c.waiting_for[i];
	return 0;
}

/* All wait, and the one that runs waits to be let go. Each result beyond the
 * first is retained. */
GTEST(one_execution, 1)
{
	struct work w = { .f = { .retain = retain },
	    .key = weft_key_number(1) };

	lead(&w);
	weft_waitgroup_add(&w.wg, WAITERS + 1);
	weft_go(call_until, &w, weft_deadline(WEFT_MS));
	while (!__atomic_load_n(&w.got[2], __ATOMIC_SEQ_CST))
		weft_yield();
	for (int i = 0; i < WAITERS; i++)
		weft_go(call, &w);
	while (waiting_for_events() < WAITERS + 1)
		weft_yield();
	weft_event_set(&w.go);
	weft_waitgroup_wait(&w.wg);
	EQ(w.calls, 1);
	EQ(w.got[1], WAITERS + 1);
	EQ(refs, WAITERS);
}

TEST(without_runtime)
{
	struct work w = { .key = weft_key_string("a") };
	pthread_t t[4];

	weft_waitgroup_add(&w.wg, 4);
	threads_start(t, 4, call_plainly, &w);
	weft_event_wait(&w.began);
	weft_event_set(&w.go);
	threads_join(t, 4);
	EQ(w.got[1], 4);
	EQ(w.calls, w.ended);
}

/* ---- keys and flights ---- */

GTEST(other_keys_and_flights_do_not_share, 2)
{
	struct work a = { .key = weft_key_string("key") };
	struct work b = { .key = weft_key_string("key") };
	void *r;

	lead(&a);
	weft_event_set(&b.go);
	/* The same key in another flight; another key in the same one. */
	OK(weft_flight_do(&b.f, b.key, run, &b) == &b);
	OK(weft_flight_do_until(&a.f, weft_key_string("kez"), run, &b, &r,
	    weft_now()));
	OK(r == &b);
	EQ(b.calls, 2);
	EQ(a.ended, 0);
	weft_event_set(&a.go);
	weft_waitgroup_wait(&a.wg);
	EQ(a.calls, 1);
}

static void
call_other(struct work *w, struct work *other)
{
	OK(weft_flight_do(&w->f, w->key, run, other) == other);
	weft_waitgroup_done(&w->wg);
}

GTEST(forget, 1)
{
	struct work w = { .key = weft_key_string("key") };
	struct work other = { .key = w.key };

	void *r;

	weft_flight_forget(&w.f, w.key);
	lead(&w);
	weft_flight_forget(&w.f, w.key);
	weft_flight_forget(&w.f, w.key);
	/* Not joined any more. */
	weft_event_set(&other.go);
	OK(weft_flight_do(&w.f, w.key, run, &other) == &other);
	/* The end of the forgotten one leaves a new one in its place. */
	weft_event_reset(&other.go);
	weft_event_reset(&other.began);
	weft_waitgroup_add(&w.wg, 1);
	weft_go(call_other, &w, &other);
	weft_event_wait(&other.began);
	weft_event_set(&w.go);
	while (!__atomic_load_n(&w.got[1], __ATOMIC_SEQ_CST))
		weft_yield();
	OK(!weft_flight_do_until(&w.f, w.key, run, &w, &r, weft_now()));
	weft_event_set(&other.go);
	weft_waitgroup_wait(&w.wg);
	EQ(w.calls, 1);
	EQ(other.calls, 2);
}

/* ---- limits ---- */

GTEST(waiters_have_limits, 2)
{
	struct work w = { .key = weft_key_pointer(&w) };
	weft_context *ctx = weft_context_make(NULL);
	void *r = &r;

	lead(&w);
	weft_waitgroup_add(&w.wg, 4);
	weft_go(call_until, &w, weft_deadline(WEFT_MS));
	weft_go(call_until, &w, 0);
	weft_go(call_context, &w, ctx);
	weft_go(call_context, &w, NULL);
	OK(!weft_flight_do_until(&w.f, w.key, run, &w, &r, weft_now()));
	OK(r == &r);
	weft_context_cancel(ctx, 0);
	OK(!weft_flight_do_context(&w.f, w.key, run, &w, &r, ctx));
	while (__atomic_load_n(&w.got[2], __ATOMIC_SEQ_CST) < 2)
		weft_sleep(WEFT_MS);
	EQ(w.calls, 1);
	weft_event_set(&w.go);
	weft_waitgroup_wait(&w.wg);
	EQ(w.got[1], 3);
	EQ(w.got[2], 2);
	/* The first is not limited. */
	OK(weft_flight_do_context(&w.f, w.key, run, &w, &r, ctx));
	OK(r == &w);
	OK(weft_flight_do_until(&w.f, w.key, run, &w, NULL, 1));
	weft_context_release(ctx);
}

/* ---- an execution without a result ---- */

static void *
run_and_exit(void *arg)
{
	run(arg);
	weft_goexit();
}

static void
call_and_exit(struct work *w)
{
	weft_flight_do(&w->f, w->key, run_and_exit, w);
	OK(false);
}

/* One of those that wait runs its own function. */
GTEST(the_next_one_leads, 1)
{
	struct work w = { .f = { .retain = retain },
	    .key = weft_key_string("x") };

	weft_go(call_and_exit, &w);
	weft_event_wait(&w.began);
	weft_waitgroup_add(&w.wg, WAITERS);
	for (int i = 0; i < WAITERS; i++)
		weft_go(call, &w);
	for (int i = 0; i < 3 * WAITERS; i++)
		weft_yield();
	EQ(w.calls, 1);
	weft_event_set(&w.go);
	weft_waitgroup_wait(&w.wg);
	EQ(w.got[1], WAITERS);
	/* They need not overlap any more. */
	OK(w.calls >= 2);
	EQ(refs + w.calls - 1, WAITERS);
}

static void *
again(void *arg)
{
	struct work *w = arg;

	return weft_flight_do(&w->f, w->key, again, w);
}

/* Nested calls with other keys are fine. */
static void *
nested(void *arg)
{
	struct work *w = arg;

	return weft_flight_do(&w->f, weft_key_number(2), run, w);
}

GTEST(nested_calls, 1)
{
	struct work w = {0};

	weft_event_set(&w.go);
	OK(weft_flight_do(&w.f, weft_key_number(1), nested, &w) == &w);
	OK(weft_flight_do(&w.f, weft_key_number(2), run, &w) == &w);
	EQ(w.calls, 2);
}

DIES(would_wait_for_itself, 1, "would wait for itself")
{
	struct work w = { .key = weft_key_string("x") };

	weft_flight_do(&w.f, w.key, again, &w);
}

DIES(null_function, 1, "weft_flight_do: null function")
{
	weft_flight f = {0};

	weft_flight_do(&f, weft_key_number(1), NULL, NULL);
}

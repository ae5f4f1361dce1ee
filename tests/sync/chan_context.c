/* SPDX-License-Identifier: MIT */
/*
 * Sending, receiving, selecting and sleeping with a context: what can be done
 * at once is done, a cancel or a deadline ends the wait, and no waiter stays
 * in a queue.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

/* ---- a context that is cancelled already ---- */

static void
cancelled_before(weft_context *ctx, int error)
{
	weft_chan *c = weft_chan_of(int, 1);
	int v = 7;
	weft_case k[] = { WEFT_CASE_RECV(c, &v), WEFT_CASE_RECV(NULL, NULL) };

	EQ(weft_chan_recv_context(c, &v, ctx), false);
	EQ(weft_recv_context(c, &v, ctx), false);
	EQ(weft_select_context(k, 2, ctx), error);
	EQ(weft_select_ordered_context(k, 2, ctx), error);
	EQ(weft_select_context(NULL, 0, ctx), error);
	EQ(v, 7);
	OK(weft_chan_send_context(c, &v, ctx));
	v = 8;
	EQ(weft_chan_send_context(c, &v, ctx), false);
	EQ(weft_send_context(c, 9L, ctx), false);
	EQ(weft_select_context(k, 2, ctx), 0);
	EQ(v, 7);
	OK(weft_send_context(c, 4L, ctx));
	OK(weft_recv_context(c, &v, ctx));
	EQ(v, 4);
	weft_chan_close(c);
	EQ(weft_chan_recv_context(c, &v, ctx), false);
	EQ(v, 0);
	EQ(weft_select_ordered_context(k, 2, ctx), 0);
	OK(!k[0].ok);
	OK(!weft_sleep_context(3600 * WEFT_SECOND, ctx));
	OK(weft_sleep_context(0, ctx));
	OK(weft_sleep_context(-1, ctx));
	weft_chan_release(c);
}

static void
each_cancelled_before(void)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_context *late = weft_context_make_until(NULL, weft_now());

	weft_context_cancel(ctx, 5);
	cancelled_before(ctx, -ECANCELED);
	cancelled_before(late, -ETIMEDOUT);
	weft_context_release(ctx);
	weft_context_release(late);
}

GTEST(before, 1) { each_cancelled_before(); }
TEST(before_on_a_thread) { each_cancelled_before(); }

/* ---- cancelled while it waits ---- */

enum form { SEND, RECV, SELECT, ORDERED, SLEEP, FORMS };

struct wait {
	enum form form;
	weft_chan *c;
	weft_context *ctx;
	int result;		/* 1 done, or the error of the context */
	bool started, ended;
};

static void
wait_with(struct wait *w)
{
	int v = 1;
	weft_case k[] = {
		WEFT_CASE_RECV(w->c, &v), WEFT_CASE_SEND(w->c, v),
		WEFT_CASE_RECV(w->c, NULL)
	};
	bool done = false;
	int i = 0;

	__atomic_store_n(&w->started, true, __ATOMIC_RELEASE);
	switch (w->form) {
	case SEND:	done = weft_chan_send_context(w->c, &v, w->ctx); break;
	case RECV:	done = weft_recv_context(w->c, &v, w->ctx); break;
	case SELECT:	i = weft_select_context(k, 3, w->ctx); break;
	case ORDERED:	i = weft_select_ordered_context(k, 3, w->ctx); break;
	default:	done = weft_sleep_context(3600 * WEFT_SECOND, w->ctx);
	}
	if (w->form == SELECT || w->form == ORDERED)
		w->result = i >= 0 ? 1 : i;
	else
		w->result = done ? 1 : weft_context_error(w->ctx);
	__atomic_store_n(&w->ended, true, __ATOMIC_RELEASE);
}

PLAIN_THREAD(wait_on_a_thread, wait_with(arg))

static void
until_up(bool *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		weft_yield();
}

/* thread: a plain thread waits. */
static void
cancelled_meanwhile(enum form form, bool thread, bool deadline, int yields)
{
	struct wait w = {
		.form = form, .c = weft_chan_of(int, 0),
		.ctx = deadline ?
		    weft_context_make_until(NULL, weft_deadline(WEFT_MS)) :
		    weft_context_make(NULL)
	};
	pthread_t t;

	if (thread)
		EQ(pthread_create(&t, NULL, wait_on_a_thread, &w), 0);
	else
		weft_go(wait_with, &w);
	until_up(&w.started);
	for (int i = 0; i < yields; i++)
		weft_yield();
	if (!deadline)
		weft_context_cancel(w.ctx, 0);
	until_up(&w.ended);
	if (thread)
		EQ(pthread_join(t, NULL), 0);
	EQ(w.result, deadline ? -ETIMEDOUT : -ECANCELED);
	/* it is in no queue any more */
	EQ(weft_try_send(w.c, 1), false);
	EQ(weft_try_recv(w.c, NULL), false);
	weft_chan_release(w.c);
	weft_context_release(w.ctx);
}

static void
each_cancelled_meanwhile(bool thread)
{
	long n = t_scale(thread ? 30 : 200);

	for (long i = 0; i < n; i++)
		for (enum form form = 0; form < FORMS; form++)
			cancelled_meanwhile(form, thread, i % 8 == 7,
			    (int)(i % 4) * 7);
}

GTEST(meanwhile_on_1, 1) { each_cancelled_meanwhile(false); }
GTEST(meanwhile_on_4, 4) { each_cancelled_meanwhile(false); }
GTEST(meanwhile_on_threads, 2) { each_cancelled_meanwhile(true); }

/* A plain thread, without a runtime: it sees to the deadline itself. */
TEST(deadline_without_a_runtime)
{
	for (enum form form = 0; form < FORMS; form++) {
		int64_t when = weft_deadline(2 * WEFT_MS);
		struct wait w = {
			.form = form, .c = weft_chan_of(int, 0),
			.ctx = weft_context_make_until(NULL, when)
		};

		wait_with(&w);
		EQ(w.result, -ETIMEDOUT);
		OK(weft_now() >= when);
		weft_chan_release(w.c);
		weft_context_release(w.ctx);
	}
}

/* ---- not cancelled ---- */

static void
partner(weft_chan *c, int n)
{
	for (int i = 0; i < n; i++)
		if (i % 2)
			weft_send(c, i);
		else
			EQ(weft_recv(c, int), 3);
}

static void
kept(weft_context *ctx)
{
	weft_chan *c = weft_chan_of(int, 0);
	int v = 0;
	weft_case k[] = { WEFT_CASE_SEND(c, 3), WEFT_CASE_RECV(NULL, NULL) };

	weft_go(partner, c, 4);
	OK(weft_send_context(c, 3, ctx));
	OK(weft_recv_context(c, &v, ctx));
	EQ(v, 1);
	EQ(weft_select_context(k, 2, ctx), 0);
	k[0] = WEFT_CASE_RECV(c, &v);
	EQ(weft_select_ordered_context(k, 2, ctx), 0);
	EQ(v, 3);
	weft_chan_release(c);
}

static void
sleep_all(weft_context *ctx)
{
	for (int64_t ns = 1; ns < 8 * WEFT_MS; ns = ns * 5) {
		int64_t when = weft_deadline(ns);

		OK(weft_sleep_context(ns, ctx));
		OK(weft_now() >= when);
	}
}

GTEST(not_cancelled, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_context *late = weft_context_make_until(NULL,
	    weft_deadline(3600 * WEFT_SECOND));

	kept(NULL);
	kept(ctx);
	kept(late);
	sleep_all(NULL);
	sleep_all(ctx);
	sleep_all(late);
	weft_context_release(ctx);
	weft_context_release(late);
}

TEST(sleeps_on_a_thread)
{
	weft_context *late = weft_context_make_until(NULL,
	    weft_deadline(3600 * WEFT_SECOND));

	sleep_all(NULL);
	sleep_all(late);
	weft_context_release(late);
}

/* A wait for ever with a context that cannot be cancelled is a deadlock. */
DIES(deadlock, 1, "all goroutines are asleep")
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
	weft_chan_recv_context(weft_chan_make(4, 0), NULL,
	    weft_context_make(NULL));
}

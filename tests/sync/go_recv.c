/* SPDX-License-Identifier: MIT */
/* Goroutines that begin when they have received from a channel. */
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_waitgroup all;
static long begun;

static long
how_many(void)
{
	return __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
}

struct got {
	int64_t v, expected;
	bool ok, expected_ok;
};

static void
check_got(struct got *g)
{
	EQ(g->v, g->expected);
	EQ(g->ok, g->expected_ok);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

static void
arm(weft_chan *c, struct got *g, int64_t v, bool ok)
{
	*g = (struct got){ -1, v, !ok, ok };
	weft_waitgroup_add(&all, 1);
	OK(weft_go_recv(c, &g->v, &g->ok, check_got, g) > 0);
}

static void
let_run(void)
{
	for (int i = 0; i < 50; i++)
		weft_yield();
}

/* ---- when ---- */

static void
not_before(void)
{
	for (size_t cap = 0; cap < 3; cap++) {
		weft_chan *c = weft_chan_of(int64_t, cap);
		struct got g;

		begun = 0;
		arm(c, &g, 7, true);
		let_run();
		EQ(how_many(), 0);
		EQ(weft_chan_len(c), 0);
		weft_send(c, 7);
		weft_waitgroup_wait(&all);
		EQ(how_many(), 1);
		EQ(weft_chan_len(c), 0);
		weft_chan_release(c);
	}
}

ON_ALL(not_before)

static void
at_once(void)
{
	weft_chan *c = weft_chan_of(int64_t, 2);
	struct got g[3];

	weft_send(c, 1);
	weft_send(c, 2);
	arm(c, &g[0], 1, true);
	arm(c, &g[1], 2, true);
	weft_waitgroup_wait(&all);
	weft_send(c, 3);
	weft_chan_close(c);
	arm(c, &g[0], 3, true);
	arm(c, &g[1], 0, false);
	arm(c, &g[2], 0, false);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
}

ON_ALL(at_once)

static void
sends(weft_chan *c, int64_t v)
{
	weft_send(c, v);
	weft_waitgroup_done(&all);
}

/* A sender waits: its value is received, and the sender goes on. */
static void
from_a_sender(void)
{
	weft_chan *c = weft_chan_of(int64_t, 0);
	struct got g;

	weft_waitgroup_add(&all, 1);
	weft_go(sends, c, 11);
	let_run();
	arm(c, &g, 11, true);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
}

ON_ALL(from_a_sender)

static void
closed_meanwhile(void)
{
	enum { N = 600 };		/* more than a batch of a close */
	weft_chan *c = weft_chan_of(int64_t, 4);
	struct got *g = calloc(N, sizeof *g);

	begun = 0;
	for (int i = 0; i < N; i++)
		arm(c, &g[i], 0, false);
	let_run();
	EQ(how_many(), 0);
	weft_chan_close(c);
	weft_chan_release(c);
	weft_waitgroup_wait(&all);
	EQ(how_many(), N);
	free(g);
}

ON_ALL(closed_meanwhile)

/* ---- a receiver as any other ---- */

static void
receives(weft_chan *c, int64_t expected)
{
	EQ(weft_recv(c, int64_t), expected);
	weft_waitgroup_done(&all);
}

/* In order of arrival, those with and without a stack. */
GTEST(in_order, 1)
{
	weft_chan *c = weft_chan_of(int64_t, 0);
	struct got g[8];

	for (int i = 0; i < 16; i++) {
		if (i % 2) {
			arm(c, &g[i / 2], i, true);
			continue;
		}
		weft_waitgroup_add(&all, 1);
		weft_go(receives, c, i);
		let_run();
	}
	for (int i = 0; i < 16; i++)
		weft_send(c, i);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
}

GTEST(other_ways_to_send, 2)
{
	weft_chan *c = weft_chan_of(int64_t, 0);
	weft_context *ctx = weft_context_make(NULL);
	struct got g[4];
	int64_t v = 5;

	OK(!weft_try_send(c, 1));
	arm(c, &g[0], 1, true);
	OK(weft_try_send(c, 1));
	OK(!weft_try_send(c, 1));
	arm(c, &g[1], 2, true);
	OK(weft_send_until(c, 2, weft_deadline(60 * WEFT_SECOND)));
	arm(c, &g[2], 3, true);
	OK(weft_send_context(c, 3, ctx));
	arm(c, &g[3], 4, true);
	WEFT_SELECT(s) {
		WEFT_ON_SEND(s, c, INT64_C(4)) { }
		WEFT_ON_RECV(s, c, &v) { OK(!"received"); }
	}
	weft_waitgroup_wait(&all);
	weft_context_release(ctx);
	weft_chan_release(c);
}

static void
last_owner(struct got *g, weft_chan *c)
{
	EQ(g->v, 9);
	weft_chan_release(c);
	weft_waitgroup_done(&all);
}

/* The receiver of the last value may free the channel. */
GTEST(releases_it, 2)
{
	struct got g;

	for (int i = 0; i < 1000; i++) {
		weft_chan *c = weft_chan_of(int64_t, 0);

		weft_waitgroup_add(&all, 1);
		OK(weft_go_recv(c, &g.v, NULL, last_owner, &g, c) > 0);
		weft_send(c, 9);
		weft_waitgroup_wait(&all);
	}
}

GTEST(of_a_timer, 1)
{
	int64_t start = weft_now(), at = 0;
	weft_timer *t = weft_timer_make(2 * WEFT_MS);
	weft_chan *after = weft_after(2 * WEFT_MS);

	weft_waitgroup_add(&all, 2);
	OK(weft_go_recv(weft_timer_chan(t), &at, NULL, weft_waitgroup_done,
	    &all) > 0);
	OK(weft_go_recv(after, NULL, NULL, weft_waitgroup_done, &all) > 0);
	weft_waitgroup_wait(&all);
	OK(at >= start + 2 * WEFT_MS);
	weft_timer_free(t);
	weft_chan_release(after);
}

GTEST(when_a_context_is_cancelled, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	bool ok = true;

	weft_waitgroup_add(&all, 1);
	OK(weft_go_recv(weft_context_done(ctx), NULL, &ok,
	    weft_waitgroup_done, &all) > 0);
	let_run();
	OK(ok);
	weft_context_cancel(ctx, 0);
	weft_waitgroup_wait(&all);
	OK(!ok);
	weft_context_release(ctx);
}

struct large { char byte[3000]; };

static void
check_large(struct large *v)
{
	for (size_t i = 0; i < sizeof v->byte; i++)
		if (v->byte[i] != (char)i)
			t_fail(__FILE__, __LINE__, "a byte differs");
	weft_waitgroup_done(&all);
}

GTEST(sizes, 2)
{
	weft_chan *c = weft_chan_of(struct large, 0);
	weft_chan *nothing = weft_chan_make(0, 0);
	struct large *to = malloc(sizeof *to), from;

	for (size_t i = 0; i < sizeof from.byte; i++)
		from.byte[i] = (char)i;
	weft_waitgroup_add(&all, 2);
	OK(weft_go_recv(c, to, NULL, check_large, to) > 0);
	OK(weft_go_recv(nothing, NULL, NULL, weft_waitgroup_done, &all) > 0);
	weft_send(c, from);
	weft_chan_send(nothing, NULL);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
	weft_chan_release(nothing);
	free(to);
}

/* ---- a goroutine as any other ---- */

struct pair { int32_t a, b; };

static void
mixed(char a, double b, const char *c, int64_t d, float e, struct pair f,
    bool g, uint16_t h)
{
	EQ(a, 'a');
	OK(b + e == 4.0);
	OK(!strcmp(c, "text"));
	EQ(d, INT64_MIN);
	EQ(f.a, -1);
	EQ(f.b, 2);
	OK(g);
	EQ(h, 65535);
	weft_waitgroup_done(&all);
}

static void no_arguments(void) { weft_waitgroup_done(&all); }

static void
deferred(void *n)
{
	__atomic_add_fetch((long *)n, 1, __ATOMIC_RELEASE);
}

static void
named(long *n)
{
	volatile char deep[200000];

	OK(!strcmp(weft_self_name(), "patient"));
	deep[0] = deep[sizeof deep - 1] = 1;
	OK(deep[0] + deep[sizeof deep - 1] == 2);
	EQ(weft_defer(deferred, n), 0);
	EQ(weft_defer((void (*)(void *))weft_waitgroup_done, &all), 0);
	weft_goexit();
}

static void
arguments(void)
{
	struct pair p = { -1, 2 };
	weft_chan *c = weft_chan_of(int, 0);
	long n = 0;
	int64_t id;

	weft_waitgroup_add(&all, 3);
	OK(weft_go_recv(c, NULL, NULL, no_arguments) > 0);
	OK(weft_go_recv(c, NULL, NULL, mixed, 'a', 1.5, "text", INT64_MIN,
	    2.5f, p, true, 65535) > 0);
	id = weft_go_recv_opt(WEFT_OPT(.name = "patient", .stack = 1 << 20),
	    c, NULL, NULL, named, &n);
	OK(id > weft_self_id());
	for (int i = 0; i < 3; i++)
		weft_send(c, i);
	weft_waitgroup_wait(&all);
	while (!__atomic_load_n(&n, __ATOMIC_ACQUIRE))
		weft_yield();
	weft_chan_release(c);
}

ON_ALL(arguments)

struct session {
	weft_chan *in;
	int64_t m, sum;
	bool ok;
};

/* The example of the header. */
static void
serve(struct session *s)
{
	while (s->ok) {
		s->sum += s->m;
		if (!weft_try_recv(s->in, &s->m)) {
			OK(weft_go_recv(s->in, &s->m, &s->ok, serve, s) > 0);
			return;
		}
	}
	weft_waitgroup_done(&all);
}

static void
sessions(void)
{
	enum { N = 50, EACH = 100 };
	struct session s[N];

	weft_waitgroup_add(&all, N);
	for (int i = 0; i < N; i++) {
		s[i] = (struct session){ weft_chan_of(int64_t, i % 4), 0, 0,
		    false };
		OK(weft_go_recv(s[i].in, &s[i].m, &s[i].ok, serve, &s[i]) > 0);
	}
	for (int k = 1; k <= EACH; k++)
		for (int i = 0; i < N; i++)
			weft_send(s[i].in, k);
	for (int i = 0; i < N; i++)
		weft_chan_close(s[i].in);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < N; i++) {
		EQ(s[i].sum, EACH * (EACH + 1) / 2);
		weft_chan_release(s[i].in);
	}
}

ON_ALL(sessions)

/* ---- plain threads, and what is refused ---- */

static weft_chan *shared;
static struct got from_thread[2];

PLAIN_THREAD(spawn_there, arm(shared, &from_thread[0], 3, true))
PLAIN_THREAD(send_there, weft_send(shared, 3))

GTEST(plain_threads, 2)
{
	shared = weft_chan_of(int64_t, 0);
	thread_run_blocking(spawn_there, NULL);
	thread_run_blocking(send_there, NULL);
	weft_waitgroup_wait(&all);
	weft_chan_release(shared);
}

TEST(refused_without_a_runtime)
{
	weft_chan *c = weft_chan_of(int64_t, 0);

	EQ(weft_go_recv(c, NULL, NULL, no_arguments), -EPERM);
	EQ(weft_go_recv(NULL, NULL, NULL, no_arguments), -EPERM);
	weft_chan_release(c);
}

GTEST(refused, 1)
{
	weft_chan *c = weft_chan_of(int64_t, 0);
	int64_t before = weft_goroutines();

	EQ(weft_go_recv_opt(WEFT_OPT(.stack = SIZE_MAX), c, NULL, NULL,
	    no_arguments), -EINVAL);
	EQ(weft_goroutines(), before);
	EQ(t_leaks(), 0);
	weft_chan_release(c);		/* nothing of it waits */
}

static void
wrong(void)
{
	OK(!"begun");
}

GTEST(never_from_null, 2)
{
	int64_t before = weft_goroutines();

	OK(weft_go_recv(NULL, NULL, NULL, wrong) > 0);
	let_run();
	EQ(weft_goroutines(), before + 1);
	EQ(t_leaks(), 0);
}

/* The runtime ends, and they never begin. */
static weft_chan *left;

static int
leaves(int argc, char **argv)
{
	static int64_t to[100];

	(void)argc, (void)argv;
	left = weft_chan_of(int64_t, 0);
	for (int i = 0; i < 100; i++)
		OK(weft_go_recv(left, &to[i], NULL, wrong) > 0);
	return 3;
}

TEST(left_at_the_end)
{
	EQ(weft_run(leaves, 0, NULL), 3);
	EQ(weft_go_recv(left, NULL, NULL, wrong), -EPERM);
	EQ(t_leaks(), 0);
}

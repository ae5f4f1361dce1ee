/* SPDX-License-Identifier: MIT */
/*
 * WEFT_SELECT: which body runs, how often arguments are evaluated, how the
 * block is left, nesting, limits, and what is fatal.
 */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "t.h"

static weft_chan *
ints(size_t cap)
{
	return weft_chan_of(int, cap);
}

GTEST(the_ready_one_runs, 1)
{
	weft_chan *in = ints(1), *out = ints(1);
	int x = 0, ran = 0;

	weft_send(in, 5);
	weft_send(out, 1);	/* full */
	WEFT_SELECT(s) {
		WEFT_ON_SEND(s, out, 7) {
			ran |= 1;
		}
		WEFT_ON_RECV(s, in, &x) {
			OK(s.ok);
			ran |= 2;
		}
	}
	EQ(ran, 2);
	EQ(x, 5);
	EQ(weft_recv(out, int), 1);
	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, in, &x) {
			ran |= 4;
		}
		WEFT_ON_SEND(s, out, 8) {
			OK(!s.ok);
			ran |= 8;
		}
	}
	EQ(ran, 10);
	EQ(weft_recv(out, int), 8);
	weft_chan_release(in);
	weft_chan_release(out);
}

GTEST(closed_and_default, 1)
{
	weft_chan *c = ints(1);
	int x = 9, ran = 0;

	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, c, &x) { ran = 1; }
		WEFT_ON_DEFAULT(s) { ran = 2; OK(!s.ok); }
	}
	EQ(ran, 2);
	EQ(x, 9);
	weft_chan_close(c);
	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, c, &x) {
			OK(!s.ok);
			ran = 3;
		}
		WEFT_ON_DEFAULT(s) { ran = 4; }
	}
	EQ(ran, 3);
	EQ(x, 0);
	weft_chan_release(c);
}

static int calls;
static weft_chan *called(weft_chan *c) { calls++; return c; }
static int *pointer(int *p) { calls++; return p; }
static int64_t hour(void) { calls++; return weft_deadline(3600 * WEFT_SECOND); }
static weft_context *root(void) { calls++; return NULL; }

GTEST(arguments_are_evaluated_once, 1)
{
	weft_chan *in = ints(0), *out = ints(1);
	int x = 0, y = 3, ran = 0;

	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, called(in), pointer(&x)) { ran |= 1; }
		WEFT_ON_SEND(s, called(out), y++) { ran |= 2; }
		WEFT_ON_SEND_FROM(s, called(NULL), pointer(&x)) { ran |= 4; }
		WEFT_ON_TIMEOUT(s, hour()) { ran |= 8; }
		WEFT_ON_CANCEL(s, root()) { ran |= 16; }
	}
	EQ(ran, 2);
	EQ(calls, 7);
	EQ(y, 4);
	EQ(weft_recv(out, int), 3);
	weft_chan_release(in);
	weft_chan_release(out);
}

/* ---- leaving ---- */

GTEST(break_and_continue, 1)
{
	weft_chan *c = ints(4);
	int x, after = 0;

	for (int i = 0; i < 2; i++)
		weft_send(c, i);
	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, c, &x) {
			if (s.ok)
				break;
			after++;
		}
		WEFT_ON_RECV(s, NULL, NULL) { after++; }
	}
	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, c, &x) {
			if (s.ok)
				continue;
			after++;
		}
		WEFT_ON_RECV(s, NULL, NULL) { after++; }
	}
	EQ(after, 0);
	EQ(weft_chan_len(c), 0);
	weft_chan_release(c);
}

static int
returned(weft_chan *c)
{
	int x = 0;

	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, c, &x) { return x; }
		WEFT_ON_DEFAULT(s) { goto none; }
	}
	return -2;
none:
	return -1;
}

GTEST(return_and_goto, 1)
{
	weft_chan *c = ints(1);

	EQ(returned(c), -1);
	weft_send(c, 4);
	EQ(returned(c), 4);
	weft_chan_release(c);
}

/* ---- where it can stand ---- */

GTEST(without_braces, 1)
{
	weft_chan *c = ints(8);
	int x, sum = 0;

	for (int i = 1; i <= 4; i++)
		WEFT_SELECT(s)
			WEFT_ON_SEND(s, c, i)
				sum += i;
	EQ(sum, 10);
	if (sum == 10)
		WEFT_SELECT(s) {
			WEFT_ON_RECV(s, c, &x)
				sum -= x;
		}
	else
		sum = 0;
	EQ(sum, 9);
	weft_chan_release(c);
}

GTEST(nested, 1)
{
	weft_chan *a = ints(1), *b = ints(1);
	int x = 0, y = 0;

	weft_send(a, 1);
	weft_send(b, 2);
	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, a, &x) {
			WEFT_SELECT(t) {
				WEFT_ON_RECV(t, b, &y) {
					OK(s.ok && t.ok);
					break;
				}
				WEFT_ON_DEFAULT(t) { y = -1; }
			}
			x += 10;
		}
		WEFT_ON_RECV(s, NULL, &y) { x = -1; }
	}
	EQ(x, 11);
	EQ(y, 2);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* A loop over channels: each is a case. */
GTEST(cases_in_a_loop, 1)
{
	weft_chan *c[WEFT_SELECT_CASES];
	int x[WEFT_SELECT_CASES] = {0}, ran = -1;

	for (int i = 0; i < WEFT_SELECT_CASES; i++)
		c[i] = ints(1);
	for (int at = 0; at < WEFT_SELECT_CASES; at++) {
		weft_send(c[at], at + 1);
		WEFT_SELECT(s) {
			for (int i = 0; i < WEFT_SELECT_CASES; i++)
				WEFT_ON_RECV(s, c[i], &x[i]) {
					ran = i;
				}
		}
		EQ(ran, at);
		EQ(x[at], at + 1);
	}
	for (int i = 0; i < WEFT_SELECT_CASES; i++)
		weft_chan_release(c[i]);
}

GTEST(large_values, 1)
{
	struct sixteen { int64_t a, b; } v = { 1, 2 }, w;
	struct large { int64_t v[9]; } l = { { 1 } }, m = {0};
	weft_chan *c = weft_chan_of(struct sixteen, 1);
	weft_chan *d = weft_chan_of(struct large, 1);

	WEFT_SELECT(s) { WEFT_ON_SEND(s, c, v) { v.b = 3; } }
	w = weft_recv(c, struct sixteen);
	EQ(w.b, 2);
	WEFT_SELECT(s) { WEFT_ON_SEND(s, c, (struct sixteen){ 5, 6 }) {} }
	EQ(weft_recv(c, struct sixteen).b, 6);
	l.v[8] = 9;
	WEFT_SELECT(s) { WEFT_ON_SEND_FROM(s, d, &l) {} }
	WEFT_SELECT(s) { WEFT_ON_RECV(s, d, &m) {} }
	EQ(m.v[8], 9);
	weft_chan_release(c);
	weft_chan_release(d);
}

/* ---- order and choice ---- */

GTEST(ordered_takes_the_first, 1)
{
	weft_chan *a = ints(1), *b = ints(1);
	int ran = 0;

	weft_send(a, 1);
	weft_send(b, 1);
	for (int i = 0; i < 50; i++) {
		WEFT_SELECT_ORDERED(s) {
			WEFT_ON_RECV(s, NULL, NULL) { ran |= 1; }
			WEFT_ON_RECV(s, b, NULL) { ran |= 2; }
			WEFT_ON_RECV(s, a, NULL) { ran |= 4; }
		}
		weft_send(b, 1);
	}
	EQ(ran, 2);
	weft_chan_release(a);
	weft_chan_release(b);
}

GTEST(all_are_chosen, 1)
{
	weft_chan *c = ints(1);
	int n[3] = {0};

	for (int i = 0; i < 900; i++) {
		weft_send(c, 1);
		WEFT_SELECT(s) {
			WEFT_ON_RECV(s, c, NULL) { n[0]++; }
			WEFT_ON_RECV(s, c, NULL) { n[1]++; }
			WEFT_ON_RECV(s, c, NULL) { n[2]++; }
		}
	}
	EQ(n[0] + n[1] + n[2], 900);
	for (int i = 0; i < 3; i++)
		OK(n[i] > 150);
	weft_chan_release(c);
}

/* ---- waiting ---- */

static void
ping(weft_chan *in, weft_chan *out, int n)
{
	int x = 0;

	for (int i = 0; i < n; i++)
		WEFT_SELECT(s) {
			WEFT_ON_RECV(s, in, &x) {
				weft_send(out, x + 1);
			}
			WEFT_ON_RECV(s, NULL, &x) { OK(false); }
		}
	weft_chan_close(out);
}

GTEST(waits_for_a_partner, 2)
{
	weft_chan *a = ints(0), *b = ints(0);
	int x = 0;
	bool more = true;

	weft_go(ping, a, b, 1000);
	for (int i = 0; more; i++)
		WEFT_SELECT(s) {
			WEFT_ON_SEND(s, i % 2 ? NULL : a, x) {}
			WEFT_ON_RECV(s, i % 2 || x == 1000 ? b : NULL, &x) {
				more = s.ok;
			}
		}
	EQ(x, 0);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* ---- limits ---- */

static void
timeouts(void)
{
	weft_chan *c = ints(1);

	for (int64_t ns = -WEFT_MS; ns < 4 * WEFT_MS; ns += WEFT_MS) {
		int64_t when = weft_deadline(ns);
		int ran = 0;

		WEFT_SELECT(s) {
			WEFT_ON_TIMEOUT(s, when) {
				OK(weft_now() >= when);
				OK(!s.ok);
				ran |= 1;
			}
			WEFT_ON_RECV(s, c, NULL) { ran |= 2; }
		}
		EQ(ran, 1);
		weft_send(c, 1);
		WEFT_SELECT(s) {
			WEFT_ON_RECV(s, c, NULL) { ran |= 4; }
			WEFT_ON_TIMEOUT(s, when) { ran |= 8; }
		}
		EQ(ran, 5);
	}
	weft_chan_release(c);
}

GTEST(timeout, 1) { timeouts(); }
TEST(timeout_on_a_thread) { timeouts(); }

static void
cancel_it(weft_context *ctx)
{
	weft_sleep(WEFT_MS);
	weft_context_cancel(ctx, 0);
}

GTEST(cancel, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_chan *c = ints(1);
	int ran = 0;

	weft_go(cancel_it, ctx);
	for (int i = 0; i < 3; i++)	/* waits, and then does not */
		WEFT_SELECT(s) {
			WEFT_ON_RECV(s, c, NULL) { OK(false); }
			WEFT_ON_TIMEOUT(s, weft_deadline(WEFT_SECOND * 3600)) {
				OK(false);
			}
			WEFT_ON_CANCEL(s, ctx) { ran++; }
		}
	EQ(ran, 3);
	EQ(weft_context_error(ctx), -ECANCELED);
	weft_send(c, 1);
	WEFT_SELECT(s) {
		WEFT_ON_CANCEL(s, ctx) { ran = 0; }
		WEFT_ON_RECV(s, c, NULL) { ran++; }
	}
	EQ(ran, 4);
	weft_context_release(ctx);
	weft_chan_release(c);
}

/* The earlier of both, and its own body. */
static void
both_limits(void)
{
	for (int i = 0; i < 6; i++) {
		int64_t early = weft_deadline(WEFT_MS * i / 2);
		int64_t late = early + 3600 * WEFT_SECOND;
		weft_context *ctx =
		    weft_context_make_until(NULL, i % 2 ? early : late);
		int ran = 0;

		WEFT_SELECT(s) {
			WEFT_ON_CANCEL(s, ctx) { ran |= 1; }
			WEFT_ON_TIMEOUT(s, i % 2 ? late : early) { ran |= 2; }
		}
		EQ(ran, i % 2 ? 1 : 2);
		OK(weft_now() >= early);
		EQ(weft_context_error(ctx), i % 2 ? -ETIMEDOUT : 0);
		weft_context_release(ctx);
	}
}

GTEST(timeout_and_context, 2) { both_limits(); }
TEST(timeout_and_context_on_a_thread) { both_limits(); }

/* ---- misuse ---- */

DIES(too_many, 1, "more than 16 cases in a WEFT_SELECT")
{
	WEFT_SELECT(s) {
		for (int i = 0; i < 17; i++)
			WEFT_ON_RECV(s, NULL, NULL) {}
	}
}

DIES(two_defaults, 1, "select: two defaults")
{
	WEFT_SELECT(s) {
		WEFT_ON_DEFAULT(s) {}
		WEFT_ON_DEFAULT(s) {}
	}
}

DIES(two_timeouts, 1, "two timeouts")
{
	WEFT_SELECT(s) {
		WEFT_ON_TIMEOUT(s, 1) {}
		WEFT_ON_TIMEOUT(s, 1) {}
	}
}

DIES(two_contexts, 1, "two contexts")
{
	WEFT_SELECT(s) {
		WEFT_ON_CANCEL(s, NULL) {}
		WEFT_ON_CANCEL(s, NULL) {}
	}
}

DIES(a_case_that_vanishes, 1, "not the same in both passes")
{
	int pass = 0;

	WEFT_SELECT(s) {
		if (pass++ == 0)
			WEFT_ON_RECV(s, NULL, NULL) {}
		WEFT_ON_DEFAULT(s) {}
	}
}

DIES(the_chosen_case_vanishes, 1, "not the same in both passes")
{
	int pass = 0;

	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, NULL, NULL) {}
		if (pass++ == 0)
			WEFT_ON_DEFAULT(s) {}
	}
}

DIES(wrong_type, 1, "int32_t sent on a channel of float")
{
	WEFT_SELECT(s) { WEFT_ON_SEND(s, weft_chan_of(float, 1), 1) {} }
}

DIES(no_cases, 1, "all goroutines are asleep")
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
	WEFT_SELECT(s) {}
}

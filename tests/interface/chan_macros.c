/* SPDX-License-Identifier: MIT */
/*
 * What weft_send, weft_recv, weft_recv_ok and the cases of select make of their
 * arguments: any type, evaluated once, one in another, without a warning from
 * the compiler. That a wrong size is fatal is in
 * tests/sync/chan_misuse_crash.c, kinds are in tests/sync/chan_typed.c.
 */
#include <errno.h>
#include <string.h>

#include <weft.h>

#include "t.h"

struct point { int x, y; };
struct large { char bytes[1000]; int last; };
union either { double d; int64_t i; };
enum colour { RED = 3, GREEN };

static weft_chan *
chan(size_t size)
{
	weft_chan *c = weft_chan_make(size, 4);

	OK(c != NULL);
	return c;
}

#define CHAN(type) chan(sizeof(type))

/* ---- types ---- */

GTEST(scalars, 1)
{
	weft_chan *i = CHAN(int), *d = CHAN(double), *s = CHAN(short);
	weft_chan *b = CHAN(bool), *e = CHAN(enum colour), *l = CHAN(int64_t);
	short seven = 7;

	weft_send(i, 5);
	EQ(weft_recv(i, int), 5);
	weft_send(i, 5u);
	EQ(weft_recv(i, unsigned), 5);
	weft_send(d, 2.5);
	OK(weft_recv(d, double) == 2.5);
	weft_send(s, seven);
	EQ(weft_recv(s, short), 7);
	weft_send(b, (bool)true);
	EQ(weft_recv(b, bool), true);
	weft_send(e, (enum colour)GREEN);
	EQ(weft_recv(e, enum colour), GREEN);
	weft_send(l, INT64_C(1) << 40);
	EQ(weft_recv(l, int64_t), INT64_C(1) << 40);
	weft_chan_release(i);
	weft_chan_release(d);
	weft_chan_release(s);
	weft_chan_release(b);
	weft_chan_release(e);
	weft_chan_release(l);
}

GTEST(structs, 1)
{
	weft_chan *p = CHAN(struct point), *l = CHAN(struct large);
	weft_chan *u = CHAN(union either);
	struct point a = { 1, 2 }, b;
	struct large big = { .last = 9 };

	weft_send(p, a);
	b = weft_recv(p, struct point);
	EQ(b.x, 1);
	EQ(b.y, 2);
	/* the commas are not the macro's */
	weft_send(p, (struct point){ 3, 4 });
	EQ(weft_recv(p, struct point).y, 4);
	weft_send(p, (struct point){ .y = 4, .x = 6 });
	OK(weft_recv_ok(p, &b));
	EQ(b.x, 6);
	memset(big.bytes, 'x', sizeof big.bytes);
	weft_send(l, big);
	memset(&big, 0, sizeof big);
	big = weft_recv(l, struct large);
	EQ(big.bytes[0], 'x');
	EQ(big.bytes[999], 'x');
	EQ(big.last, 9);
	weft_send(u, (union either){ .d = 1.5 });
	OK(weft_recv(u, union either).d == 1.5);
	weft_chan_release(p);
	weft_chan_release(l);
	weft_chan_release(u);
}

static int twice(int n) { return 2 * n; }

GTEST(pointers, 1)
{
	weft_chan *c = CHAN(void *);
	char text[] = "array";
	const char *const fixed = "fixed";
	int numbers[3] = { 1, 2, 3 }, *p;
	int matrix[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };

	weft_send(c, "literal");
	OK(!strcmp(weft_recv(c, const char *), "literal"));
	weft_send(c, text);
	OK(weft_recv(c, char *) == text);
	weft_send(c, fixed);
	OK(weft_recv(c, const char *) == fixed);
	weft_send(c, numbers);
	OK(weft_recv(c, int *) == numbers);
	weft_send(c, &numbers[1]);
	EQ(*weft_recv(c, int *), 2);
	weft_send(c, numbers);
	OK(weft_recv_ok(c, &p));
	OK(p == numbers);
	weft_send(c, matrix);
	OK(weft_recv(c, __typeof__(&matrix[0])) == matrix);
	weft_send(c, NULL);
	OK(weft_recv(c, void *) == NULL);
	weft_send(c, twice);
	EQ(weft_recv(c, __typeof__(&twice))(21), 42);
	weft_send(c, (void *)c);
	OK(weft_recv(c, weft_chan *) == c);
	weft_chan_release(c);
}

GTEST(qualifiers, 1)
{
	weft_chan *c = CHAN(int);
	const int constant = 3;
	volatile int changing = 4;
	const struct point p = { 5, 6 };
	weft_chan *const fixed = c;
	weft_chan *points = CHAN(struct point);

	weft_send(c, constant);
	EQ(weft_recv(c, int), 3);
	weft_send(c, changing);
	EQ(weft_recv(c, int), 4);
	weft_send(fixed, constant);
	EQ(weft_recv(fixed, int), 3);
	weft_send(points, p);
	EQ(weft_recv(points, struct point).y, 6);
	weft_chan_release(points);
	weft_chan_release(c);
}

/* Whole arrays, and members, by their address. */
GTEST(places, 1)
{
	weft_chan *c = CHAN(int[3]), *m = CHAN(int);
	int a[3] = { 1, 2, 3 }, b[3];
	struct point p = {0};

	weft_chan_send(c, a);
	OK(weft_recv_ok(c, &b));
	EQ(b[2], 3);
	weft_send(m, 8);
	OK(weft_recv_ok(m, &p.y));
	EQ(p.y, 8);
	weft_send(m, 9);
	OK(weft_recv_ok(m, b + 1));
	EQ(b[1], 9);
	weft_send(m, 10);
	OK(weft_recv_ok(m, b));
	EQ(b[0], 10);
	EQ(b[1], 9);
	weft_chan_release(c);
	weft_chan_release(m);
}

/* The size behind a void * is not known, and NULL drops. */
GTEST(untyped_places, 1)
{
	weft_chan *c = CHAN(int);
	int n = 0;
	void *p = &n;
	const void *q = &n;

	weft_send(c, 5);
	OK(weft_recv_ok(c, p));
	EQ(n, 5);
	weft_send(c, 6);
	OK(weft_recv_ok(c, NULL));
	EQ(n, 5);
	for (int i = 0; i < 2; i++) {
		weft_case k[] = {
			WEFT_CASE_SEND_FROM(c, q), WEFT_CASE_DEFAULT
		};

		EQ(weft_select(k, 2), 0);
		k[0] = WEFT_CASE_RECV(c, p);
		n = 0;
		EQ(weft_select(k, 2), 0);
		EQ(n, i ? 0 : 5);
		q = NULL;
	}
	weft_chan_release(c);
}

/* ---- once ---- */

GTEST(evaluated_once, 1)
{
	weft_chan *c[3] = { CHAN(int), CHAN(int), CHAN(int) };
	weft_chan **next = c;
	int n = 1, a[4] = {0}, *p = a;
	weft_case k[2];

	weft_send(*next++, n++);
	EQ(n, 2);
	OK(next == c + 1);
	next = c;
	EQ(weft_recv(*next++, int), 1);
	OK(next == c + 1);
	weft_send(c[0], ++n);
	next = c;
	OK(weft_recv_ok(*next++, p++));
	OK(next == c + 1);
	OK(p == a + 1);
	EQ(a[0], 3);
	k[0] = WEFT_CASE_SEND_FROM(*next++, p++);
	k[1] = WEFT_CASE_RECV(*next++, p++);
	OK(next == c + 3);
	OK(p == a + 3);
	EQ(weft_select(k, 2), 0);
	EQ(weft_chan_len(c[1]), 1);
	next = c;
	n = 7;
	k[0] = WEFT_CASE_SEND(*next++, n++);
	OK(next == c + 1);
	EQ(n, 8);
	EQ(weft_select(k, 2), 0);
	EQ(weft_recv(c[0], int), 7);
	for (int i = 0; i < 3; i++)
		weft_chan_release(c[i]);
}

static int
received(weft_chan *c, int *calls)
{
	++*calls;
	return weft_recv(c, int);
}

GTEST(calls_in_arguments, 1)
{
	weft_chan *c = CHAN(int);
	int calls = 0;

	weft_send(c, 4);
	weft_send(c, 1 + received(c, &calls));
	EQ(calls, 1);
	EQ(weft_chan_len(c), 1);
	EQ(received(c, &calls) + (weft_send(c, 7), received(c, &calls)), 12);
	weft_chan_release(c);
}

/* ---- one in another ---- */

GTEST(nested, 1)
{
	weft_chan *c = CHAN(int), *cc = CHAN(weft_chan *);

	weft_send(c, 5);
	weft_send(c, weft_recv(c, int) + 1);
	EQ(weft_recv(c, int), 6);
	weft_send(cc, c);
	weft_send(weft_recv(cc, weft_chan *), 7);
	weft_send(cc, c);
	EQ(weft_recv(weft_recv(cc, weft_chan *), int), 7);
	weft_send(cc, c);
	weft_send(cc, weft_recv(cc, weft_chan *));
	weft_send(c, 1);
	weft_send(weft_recv(cc, weft_chan *), weft_recv(c, int) + 1);
	weft_send(c, 3);
	EQ(weft_recv(c, int) * 10 + weft_recv(c, int), 23);
	EQ(weft_chan_len(cc), 0);
	weft_chan_release(c);
	weft_chan_release(cc);
}

static void
child(weft_chan *c, int n)
{
	weft_send(c, n);
}

/* And in those of weft_go. */
GTEST(with_weft_go, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	weft_chan *ids = weft_chan_make(sizeof(int64_t), 1);

	weft_send(ids, weft_try_go(child, c, 11));
	OK(weft_recv(ids, int64_t) > 0);
	OK(weft_try_go(child, c, weft_recv(c, int) + 1) > 0);
	EQ(weft_recv(c, int), 12);
	weft_chan_release(c);
	weft_chan_release(ids);
}

/* ---- results ---- */

GTEST(of_a_closed_channel, 1)
{
	weft_chan *c = CHAN(struct point);
	struct point p = { 1, 2 };

	weft_send(c, p);
	weft_chan_close(c);
	OK(weft_recv_ok(c, &p));
	EQ(p.y, 2);
	OK(!weft_recv_ok(c, &p));
	EQ(p.x, 0);
	EQ(p.y, 0);
	p = (struct point){ 1, 2 };
	p = weft_recv(c, struct point);
	EQ(p.x, 0);
	EQ(p.y, 0);
	weft_chan_release(c);
}

static void
run_through(weft_chan *c)
{
	for (int i = 1; i <= 10; i++)
		weft_send(c, i);
	weft_chan_close(c);
}

/* As a loop's condition, as statements, in an if without braces. */
GTEST(wherever_an_expression_may_stand, 2)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int sum = 0;

	OK(weft_try_go(run_through, c) > 0);
	for (int v; weft_recv_ok(c, &v);)
		sum += v;
	EQ(sum, 55);
	weft_chan_release(c);

	c = CHAN(int);
	if (sum == 55)
		weft_send(c, 1);
	else
		weft_send(c, 2);
	if (sum != 55)
		weft_recv(c, int);
	else
		EQ(weft_recv(c, int), 1);
	weft_chan_release(c);
}

/* ---- cases ---- */

GTEST(cases, 1)
{
	weft_chan *c = CHAN(struct point);
	const struct point p = { 1, 2 };
	struct point q;
	weft_case one = WEFT_CASE_SEND_FROM(c, &p);
	weft_case list[3] = {
		[1] = WEFT_CASE_DEFAULT, [0] = WEFT_CASE_RECV(c, &q)
	};

	OK(one.chan == c && one.elem == &p && !one.ok);
	EQ(weft_select(&one, 1), 0);
	EQ(weft_select(list, 2), 0);
	OK(list[0].ok);
	EQ(q.y, 2);
	EQ(weft_select(list, 2), 1);
	EQ(weft_select((weft_case[]){
	    WEFT_CASE_RECV(c, &q), WEFT_CASE_SEND(c, q) }, 2), 1);
	/* a channel may be put in later, and taken out again */
	list[0].chan = NULL;
	EQ(weft_select(list, 2), 1);
	list[0].chan = c;
	EQ(weft_select(list, 2), 0);
	weft_chan_release(c);
}

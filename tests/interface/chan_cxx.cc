// SPDX-License-Identifier: MIT
// The channel macros and select in C++, where their types come from templates.
#include <weft.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "t.h"

struct point {
	int x, y;
};
struct derived : point {
	int z;
};
enum class colour : short { red = 3, green };

static weft_chan *
chan(size_t size, size_t cap = 4)
{
	weft_chan *c = weft_chan_make(size, cap);

	OK(c != nullptr);
	return c;
}

GTEST(scalars, 1)
{
	weft_chan *i = chan(sizeof(int)), *d = chan(sizeof(double));
	weft_chan *b = chan(sizeof(bool)), *e = chan(sizeof(colour));
	weft_chan *l = chan(sizeof(int64_t));

	weft_send(i, 5);
	EQ(weft_recv(i, int), 5);
	weft_send(d, 2.5);
	OK(weft_recv(d, double) == 2.5);
	weft_send(b, true);
	EQ(weft_recv(b, bool), true);
	weft_send(e, colour::green);
	OK(weft_recv(e, colour) == colour::green);
	weft_send(l, int64_t(1) << 40);
	EQ(weft_recv(l, int64_t), int64_t(1) << 40);
	weft_chan_release(i);
	weft_chan_release(d);
	weft_chan_release(b);
	weft_chan_release(e);
	weft_chan_release(l);
}

template<class A, class B> struct duo { A a; B b; };

GTEST(structs, 1)
{
	weft_chan *c = chan(sizeof(point)), *w = chan(sizeof(derived));
	weft_chan *t = chan(sizeof(duo<int, double>));
	point p = { 1, 2 }, q;
	const point fixed = { 7, 8 };
	derived d;

	weft_send(c, p);
	q = weft_recv(c, point);
	EQ(q.y, 2);
	weft_send(c, point{ 3, 4 });
	OK(weft_recv_ok(c, &q));
	EQ(q.x, 3);
	weft_send(c, fixed);
	EQ(weft_recv(c, point).y, 8);
	d.x = 1;
	d.z = 9;
	weft_send(w, d);
	EQ(weft_recv(w, derived).z, 9);
	// the commas are not the macro's
	weft_send(t, duo<int, double>{ 5, 1.5 });
	OK((weft_recv(t, duo<int, double>).b == 1.5));
	weft_chan_release(c);
	weft_chan_release(w);
	weft_chan_release(t);
}

static int twice(int n) { return 2 * n; }

// As arguments are passed: arrays and functions become pointers.
GTEST(pointers, 1)
{
	weft_chan *c = chan(sizeof(void *));
	char text[] = "array";
	int numbers[3] = { 1, 2, 3 };
	const int constants[2] = { 1, 2 };
	int (*const fn)(int) = twice;

	weft_send(c, "literal");
	OK(!std::strcmp(weft_recv(c, const char *), "literal"));
	weft_send(c, text);
	OK(weft_recv(c, char *) == text);
	weft_send(c, numbers);
	OK(weft_recv(c, int *) == numbers);
	weft_send(c, constants);
	OK(weft_recv(c, const int *) == constants);
	weft_send(c, &numbers[1]);
	EQ(*weft_recv(c, int *), 2);
	weft_send(c, nullptr);
	OK(weft_recv(c, void *) == nullptr);
	weft_send(c, fn);
	EQ(weft_recv(c, decltype(&twice))(21), 42);
	weft_send(c, twice);
	EQ(weft_recv(c, decltype(&twice))(4), 8);
	weft_send(c, c);
	OK(weft_recv(c, weft_chan *) == c);
	weft_chan_release(c);
}

// Of a variable that is a reference its value is sent.
GTEST(references, 1)
{
	weft_chan *c = chan(sizeof(int));
	int n = 3;
	int &ref = n;
	const int &view = n;
	int &&moved = 4;

	weft_send(c, ref);
	EQ(weft_recv(c, int), 3);
	weft_send(c, view);
	n = 5;
	EQ(weft_recv(c, int), 3);
	weft_send(c, moved);
	EQ(weft_recv(c, int), 4);
	weft_send(c, 6);
	OK(weft_recv_ok(c, &ref));
	EQ(n, 6);
	weft_chan_release(c);
}

GTEST(places, 1)
{
	weft_chan *c = chan(sizeof(int)), *a = chan(3 * sizeof(int));
	int n = 0, v[3] = { 1, 2, 3 }, w[3];
	void *p = &n;
	int *const fixed = &n;

	weft_send(c, 1);
	OK(weft_recv_ok(c, p));
	EQ(n, 1);
	weft_send(c, 2);
	OK(weft_recv_ok(c, fixed));
	EQ(n, 2);
	weft_send(c, 3);
	OK(weft_recv_ok(c, v + 1));
	EQ(v[1], 3);
	weft_send(c, 4);
	OK(weft_recv_ok(c, nullptr));
	weft_send(c, 5);
	OK(weft_recv_ok(c, NULL));
	EQ(weft_chan_len(c), 0);
	weft_chan_send(a, v);
	OK(weft_recv_ok(a, &w));
	EQ(w[2], 3);
	weft_chan_release(c);
	weft_chan_release(a);
}

GTEST(nested, 1)
{
	weft_chan *c = chan(sizeof(int)), *cc = chan(sizeof(weft_chan *));
	int i = 1;

	weft_send(c, i++);
	EQ(i, 2);
	weft_send(c, weft_recv(c, int) + 1);
	weft_send(cc, c);
	EQ(weft_recv(weft_recv(cc, weft_chan *), int), 2);
	weft_send(cc, c);
	weft_send(weft_recv(cc, weft_chan *), 7);
	EQ(weft_recv(c, int), 7);
	weft_chan_release(c);
	weft_chan_release(cc);
}

static void
produce(weft_chan *c, int n)
{
	for (int i = 1; i <= n; i++)
		weft_send(c, i);
	weft_chan_close(c);
}

GTEST(between_goroutines, 2)
{
	weft_chan *c = chan(sizeof(int), 0);
	int sum = 0;

	OK(weft_try_go(produce, c, 100) > 0);
	for (int v; weft_recv_ok(c, &v);)
		sum += v;
	EQ(sum, 5050);
	EQ(weft_recv(c, int), 0);
	weft_chan_release(c);
}

GTEST(cases, 1)
{
	weft_chan *c = chan(sizeof(point), 1), *none = nullptr;
	const point p = { 1, 2 };
	point q = { 0, 0 };
	void *any = &q;
	weft_case k[] = {
		WEFT_CASE_RECV(none, &q), WEFT_CASE_SEND_FROM(c, &p),
		WEFT_CASE_DEFAULT,
		WEFT_CASE_RECV(nullptr, nullptr), WEFT_CASE_RECV(NULL, NULL)
	};
	weft_case one = WEFT_CASE_RECV(c, any);

	EQ(weft_select(k, 5), 1);
	EQ(weft_select(k, 5), 2);
	EQ(weft_select(&one, 1), 0);
	OK(one.ok);
	EQ(q.y, 2);
	one = WEFT_CASE_RECV(c, &q);
	EQ(weft_select_until(&one, 1, 1), -ETIMEDOUT);
	EQ(weft_select_until(&one, 1, weft_deadline(WEFT_MS)), -ETIMEDOUT);
	EQ(weft_select_ordered(k, 3), 1);
	EQ(weft_select_ordered_until(&one, 1, WEFT_NEVER), 0);
	weft_chan_close(c);
	EQ(weft_select(&one, 1), 0);
	OK(!one.ok);
	EQ(q.y, 0);
	weft_chan_release(c);
}

DIES(send_of_wrong_size, 1, "bytes, not")
{
	weft_send(chan(4), int64_t(1));
}

DIES(receive_of_wrong_size, 1, "bytes, not")
{
	weft_recv(chan(4), int64_t);
}

DIES(receive_into_wrong_size, 1, "bytes, not")
{
	int64_t wide;

	weft_recv_ok(chan(4), &wide);
}

DIES(case_of_wrong_size, 1, "bytes, not")
{
	int64_t wide = 1;
	weft_case k = WEFT_CASE_SEND_FROM(chan(4), &wide);

	weft_select(&k, 1);
}

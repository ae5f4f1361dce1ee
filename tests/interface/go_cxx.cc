// SPDX-License-Identifier: MIT
// weft.h in C++: weft_go is made of templates there.
#include <weft.h>
#include <weft.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "t.h"

static weft_waitgroup all;

#define GO(...) do {							\
	weft_waitgroup_add(&all, 1);					\
	OK(weft_try_go(__VA_ARGS__) > 0);				\
} while (0)

static void end() { weft_waitgroup_done(&all); }
static void wait_all() { weft_waitgroup_wait(&all); }

static void none() { end(); }
static void one(int a) { EQ(a, 1); end(); }

static void
eight(int a, double b, long c, float d, short e, void *f, bool g, char h)
{
	EQ(a, 1); OK(b == 2.5); EQ(c, -3); OK(d == 4.5f);
	EQ(e, 5); OK(f == &all); EQ(g, true); EQ(h, 'h');
	end();
}

static void
integers(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f,
    int64_t g, int64_t h)
{
	EQ(a, -1); EQ(b, -2); EQ(c, -3); EQ(d, -4);
	EQ(e, -5); EQ(f, -6); EQ(g, -7); EQ(h, -8);
	end();
}

GTEST(arguments, 2)
{
	GO(none);
	GO(one, 1);
	GO(eight, 1, 2.5, -3L, 4.5f, short(5), &all, true, 'h');
	GO(eight, 1L, 2.5f, -3, 4.5, 5, &all, 1, 'h');
	GO(integers, -1, -2, -3, -4, -5, -6, -7, -8);
	wait_all();
}

struct point { int x, y; };
struct base { int n; };
struct derived : base { };
enum class colour : short { red = -1 };
struct number {
	int n;
	operator double() const { return n; }
};

static void to_text(const char *s) { OK(!std::strcmp(s, "text")); end(); }
static void to_null(int *p) { OK(p == nullptr); end(); }
static void to_double(double d) { OK(d == 3.0); end(); }
static void to_base(base *b) { EQ(b->n, 4); end(); }
static void to_point(point p) { EQ(p.x, 1); EQ(p.y, 2); end(); }
static void to_colour(colour c) { OK(c == colour::red); end(); }
static void to_void(const void *p) { OK(p == &all); end(); }

GTEST(conversions, 1)
{
	char array[] = "text";
	derived d;
	point p = { 1, 2 };

	d.n = 4;
	GO(to_text, "text");
	GO(to_text, array);
	GO(to_null, nullptr);
	GO(to_double, 3);
	GO(to_double, number{ 3 });
	GO(to_base, &d);
	GO(to_point, p);
	GO(to_colour, colour::red);
	GO(to_void, &all);
	wait_all();
}

static void set(int &n) { n = 7; end(); }
static void is_at(const int &n, const int *at) { OK(&n == at); end(); }

// The reference is to the caller's variable, as in a plain call.
GTEST(references, 1)
{
	static int n;

	GO(set, n);
	GO(is_at, n, &n);
	wait_all();
	EQ(n, 7);
}

struct object {
	int n;
	static void method(object *o) { EQ(o->n, 5); end(); }
};
template<class T> static void generic(T a, T b) { OK(a == b); end(); }
static int result(int n) { end(); return n; }
static void quiet(int a) noexcept { EQ(a, 1); end(); }
[[noreturn]] static void never_returns(int a) { one(a); weft_goexit(); }

GTEST(functions, 1)
{
	object o = { 5 };
	void (*variable)(int) = one;
	void (*const constant)(int) = one;
	auto lambda = [](int a) { one(a); };

	GO(object::method, &o);
	GO(generic<double>, 1.5, 1.5);
	GO((generic<int>), 2, 2);
	GO(result, 3);
	GO(quiet, 1);
	GO(variable, 1);
	GO(constant, 1);
	GO(+lambda, 1);
	GO(never_returns, 1);
	wait_all();
}

static void
named(const char *name)
{
	OK(!std::strcmp(weft_self_name(), name));
	end();
}

GTEST(options, 1)
{
	weft_opt opt = weft_opt();

	opt.name = "variable";
	weft_waitgroup_add(&all, 3);
	OK(weft_try_go_opt(opt, named, "variable") > 0);
	OK(weft_try_go_opt(WEFT_OPT(.name = "conn", .stack = 65536,
	    .fenv = false), named, "conn") > 0);
	OK(weft_try_go_opt(WEFT_OPT(.name = "short"), named, "short") > 0);
	EQ(weft_try_go_opt(WEFT_OPT(.stack = 1), named, ""), -EINVAL);
	wait_all();
}

static void ids(int64_t a, int64_t b) { OK(a > 0 && b > 0 && a != b); end(); }

GTEST(evaluation, 1)
{
	int i = 0;

	GO(one, ++i);
	EQ(i, 1);
	weft_waitgroup_add(&all, 2);
	GO(ids, weft_try_go(one, 1), weft_try_go(none));
	wait_all();
}

static void copied(void *arg) { EQ(*static_cast<int *>(arg), 9); end(); }
static void deferred(void *arg) { OK(arg == &all); end(); }
static void defers() { EQ(weft_defer(deferred, &all), 0); weft_goexit(); }

GTEST(the_rest, 2)
{
	int n = 9;

	weft_waitgroup_add(&all, 1);
	OK(weft_spawn(nullptr, 0, copied, &n, sizeof n) > 0);
	GO(defers);
	weft_yield();
	wait_all();
	EQ(weft_procs(), 2);
}

static int
fails(long n, const char *s)
{
	return s ? static_cast<int>(n) : 0;
}

static int succeeds() { return 0; }

static void
counts(int &n, int by)
{
	__atomic_add_fetch(&n, by, __ATOMIC_RELAXED);
}

GTEST(groups, 2)
{
	weft_group g = weft_group();
	weft_waitgroup wg = weft_waitgroup();
	int n = 0, r = 77;

	weft_group_go(&g, succeeds);
	weft_group_go(&g, fails, 7, "");
	EQ(weft_group_wait(&g), 7);
	OK(weft_group_try_go(&g, fails, 8, "x"));
	OK(weft_group_wait_until(&g, &r, 0));
	EQ(r, 8);
	for (int i = 1; i <= 10; i++)
		weft_waitgroup_go(&wg, counts, n, i);
	weft_waitgroup_wait(&wg);
	EQ(n, 55);
}

/* Without captures: they are functions. */
GTEST(lambdas, 2)
{
	weft_waitgroup wg = weft_waitgroup();
	weft_group g = weft_group();
	weft_future(long) f;
	int n = 0;

	weft_waitgroup_go(&wg, [](int *to, int by) { *to += by; }, &n, 5);
	weft_waitgroup_wait(&wg);
	EQ(n, 5);
	weft_group_go(&g, [](int result) { return result; }, 6);
	EQ(weft_group_wait(&g), 6);
	weft_future_go(&f, [](long a, long b) { return a * b; }, 6, 7);
	EQ(weft_future_join(&f), 42);
}

static int procs_now(int, char **) { return weft_procs(); }

TEST(run_with)
{
	EQ(weft_run_with(procs_now, 0, nullptr, .procs = 3), 3);
}

TEST(without_a_runtime)
{
	EQ(weft_try_go(one, 1), -EPERM);
	EQ(weft_self_id(), 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * The arguments of weft_go: whatever a plain call would pass, the goroutine
 * gets. Each goroutine checks its own parameters; the group makes sure that
 * it ran at all.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup all;

/* Starts one, which calls end() when it has looked at its parameters. */
#define GO(...) do {							\
	weft_waitgroup_add(&all, 1);					\
	OK(weft_try_go(__VA_ARGS__) > 0);				\
} while (0)

static void end(void) { weft_waitgroup_done(&all); }
static void wait_all(void) { weft_waitgroup_wait(&all); }

/* ---- how many ---- */

static void n0(void) { end(); }
static void n1(int a) { EQ(a, 1); end(); }
static void n2(int a, int b) { EQ(a, 1); EQ(b, 2); end(); }

static void
n3(int a, int b, int c)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3);
	end();
}

static void
n4(int a, int b, int c, int d)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3); EQ(d, 4);
	end();
}

static void
n5(int a, int b, int c, int d, int e)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3); EQ(d, 4); EQ(e, 5);
	end();
}

static void
n6(int a, int b, int c, int d, int e, int f)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3); EQ(d, 4); EQ(e, 5); EQ(f, 6);
	end();
}

static void
n7(int a, int b, int c, int d, int e, int f, int g)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3); EQ(d, 4); EQ(e, 5); EQ(f, 6); EQ(g, 7);
	end();
}

static void
n8(int a, int b, int c, int d, int e, int f, int g, int h)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3); EQ(d, 4); EQ(e, 5); EQ(f, 6); EQ(g, 7);
	EQ(h, 8);
	end();
}

GTEST(none_to_eight, 2)
{
	GO(n0);
	GO(n1, 1);
	GO(n2, 1, 2);
	GO(n3, 1, 2, 3);
	GO(n4, 1, 2, 3, 4);
	GO(n5, 1, 2, 3, 4, 5);
	GO(n6, 1, 2, 3, 4, 5, 6);
	GO(n7, 1, 2, 3, 4, 5, 6, 7);
	GO(n8, 1, 2, 3, 4, 5, 6, 7, 8);
	wait_all();
}

/* ---- widths ---- */

static void
narrow(int8_t a, uint8_t b, int16_t c, uint16_t d, char e, bool f, bool g,
    signed char h)
{
	EQ(a, INT8_MIN); EQ(b, UINT8_MAX); EQ(c, INT16_MIN);
	EQ(d, UINT16_MAX); EQ(e, 'e'); EQ(f, true); EQ(g, false); EQ(h, -1);
	end();
}

static void
wide(int32_t a, uint32_t b, int64_t c, uint64_t d, long e, unsigned long f,
    long long g, size_t h)
{
	EQ(a, INT32_MIN); EQ(b, UINT32_MAX); EQ(c, INT64_MIN);
	OK(d == UINT64_MAX); EQ(e, LONG_MIN); OK(f == ULONG_MAX);
	EQ(g, LLONG_MAX); EQ(h, 8);
	end();
}

GTEST(widths, 1)
{
	GO(narrow, INT8_MIN, UINT8_MAX, INT16_MIN, UINT16_MAX, 'e', true,
	    false, -1);
	GO(wide, INT32_MIN, UINT32_MAX, INT64_MIN, UINT64_MAX, LONG_MIN,
	    ULONG_MAX, LLONG_MAX, sizeof(int64_t));
	wait_all();
}

/* With one or two arguments of just the right type weft_go is quicker. */
static void i8(int8_t a, uint8_t b) { EQ(a, -5); EQ(b, 250); end(); }
static void i16(int16_t a, uint16_t b) { EQ(a, -5); EQ(b, 65000); end(); }
static void i32(int32_t a, uint32_t b) { EQ(a, -5); EQ(b, 1u << 31); end(); }
static void i64(int64_t a, uint64_t b) { EQ(a, -5); OK(b == ~0ull); end(); }
static void flags(bool a, bool b) { EQ(a, true); EQ(b, false); end(); }
static void letters(char a, char b) { EQ(a, 'a'); EQ(b, 'b'); end(); }
static void alone8(int8_t a) { EQ(a, -5); end(); }
static void alone64(int64_t a) { EQ(a, INT64_MIN); end(); }

GTEST(exact_types, 1)
{
	int8_t a = -5;
	uint8_t b = 250;
	int16_t c = -5;
	uint16_t d = 65000;
	int32_t e = -5;
	uint32_t f = 1u << 31;
	int64_t g = -5, least = INT64_MIN;
	uint64_t h = ~0ull;
	bool yes = true, no = false;
	const char x = 'a', y = 'b';

	GO(i8, a, b);
	GO(i16, c, d);
	GO(i32, e, f);
	GO(i64, g, h);
	GO(flags, yes, no);
	GO(letters, x, y);
	GO(alone8, a);
	GO(alone64, least);
	wait_all();
}

/* ---- floating point ---- */

static void float1(float a) { OK(a == 1.5f); end(); }
static void double1(double a) { OK(a == -2.25); end(); }
static void float2(float a, double b) { OK(a == 1.5f && b == 2.5); end(); }

static void
double8(double a, double b, double c, double d, double e, double f, double g,
    double h)
{
	OK(a == 1.5); OK(b == 2.5); OK(c == 3.5); OK(d == 4.5);
	OK(e == 5.5); OK(f == 6.5); OK(g == 7.5); OK(h == 8.5);
	end();
}

static void
float8(float a, float b, float c, float d, float e, float f, float g, float h)
{
	OK(a == 1.5f); OK(b == 2.5f); OK(c == 3.5f); OK(d == 4.5f);
	OK(e == 5.5f); OK(f == 6.5f); OK(g == 7.5f); OK(h == 8.5f);
	end();
}

GTEST(floating_point, 1)
{
	GO(float1, 1.5f);
	GO(double1, -2.25);
	GO(float2, 1.5f, 2.5);
	GO(double8, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5);
	GO(float8, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f);
	wait_all();
}

static void int_double(int a, double b) { EQ(a, 1); OK(b == 2.5); end(); }
static void double_int(double a, int b) { OK(a == 1.5); EQ(b, 2); end(); }

static void
int_first(int a, double b, long c, float d, short e, double f, char g,
    double h)
{
	EQ(a, 1); OK(b == 2.5); EQ(c, 3); OK(d == 4.5f);
	EQ(e, 5); OK(f == 6.5); EQ(g, 7); OK(h == 8.5);
	end();
}

static void
double_first(double a, int b, float c, long d, double e, short f, double g,
    void *h)
{
	OK(a == 1.5); EQ(b, 2); OK(c == 3.5f); EQ(d, 4);
	OK(e == 5.5); EQ(f, 6); OK(g == 7.5); OK(h == &all);
	end();
}

static void
ints_then_doubles(int a, int b, int c, int d, double e, double f, double g,
    double h)
{
	EQ(a, 1); EQ(b, 2); EQ(c, 3); EQ(d, 4);
	OK(e == 5.5); OK(f == 6.5); OK(g == 7.5); OK(h == 8.5);
	end();
}

/* On x86-64 the last integers are on the stack, past a double. */
static void
seven_ints(int64_t a, int64_t b, int64_t c, double d, int64_t e, int64_t f,
    int64_t g, int64_t h)
{
	EQ(a, -1); EQ(b, -2); EQ(c, -3); OK(d == 4.5);
	EQ(e, -5); EQ(f, -6); EQ(g, -7); EQ(h, -8);
	end();
}

GTEST(mixed, 1)
{
	GO(int_double, 1, 2.5);
	GO(double_int, 1.5, 2);
	GO(int_first, 1, 2.5, 3L, 4.5f, (short)5, 6.5, (char)7, 8.5);
	GO(double_first, 1.5, 2, 3.5f, 4L, 5.5, (short)6, 7.5, &all);
	GO(ints_then_doubles, 1, 2, 3, 4, 5.5, 6.5, 7.5, 8.5);
	GO(seven_ints, -1, -2, -3, 4.5, -5, -6, -7, -8);
	wait_all();
}

/* ---- structs and enums ---- */

struct point { int x, y; };
struct pair { float a, b; };
struct bytes { char c[7]; };
struct one { double d; };
union word { int64_t i; double d; };
enum colour { RED = -1, GREEN = 7 };

static struct pair pair(float n) { return (struct pair){ n, -n }; }
static bool is_pair(struct pair p, float n) { return p.a == n && p.b == -n; }

static void
structs(struct point p, struct pair f, struct bytes b, struct one d,
    enum colour c)
{
	EQ(p.x, -3); EQ(p.y, 4);
	OK(is_pair(f, 1.5f));
	OK(memcmp(b.c, "sixchr", 7) == 0);
	OK(d.d == 0.125);
	EQ(c, GREEN);
	end();
}

static void word1(union word w) { EQ(w.i, INT64_MIN); end(); }
static void point1(struct point p) { EQ(p.x, 1); EQ(p.y, 2); end(); }
static void colours(enum colour a, enum colour b)
{
	EQ(a, RED); EQ(b, GREEN);
	end();
}

GTEST(small_structs, 1)
{
	struct point p = { -3, 4 };
	struct bytes b = { "sixchr" };
	struct one d = { 0.125 };
	union word w = { .i = INT64_MIN };
	enum colour red = RED, green = GREEN;

	GO(structs, p, pair(1.5f), b, d, GREEN);
	GO(word1, w);
	GO(point1, ((struct point){ 1, 2 }));
	GO(colours, red, green);
	wait_all();
}

/* On aarch64 each member has a register of its own: four still fit. */
static void
pair4(struct pair a, struct pair b, struct pair c, struct pair d, long e,
    long f, long g, long h)
{
	OK(is_pair(a, 1)); OK(is_pair(b, 2)); OK(is_pair(c, 3));
	OK(is_pair(d, 4));
	EQ(e, 5); EQ(f, 6); EQ(g, 7); EQ(h, 8);
	end();
}

GTEST(four_float_pairs, 1)
{
	GO(pair4, pair(1), pair(2), pair(3), pair(4), 5L, 6L, 7L, 8L);
	wait_all();
}

/* ---- conversions ---- */

static void to_long(long a) { EQ(a, -7); end(); }
static void to_ulong(unsigned long a) { OK(a == ULONG_MAX); end(); }
static void to_double(double a) { OK(a == -3.0); end(); }
static void widened(double a) { OK(a == 0.1f); end(); }
static void narrowed(float a) { OK(a == 0.1f); end(); }
static void to_int(int a) { EQ(a, 3); end(); }
static void to_bool(bool a) { OK(a); end(); }
static void to_char(unsigned char a) { EQ(a, 1); end(); }
static void to_text(const char *s) { OK(!strcmp(s, "literal")); end(); }
static void to_first(int *p, void *v) { EQ(*p, 42); OK(v == p); end(); }
static void to_null(int *p) { OK(!p); end(); }
static void to_fn(void (*f)(void)) { OK(f == end); f(); }

static void
all_converted(double a, long b, float c, int64_t d, bool e, short f,
    unsigned char g, double h)
{
	OK(a == -1.0); EQ(b, -2); OK(c == 3.0f); EQ(d, 4);
	EQ(e, true); EQ(f, -6); EQ(g, 7); OK(h == -8.0);
	end();
}

GTEST(conversions, 1)
{
	int array[3] = { 42 };
	double d = 3.9;
	float f = 0.1f;

	GO(to_long, -7);
	GO(to_ulong, -1);
	GO(to_double, -3);
	GO(widened, f);
	GO(narrowed, 0.1);
	GO(to_int, d);
	GO(to_bool, 256);
	GO(to_char, 257);
	GO(to_text, "literal");
	GO(to_first, array, array);
	GO(to_null, NULL);
	GO(to_fn, end);
	GO(all_converted, -1, -2, 3, 4.75, 5, -6L, 256 + 7, -8);
	wait_all();
}

/* ---- functions ---- */

static int returns_int(int a) { EQ(a, 1); end(); return a; }
static double returns_double(double a) { OK(a == 1.5); end(); return a; }
static void *returns_pointer(void) { end(); return &all; }
static struct point returns_struct(struct point p) { point1(p); return p; }

GTEST(results_are_dropped, 1)
{
	GO(returns_int, 1);
	GO(returns_double, 1.5);
	GO(returns_pointer);
	GO(returns_struct, ((struct point){ 1, 2 }));
	wait_all();
}

GTEST(function_pointers, 1)
{
	void (*variable)(int) = n1;
	void (*const constant)(int, int) = n2;
	void (*table[])(int) = { n1, to_int };
	struct { int (*member)(int); } s = { returns_int };

	GO(variable, 1);
	GO(*variable, 1);
	GO(&n1, 1);
	GO(constant, 1, 2);
	GO(table[1], 3);
	GO(s.member, 1);
	OK(variable == n1);
	wait_all();
}

/* The function does not return; weft_go does. */
_Noreturn static void
never_returns(int a)
{
	EQ(a, 1);
	end();
	weft_goexit();
}

GTEST(noreturn_function, 1)
{
	GO(never_returns, 1);
	GO(never_returns, 1);
	wait_all();
}

static void
sum(int n, ...)
{
	double total = 0;
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		total += va_arg(ap, double);
	va_end(ap);
	OK(total == 10.0);
	end();
}

GTEST(variable_arguments, 1)
{
	GO(sum, 4, 1.5, 2.5, 2.0, 4.0);
	GO(sum, 7, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0);
	wait_all();
}

/* ---- evaluation ---- */

static int calls;
static int64_t caller;

static int
next(void)
{
	caller = weft_self_id();
	return ++calls;
}

static void (*next_fn(void))(int) { calls += 10; return n1; }

static weft_opt
next_opt(void)
{
	calls += 100;
	return WEFT_OPT(.name = "once");
}

GTEST(evaluated_once, 1)
{
	int i = 0;
	void (*table[])(int) = { n1, n1 };

	GO(table[i++], 1);
	EQ(i, 1);
	GO(n1, i++);
	EQ(i, 2);
	GO(n1, next());
	EQ(calls, 1);
	EQ(caller, weft_self_id());
	GO(next_fn(), 1);
	EQ(calls, 11);
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go_opt(next_opt(), n1, 1) > 0);
	EQ(calls, 111);
	wait_all();
}

static void ids(int64_t a, int64_t b) { OK(a > 0 && b > 0 && a != b); end(); }

/* The inner one is made before the outer one is begun. */
GTEST(nested, 1)
{
	weft_waitgroup_add(&all, 2);
	GO(ids, weft_try_go(n1, 1), weft_try_go(n2, 1, 2));
	weft_waitgroup_add(&all, 1);
	GO(to_bool, weft_try_go(n0) > 0);
	wait_all();
}

/* The values are those of the call: changing the variables has no effect. */
GTEST(copied, 1)
{
	int a = 1, b = 2;

	GO(n2, a, b);
	a = b = 0;
	wait_all();
	EQ(a + b, 0);
}

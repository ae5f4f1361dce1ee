/* SPDX-License-Identifier: MIT */
/*
 * Channels of weft_chan_of and the typed macros: which values are converted,
 * which are fatal and with which message, and what a channel without a kind
 * lets pass. tests/interface/chan_typed_cxx.cc is the same in C++.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <weft.h>

#include "t.h"

enum colour { RED = 3, GREEN };
enum offset { BACK = -1, FORTH = 1 };
struct pair { int a, b; };
struct wide { int64_t v[5]; };

/* ---- the same type ---- */

#define ROUND_TRIP(type, value) do {					\
		weft_chan *c_ = weft_chan_of(type, 1);			\
		type v_ = (value);					\
		type w_ = (type)0;					\
									\
		OK(c_ != NULL);						\
		weft_send(c_, v_);					\
		OK(weft_recv(c_, type) == v_);				\
		OK(weft_try_send(c_, v_));				\
		OK(!weft_try_send(c_, v_));				\
		OK(weft_try_recv(c_, &w_));				\
		OK(w_ == v_);						\
		OK(!weft_try_recv(c_, &w_));				\
		OK(weft_send_until(c_, v_, 1));				\
		OK(!weft_send_until(c_, v_, 1));			\
		w_ = (type)0;						\
		OK(weft_recv_until(c_, &w_, 1));			\
		OK(w_ == v_);						\
		OK(!weft_recv_until(c_, &w_, 1));			\
		OK(weft_send_context(c_, v_, NULL));			\
		w_ = (type)0;						\
		OK(weft_recv_context(c_, &w_, NULL));			\
		OK(w_ == v_);						\
		weft_chan_close(c_);					\
		OK(!weft_recv_ok(c_, &w_));				\
		OK(w_ == (type)0);					\
		weft_chan_release(c_);					\
	} while (0)

GTEST(every_kind, 1)
{
	ROUND_TRIP(bool, true);
	ROUND_TRIP(char, 'x');
	ROUND_TRIP(signed char, -5);
	ROUND_TRIP(unsigned char, 250);
	ROUND_TRIP(short, -300);
	ROUND_TRIP(unsigned short, 65000);
	ROUND_TRIP(int, INT_MIN);
	ROUND_TRIP(unsigned, UINT_MAX);
	ROUND_TRIP(long, LONG_MIN);
	ROUND_TRIP(unsigned long, ULONG_MAX);
	ROUND_TRIP(long long, LLONG_MAX);
	ROUND_TRIP(unsigned long long, ULLONG_MAX);
	ROUND_TRIP(enum colour, GREEN);
	ROUND_TRIP(enum offset, BACK);
	ROUND_TRIP(float, 1.5f);
	ROUND_TRIP(double, 2.5);
	ROUND_TRIP(long double, 3.5L);
	ROUND_TRIP(const char *, "text");
	ROUND_TRIP(weft_chan *, NULL);
}

GTEST(structs, 1)
{
	weft_chan *c = weft_chan_of(struct pair, 1);
	weft_chan *w = weft_chan_of(struct wide, 1);
	struct pair p = { 1, 2 };
	struct wide v = { { 1, 2, 3, 4, 5 } };

	weft_send(c, p);
	EQ(weft_recv(c, struct pair).b, 2);
	/* the commas are not the macro's */
	OK(weft_try_send(c, (struct pair){ 3, 4 }));
	OK(weft_try_recv(c, &p));
	EQ(p.b, 4);
	OK(weft_send_until(c, p, 1));
	OK(weft_recv_until(c, NULL, 1));
	weft_send(w, v);
	memset(&v, 0, sizeof v);
	OK(weft_recv_ok(w, &v));
	EQ(v.v[4], 5);
	weft_chan_release(c);
	weft_chan_release(w);
}

/* ---- integers that fit ---- */

#define FITS(type, value) do {						\
		weft_chan *c_ = weft_chan_of(type, 1);			\
		weft_case k_ = WEFT_CASE_SEND(c_, value);		\
									\
		weft_send(c_, value);					\
		OK(weft_recv(c_, type) == (type)(value));		\
		OK(weft_try_send(c_, value));				\
		OK(weft_recv(c_, type) == (type)(value));		\
		OK(weft_send_until(c_, value, 1));			\
		OK(weft_recv(c_, type) == (type)(value));		\
		OK(weft_send_context(c_, value, NULL));			\
		OK(weft_recv(c_, type) == (type)(value));		\
		/* more than once: the case is converted in place */	\
		for (int i_ = 0; i_ < 3; i_++) {			\
			EQ(weft_select(&k_, 1), 0);			\
			OK(weft_recv(c_, type) == (type)(value));	\
		}							\
		weft_chan_release(c_);					\
	} while (0)

GTEST(integers_that_fit, 1)
{
	FITS(bool, 1);
	FITS(bool, 0);
	FITS(bool, 1ULL);
	FITS(char, 'c');
	FITS(signed char, -128);
	FITS(signed char, 127L);
	FITS(unsigned char, 255);
	FITS(unsigned char, false);
	FITS(short, -32768);
	FITS(unsigned short, 65535);
	FITS(int, 1L);
	FITS(int, (int64_t)INT_MIN);
	FITS(int, (int64_t)INT_MAX);
	FITS(int, (short)-7);
	FITS(int, 5u);
	FITS(unsigned, 1);
	FITS(unsigned, (int64_t)UINT_MAX);
	FITS(long, -1);
	FITS(int64_t, INT_MIN);
	FITS(int64_t, (uint64_t)INT64_MAX);
	FITS(uint64_t, 0);
	FITS(uint64_t, INT64_MAX);
	FITS(size_t, 7);
	FITS(enum colour, RED);
	FITS(enum offset, BACK);
	FITS(enum offset, -1L);
}

/* A waiting receiver gets the converted value, and so does a waiting send. */
static void
sender(weft_chan *c)
{
	weft_send(c, 300L);
	OK(weft_send_until(c, (short)-2, 0));
	weft_chan_close(c);
}

GTEST(converted_and_waiting, 2)
{
	weft_chan *c = weft_chan_of(int, 0);
	int v;

	weft_go(sender, c);
	EQ(weft_recv(c, int), 300);
	OK(weft_recv_ok(c, &v));
	EQ(v, -2);
	OK(!weft_recv_ok(c, &v));
	weft_chan_release(c);
}

/* ---- what is fatal when sent ---- */

#define SENT(name, type, value, text)					\
	DIES(name, 1, text) { weft_send(weft_chan_of(type, 1), value); }

SENT(int_on_float, float, 1, "int32_t sent on a channel of float")
SENT(long_on_double, double, 1L, "int64_t sent on a channel of double")
SENT(float_on_int, int, 1.0f, "float sent on a channel of int32_t")
SENT(double_on_long, int64_t, 1.0, "double sent on a channel of int64_t")
SENT(double_on_float, float, 1.0, "double sent on a channel of float")
SENT(float_on_double, double, 1.0f, "float sent on a channel of double")
SENT(pointer_on_int, uint64_t, "x",
    "a struct or pointer of 8 bytes sent on a channel of uint64_t")
SENT(int_on_pointer, void *, 8L,
    "int64_t sent on a channel of a struct or pointer of 8 bytes")
SENT(struct_on_double, double, ((struct pair){ 1, 2 }),
    "a struct or pointer of 8 bytes sent on a channel of double")
SENT(pointer_on_struct, struct wide, "x",
    "of 8 bytes sent on a channel of a struct or pointer of 40 bytes")
SENT(too_large, int, 2147483648L,
    "int64_t 2147483648 does not fit an element of int32_t")
SENT(too_small, int, -2147483649L,
    "int64_t -2147483649 does not fit an element of int32_t")
SENT(too_large_unsigned, unsigned char, 256,
    "int32_t 256 does not fit an element of uint8_t")
SENT(negative, unsigned, -1,
    "int32_t -1 does not fit an element of uint32_t")
SENT(negative_wide, uint64_t, INT64_MIN,
    "int64_t -9223372036854775808 does not fit an element of uint64_t")
SENT(large_unsigned, int64_t, UINT64_MAX,
    "uint64_t 18446744073709551615 does not fit an element of int64_t")
SENT(two_as_bool, bool, 2, "int32_t 2 does not fit an element of bool")

DIES(tried, 1, "int32_t sent on a channel of float")
{
	weft_try_send(weft_chan_of(float, 0), 1);
}

DIES(sent_until, 1, "int32_t sent on a channel of float")
{
	weft_send_until(weft_chan_of(float, 1), 1, 1);
}

DIES(sent_with_a_context, 1, "int32_t sent on a channel of float")
{
	weft_send_context(weft_chan_of(float, 1), 1, NULL);
}

DIES(selected, 1, "int32_t sent on a channel of float")
{
	weft_case k = WEFT_CASE_SEND(weft_chan_of(float, 1), 1);

	weft_select(&k, 1);
}

DIES(selected_too_large, 1, "int32_t 300 does not fit an element of uint8_t")
{
	weft_case k[] = {
		WEFT_CASE_SEND(weft_chan_of(uint8_t, 0), 300), WEFT_CASE_DEFAULT
	};

	weft_select(k, 2);
}

/* What a pointer points to is not converted. */
DIES(selected_from, 1, "int64_t sent on a channel of int32_t")
{
	int64_t v = 1;
	weft_case k = WEFT_CASE_SEND_FROM(weft_chan_of(int, 1), &v);

	weft_select(&k, 1);
}

/* ---- receiving ---- */

GTEST(received_with_other_signedness, 1)
{
	weft_chan *u = weft_chan_of(unsigned, 1);
	weft_chan *e = weft_chan_of(enum colour, 1);
	weft_chan *b = weft_chan_of(bool, 1);
	int v;
	unsigned char y;

	weft_send(u, 7u);
	EQ(weft_recv(u, int), 7);
	weft_send(e, GREEN);
	OK(weft_recv_ok(e, &v));
	EQ(v, GREEN);
	weft_send(b, true);
	OK(weft_recv_ok(b, &y));
	EQ(y, 1);
	weft_chan_release(u);
	weft_chan_release(e);
	weft_chan_release(b);
}

DIES(received_as_float, 1, "float received from a channel of int32_t")
{
	weft_recv(weft_chan_of(int, 1), float);
}

DIES(received_as_wider, 1, "int64_t received from a channel of int32_t")
{
	int64_t v;

	weft_recv_ok(weft_chan_of(int, 1), &v);
}

DIES(received_as_narrower, 1, "int16_t received from a channel of int32_t")
{
	weft_recv(weft_chan_of(int, 1), short);
}

DIES(tried_as_int, 1, "int32_t received from a channel of float")
{
	int v;

	weft_try_recv(weft_chan_of(float, 1), &v);
}

DIES(received_until_as_int, 1, "int32_t received from a channel of float")
{
	int v;

	weft_recv_until(weft_chan_of(float, 1), &v, 1);
}

DIES(received_with_context_as_int, 1, "int32_t received from a channel of")
{
	int v;

	weft_recv_context(weft_chan_of(float, 1), &v, NULL);
}

DIES(selected_as_int, 1, "int32_t received from a channel of float")
{
	int v;
	weft_case k = WEFT_CASE_RECV(weft_chan_of(float, 1), &v);

	weft_select(&k, 1);
}

/* It might be neither 0 nor 1. */
DIES(bool_of_bytes, 1, "bool received from a channel of uint8_t")
{
	weft_recv(weft_chan_of(uint8_t, 1), bool);
}

DIES(time_as_double, 1, "double received from a channel of int64_t")
{
	weft_recv(weft_after(0), double);
}

/* ---- what is not checked ---- */

GTEST(of_a_void_pointer, 1)
{
	weft_chan *c = weft_chan_of(float, 2);
	float f = 1.5f, g = 0;
	void *p = &g;
	const void *q = &f;
	weft_case k = WEFT_CASE_SEND_FROM(c, q);

	EQ(weft_select(&k, 1), 0);
	OK(weft_recv_ok(c, p));
	OK(g == 1.5f);
	weft_chan_send(c, &f);
	OK(weft_try_recv(c, NULL));
	weft_chan_release(c);
}

/* A channel without a kind takes any of that size, as bytes. */
GTEST(without_a_kind, 1)
{
	weft_chan *c = weft_chan_make(4, 1);
	float f = 1;
	int bits;

	memcpy(&bits, &f, sizeof bits);
	weft_send(c, f);
	EQ(weft_recv(c, int), bits);
	weft_send(c, bits);
	OK(weft_recv(c, float) == 1);
	OK(weft_try_send(c, 7u));
	EQ(weft_recv(c, int), 7);
	weft_chan_release(c);
}

DIES(without_a_kind_too_wide, 1, "its elements have 4 bytes, not 8")
{
	weft_send(weft_chan_make(4, 1), 1L);
}

DIES(without_a_kind_too_narrow, 1, "its elements have 1 bytes, not 4")
{
	weft_send(weft_chan_make(sizeof(bool), 1), 1);
}

DIES(without_a_kind_try, 1, "its elements have 4 bytes, not 8")
{
	int64_t v;

	weft_try_recv(weft_chan_make(4, 1), &v);
}

/* ---- making ---- */

TEST(kinds_and_sizes)
{
	static const size_t odd[] = { 0, 3, 5, 7, 9, 16 };

	for (int i = 0; i < 6; i++) {
		OK(!weft_chan_make_kind(odd[i], 1, WEFT_KIND_SIGNED));
		OK(!weft_chan_make_kind(odd[i], 1, WEFT_KIND_UNSIGNED));
		OK(!weft_chan_make_kind(odd[i], 1, WEFT_KIND_BOOL));
	}
	OK(!weft_chan_make_kind(2, 1, WEFT_KIND_FLOAT));
	OK(!weft_chan_make_kind(8, 1, WEFT_KIND_OTHER + 1));
	OK(!weft_chan_make_kind(8, 1, -1));
	OK(!weft_chan_make_kind(65537, 1, WEFT_KIND_OTHER));
	weft_chan_release(weft_chan_make_kind(65536, 1, WEFT_KIND_OTHER));
	weft_chan_release(weft_chan_make_kind(0, 1, WEFT_KIND_OTHER));
	weft_chan_release(weft_chan_make_kind(0, 1, WEFT_KIND_NONE));
}

/* NULL blocks, whatever the type is. */
GTEST(null_channel, 1)
{
	int v = 9;

	OK(!weft_try_send(NULL, 1));
	OK(!weft_try_recv(NULL, &v));
	OK(!weft_send_until(NULL, 1.5, 1));
	OK(!weft_recv_until(NULL, &v, 1));
	OK(!weft_chan_is_closed(NULL));
	EQ(v, 9);
}

/* gcc has types of its own for bit-fields; an expression has a plain one. */
GTEST(bit_field, 1)
{
	weft_chan *c = weft_chan_of(int, 1);
	struct { unsigned three : 3; int four : 4; } s = { 5, -3 };

	weft_send(c, s.three + 0);
	EQ(weft_recv(c, int), 5);
	weft_send(c, s.four + 0);
	EQ(weft_recv(c, int), -3);
	weft_chan_release(c);
}

// SPDX-License-Identifier: MIT
// Typed channels and WEFT_SELECT in C++, where kinds come from templates. What
// is converted and what is fatal is in tests/sync/chan_typed.c.
#include <weft.h>

#include <cerrno>
#include <cstdint>

#include "t.h"

enum plain { ONE = 1, TWO };
enum class colour : short { red = -3, green };
enum class wide : uint64_t { last = UINT64_MAX };
struct pair {
	int a, b;
};

template<class T> static void
round_trip(T v)
{
	weft_chan *c = weft_chan_of(T, 1);
	T w = T();

	OK(c != nullptr);
	weft_send(c, v);
	OK(weft_recv(c, T) == v);
	OK(weft_try_send(c, v));
	OK(!weft_try_send(c, v));
	OK(weft_try_recv(c, &w));
	OK(w == v);
	OK(!weft_try_recv(c, &w));
	OK(weft_send_until(c, v, 1));
	w = T();
	OK(weft_recv_until(c, &w, 1));
	OK(w == v);
	OK(weft_send_context(c, v, nullptr));
	w = T();
	OK(weft_recv_context(c, &w, nullptr));
	OK(w == v);
	WEFT_SELECT(s) {
		WEFT_ON_SEND(s, c, v) {}
	}
	w = T();
	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, c, &w) {
			OK(s.ok);
		}
	}
	OK(w == v);
	weft_chan_close(c);
	OK(weft_chan_is_closed(c));
	OK(!weft_recv_ok(c, &w));
	weft_chan_release(c);
}

GTEST(every_kind, 1)
{
	static int n;

	round_trip<bool>(true);
	round_trip<char>('x');
	round_trip<signed char>(-5);
	round_trip<unsigned char>(250);
	round_trip<short>(-300);
	round_trip<unsigned short>(65000);
	round_trip<int>(-7);
	round_trip<unsigned>(UINT32_MAX);
	round_trip<long>(INT64_MIN);
	round_trip<unsigned long>(UINT64_MAX);
	round_trip<long long>(INT64_MAX);
	round_trip<unsigned long long>(UINT64_MAX);
	round_trip<float>(1.5f);
	round_trip<double>(2.5);
	round_trip<long double>(3.5L);
	round_trip<plain>(TWO);
	round_trip<colour>(colour::red);
	round_trip<wide>(wide::last);
	round_trip<int *>(&n);
	round_trip<const char *>("text");
	round_trip<weft_chan *>(nullptr);
}

GTEST(converted, 1)
{
	weft_chan *b = weft_chan_of(bool, 1), *i = weft_chan_of(int, 1);
	weft_chan *l = weft_chan_of(uint64_t, 1), *e = weft_chan_of(plain, 1);
	const int five = 5;

	weft_send(b, 1);
	EQ(weft_recv(b, bool), true);
	weft_send(i, 1L);
	EQ(weft_recv(i, int), 1);
	weft_send(l, five);
	EQ(weft_recv(l, uint64_t), 5);
	weft_send(e, 2);
	EQ(weft_recv(e, plain), TWO);
	weft_send(i, ONE);
	EQ(weft_recv(i, int), 1);
	weft_chan_release(b);
	weft_chan_release(i);
	weft_chan_release(l);
	weft_chan_release(e);
}

GTEST(cases, 1)
{
	weft_chan *c = weft_chan_of(pair, 1), *i = weft_chan_of(int, 1);
	const pair p = { 1, 2 };
	pair q = { 0, 0 };
	int room[2] = { 0, 0 }, n = 3, *at = room;
	weft_case k[] = {
		WEFT_CASE_SEND(c, p), WEFT_CASE_RECV(c, &q),
		WEFT_CASE_SEND_FROM(c, &p), WEFT_CASE_DEFAULT
	};
	weft_case one = WEFT_CASE_SEND(i, n++);

	EQ(weft_select_ordered(k, 4), 0);
	EQ(weft_select_ordered(k, 4), 1);
	EQ(q.b, 2);
	EQ(weft_select_ordered(k + 1, 3), 1);
	EQ(weft_select_ordered(k, 1 + 1), 1);
	EQ(n, 4);
	EQ(weft_select(&one, 1), 0);
	one = WEFT_CASE_RECV(i, at++);		// once
	OK(at == room + 1);
	EQ(weft_select(&one, 1), 0);
	EQ(room[0], 3);
	weft_send(i, 4);
	OK(weft_recv_ok(i, at++));
	OK(at == room + 2);
	EQ(room[1], 4);
	weft_send(i, 5);
	OK(weft_recv_ok(i, room));		// an array
	EQ(room[0], 5);
	weft_chan_release(c);
	weft_chan_release(i);
}

GTEST(nested_blocks, 1)
{
	weft_chan *a = weft_chan_of(int, 1), *b = weft_chan_of(long, 1);
	int x = 0;
	long y = 0;

	WEFT_SELECT_ORDERED(s) {
		WEFT_ON_RECV(s, a, &x) { x = -1; }
		WEFT_ON_SEND(s, a, 7) {
			WEFT_SELECT(t) {
				WEFT_ON_RECV(t, b, nullptr) { y = -1; }
				WEFT_ON_RECV(t, a, &x) {
					OK(t.ok);
					break;
				}
				WEFT_ON_TIMEOUT(t, weft_deadline(WEFT_SECOND)) {
					y = -2;
				}
				WEFT_ON_CANCEL(t, nullptr) { y = -3; }
			}
			y++;
		}
		WEFT_ON_DEFAULT(s) { y = -4; }
	}
	EQ(x, 7);
	EQ(y, 1);
	weft_chan_release(a);
	weft_chan_release(b);
}

DIES(int_on_float, 1, "int32_t sent on a channel of float")
{
	weft_send(weft_chan_of(float, 1), 1);
}

DIES(does_not_fit, 1, "int32_t 300 does not fit an element of uint8_t")
{
	weft_send(weft_chan_of(unsigned char, 1), 300);
}

DIES(enum_received_as_float, 1, "float received from a channel of int16_t")
{
	weft_recv(weft_chan_of(colour, 1), float);
}

DIES(selected, 1, "double sent on a channel of float")
{
	weft_case k = WEFT_CASE_SEND(weft_chan_of(float, 1), 1.0);

	weft_select(&k, 1);
}

/* SPDX-License-Identifier: MIT */
/*
 * Exceptions that leave a function which weft has called, on their way to a
 * handler further up. They arrive there, and weft knows that the function has
 * been left: by weft_once_do, by weft_blocking, by one in the other.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include <weft.h>

#include "dirty_stack.h"
#include "t.h"

namespace {

struct oops {
	std::string text;
};

int n_calls;

void
throws(void *arg)
{
	__atomic_fetch_add(&n_calls, 1, __ATOMIC_RELAXED);
	throw oops{ static_cast<const char *>(arg) };
}

void *
throws_too(void *arg)
{
	throws(arg);
	return nullptr;
}

char some_text[] = "some text that is longer than a short string";

/* True if it was thrown, and is what was thrown. */
bool
once_throws(weft_once *o)
{
	try {
		weft_once_do(o, throws, some_text);
	} catch (const oops &e) {
		weft_yield();
		OK(e.text == some_text);
		return true;
	}
	return false;
}

bool
blocking_throws(void *(*fn)(void *arg))
{
	try {
		weft_blocking(fn, some_text);
	} catch (const oops &e) {
		weft_yield();
		OK(e.text == some_text);
		return true;
	}
	return false;
}

/* ---- weft_once_do ---- */

weft_once once;
weft_waitgroup wg;

void
goes_on_and_ends()
{
	OK(once_throws(&once));
	dirty_stack(30);
	weft_yield();
	OK(!once_throws(&once));
	weft_waitgroup_done(&wg);
}

/* The goroutine ends with nothing left of the call. */
GTEST(once_is_done, 1)
{
	weft_waitgroup_add(&wg, 1);
	weft_go(goes_on_and_ends);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < 10; i++)
		weft_yield();
	EQ(n_calls, 1);
	OK(!once_throws(&once));
}

weft_chan *gate;

void
throws_late(void *arg)
{
	weft_chan_recv(gate, nullptr);
	throws(arg);
}

int n_returned;

void
comes_first()
{
	try {
		weft_once_do(&once, throws_late, some_text);
	} catch (const oops &) {
		n_returned += 100;
		weft_chan_recv(gate, nullptr);
	}
	weft_waitgroup_done(&wg);
}

void
comes_later()
{
	weft_once_do(&once, throws_late, some_text);
	n_returned++;
	weft_waitgroup_done(&wg);
}

/* Others that wait for it go on, though the goroutine has not ended. */
GTEST(those_that_wait_go_on, 1)
{
	gate = weft_chan_make(0, 0);
	weft_waitgroup_add(&wg, 4);
	weft_go(comes_first);
	weft_yield();
	for (int i = 0; i < 3; i++)
		weft_go(comes_later);
	for (int i = 0; i < 10; i++)
		weft_yield();
	EQ(n_returned, 0);
	weft_chan_send(gate, nullptr);
	while (n_returned < 103)
		weft_yield();
	weft_chan_send(gate, nullptr);
	weft_waitgroup_wait(&wg);
	EQ(n_calls, 1);
	weft_chan_release(gate);
}

weft_once inner;

void
throws_through(void *arg)
{
	weft_once_do(&inner, throws, arg);
}

void
catches_within(void *)
{
	OK(once_throws(&inner));
	dirty_stack(20);
}

void
nested()
{
	try {
		weft_once_do(&once, throws_through, some_text);
		OK(!"it was thrown");
	} catch (const oops &e) {
		OK(e.text == some_text);
	}
	dirty_stack(30);
	weft_once_do(&once, throws, some_text);
	weft_once_do(&inner, throws, some_text);
	once = inner = weft_once{};
	weft_once_do(&once, catches_within, nullptr);
	weft_once_do(&inner, throws, some_text);
	weft_waitgroup_done(&wg);
}

GTEST(one_within_another, 1)
{
	weft_waitgroup_add(&wg, 1);
	weft_go(nested);
	weft_waitgroup_wait(&wg);
	EQ(n_calls, 2);
}

int n_destroyed;

void
destroy(void *)
{
	n_destroyed++;
}

weft_gls key = { destroy };

void
sets_and_throws(void *arg)
{
	weft_gls_set(&key, &n_destroyed);
	weft_defer(destroy, nullptr);
	throws(arg);
}

void
keeps_values()
{
	try {
		weft_once_do(&once, sets_and_throws, some_text);
	} catch (const oops &) {
	}
	dirty_stack(30);
	OK(weft_gls_get(&key) == &n_destroyed);
	EQ(n_destroyed, 0);
	weft_waitgroup_done(&wg);
}

GTEST(what_was_set_before_is_kept, 1)
{
	weft_waitgroup_add(&wg, 1);
	weft_go(keeps_values);
	weft_waitgroup_wait(&wg);
	while (n_destroyed < 2)
		weft_yield();
}

void *
on_thread(void *)
{
	OK(once_throws(&once));
	OK(!once_throws(&once));
	return nullptr;
}

TEST(on_a_plain_thread)
{
	pthread_t t;

	on_thread(nullptr);
	once = weft_once{};
	pthread_create(&t, nullptr, on_thread, nullptr);
	pthread_join(t, nullptr);
	EQ(n_calls, 2);
	OK(!once_throws(&once));
}

/* Nothing is caught: all frames are left as by an exception. */
void
leaves_thread(void *)
{
	__atomic_fetch_add(&n_calls, 1, __ATOMIC_RELAXED);
	pthread_exit(nullptr);
}

void *
left_thread(void *)
{
	weft_once_do(&once, leaves_thread, nullptr);
	return nullptr;
}

TEST(a_thread_that_exits_is_done)
{
	pthread_t t;

	pthread_create(&t, nullptr, left_thread, nullptr);
	pthread_join(t, nullptr);
	EQ(n_calls, 1);
	weft_once_do(&once, throws, some_text);
	EQ(n_calls, 1);
}

/* ---- weft_blocking ---- */

GTEST(a_call_is_left, 1)
{
	for (int i = 0; i < 100; i++) {
		OK(blocking_throws(throws_too));
		weft_yield();
		OK(!weft_blocking([](void *arg) { return arg; }, nullptr));
	}
	EQ(n_calls, 100);
}

void *
throws_slowly(void *arg)
{
	usleep(2000);
	return throws_too(arg);
}

void
takes_processor(int *stop)
{
	while (!*stop)
		weft_yield();
	weft_waitgroup_done(&wg);
}

/* Its processor is gone by then, and it needs one to go on. */
GTEST(a_call_that_took_long_is_left, 1)
{
	int stop = 0;

	weft_waitgroup_add(&wg, 1);
	weft_go(takes_processor, &stop);
	for (int i = 0; i < 20; i++)
		OK(blocking_throws(throws_slowly));
	stop = 1;
	weft_waitgroup_wait(&wg);
	EQ(n_calls, 20);
}

TEST(on_another_thread_too)
{
	OK(blocking_throws(throws_too));
	EQ(n_calls, 1);
}

/* ---- all of it, by many ---- */

void
calls_blocking(void *arg)
{
	weft_blocking(throws_slowly, arg);
}

void
throws_often(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		weft_once own = {};
		bool thrown = false;

		try {
			weft_once_do(&own, calls_blocking, some_text);
		} catch (const oops &e) {
			weft_yield();
			thrown = e.text == some_text;
		}
		OK(thrown);
		OK(!once_throws(&own));
		weft_once_do(&once, throws_through, some_text);
	}
	weft_waitgroup_done(&wg);
}

GTEST(one_in_the_other_on_4, 4)
{
	int n = 8;

	weft_once_do(&inner, [](void *) {}, nullptr);
	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		weft_go(throws_often, (int)t_scale(50));
	weft_waitgroup_wait(&wg);
}

}

// SPDX-License-Identifier: MIT
// C++ keeps what is being caught in the thread; a goroutine takes it along.
#include <unistd.h>

#include <exception>
#include <stdexcept>
#include <string>

#include "run_env.h"

static weft_waitgroup all;
static weft_chan *handover;
static long moves;

struct coded {
	int code;
};

static void
let_go(int how)
{
	switch (how % 3) {
	case 0:
		weft_yield();
		break;
	case 1:
		weft_sleep(50 * WEFT_US);
		break;
	default:
		weft_chan_send(handover, nullptr);
		weft_chan_recv(handover, nullptr);
	}
}

static void
in_catch(int nr, int i)
{
	pid_t before = gettid();

	try {
		throw coded{ nr };
	} catch (coded &e) {
		let_go(i);
		OK(std::current_exception() != nullptr);
		EQ(std::uncaught_exceptions(), 0);
		EQ(e.code, nr);
		let_go(i + 1);
		try {
			throw std::runtime_error(std::to_string(nr));
		} catch (std::exception &inner) {
			let_go(i + 2);
			EQ(std::stoi(inner.what()), nr);
		}
		if (gettid() != before)
			bump(&moves);
		throw;
	}
}

static void
catches(int nr)
{
	for (int i = 0; i < 30; i++) {
		int got = -1;

		try {
			in_catch(nr, i);
		} catch (coded &e) {
			got = e.code;
		}
		EQ(got, nr);
		OK(std::current_exception() == nullptr);
		EQ(std::uncaught_exceptions(), 0);
	}
	weft_waitgroup_done(&all);
}

static void
all_catch()
{
	int n = 30;

	handover = weft_chan_make(0, n);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(catches, i);
	weft_waitgroup_wait(&all);
	weft_chan_release(handover);
}

ON_ALL(all_catch)

ETEST(parked_migrating, 2, "WEFT_MIGRATE=1")
{
	all_catch();
	OK(get(&moves) > 100);
}

ETEST(parked_with_short_slices, 2, "WEFT_SLICE_US=50") { all_catch(); }

// ---- in a destructor, while an exception is on its way

struct waits {
	int n;
	~waits()
	{
		EQ(std::uncaught_exceptions(), 1);
		let_go(n);
		EQ(std::uncaught_exceptions(), 1);
	}
};

static void
unwinds(int nr)
{
	for (int i = 0; i < 30; i++) {
		int got = -1;

		try {
			waits w{ i };

			throw coded{ nr };
		} catch (coded &e) {
			EQ(std::uncaught_exceptions(), 0);
			got = e.code;
		}
		EQ(got, nr);
	}
	weft_waitgroup_done(&all);
}

ETEST(in_destructors, 2, "WEFT_MIGRATE=1")
{
	handover = weft_chan_make(0, 20);
	weft_waitgroup_add(&all, 20);
	for (int i = 0; i < 20; i++)
		weft_go(unwinds, i);
	weft_waitgroup_wait(&all);
	weft_chan_release(handover);
}

// ---- announced calls

static void *
nap(void *arg)
{
	usleep(1000);
	return arg;
}

static void
calls(int nr)
{
	for (int i = 0; i < 10; i++) {
		try {
			throw coded{ nr };
		} catch (coded &) {
			weft_blocking(nap, nullptr);
			errno = nr;
			try {
				throw;
			} catch (coded &e) {
				weft_yield();
				EQ(e.code, nr);
				EQ(errno, nr);
			}
		}
	}
	OK(std::current_exception() == nullptr);
	weft_waitgroup_done(&all);
}

GTEST(across_calls, 2)
{
	weft_waitgroup_add(&all, 16);
	for (int i = 0; i < 16; i++)
		weft_go(calls, i + 1);
	weft_waitgroup_wait(&all);
}

// A new goroutine has caught nothing, whoever ran before on its thread.
static void
begins(void)
{
	OK(std::current_exception() == nullptr);
	EQ(std::uncaught_exceptions(), 0);
	weft_waitgroup_done(&all);
}

static void
spawns_in_catch(void)
{
	for (int i = 0; i < 50; i++) {
		try {
			throw coded{ i };
		} catch (coded &e) {
			weft_waitgroup_add(&all, 1);
			weft_go(begins);
			weft_yield();
			EQ(e.code, i);
		}
	}
	weft_waitgroup_wait(&all);
}

ON_ALL(spawns_in_catch)

// It may end without having left its handler.
static void
ends_in_catch()
{
	try {
		throw coded{ 1 };
	} catch (coded &) {
		weft_waitgroup_done(&all);
		weft_goexit();
	}
}

GTEST(ended_within, 2)
{
	for (int i = 0; i < 50; i++) {
		weft_waitgroup_add(&all, 2);
		weft_go(ends_in_catch);
		weft_go(begins);
	}
	weft_waitgroup_wait(&all);
}

// An exception handed to another goroutine.
static std::exception_ptr parcel;

static void
sends(weft_event *e)
{
	try {
		throw coded{ 42 };
	} catch (...) {
		parcel = std::current_exception();
	}
	weft_event_set(e);
}

GTEST(rethrown_by_another, 2)
{
	weft_event e = weft_event();
	int got = 0;

	weft_go(sends, &e);
	weft_event_wait(&e);
	try {
		std::rethrow_exception(parcel);
	} catch (coded &c) {
		weft_yield();
		got = c.code;
	}
	parcel = nullptr;
	EQ(got, 42);
}

// ---- loops in C++, and others that go on

static void
throws_on(const long *stop)
{
	while (!get(stop)) {
		int got = 0;

		try {
			throw coded{ 5 };
		} catch (coded &c) {
			got = c.code;
		}
		EQ(got, 5);
	}
	weft_waitgroup_done(&all);
}

GTEST(endless_throwing, 1)
{
	static long stop;

	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(throws_on, &stop);
	for (int i = 0; i < 5; i++)
		weft_sleep(5 * WEFT_MS);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

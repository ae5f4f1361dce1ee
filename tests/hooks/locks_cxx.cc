/* SPDX-License-Identifier: MIT */
/*
 * The locks of C++'s library, which are pthread's, on goroutines through the
 * hooks: held over waits, waited for by many, with exceptions.
 */
#include <weft.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

#include <stdlib.h>

#include "hooked.h"
#include "t.h"

enum { MANY = 200, ITEMS = 300 };

static std::mutex plain;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_mutex rw;
static int total;

/* As the environment of a test; before its runtime is started. */
static int
run_moving(int (*fn)(int, char **))
{
	weft_config c{};

	c.procs = 2;
	setenv("WEFT_MIGRATE", "1", 1);
	return weft_run_config(&c, sizeof c, fn, 0, nullptr);
}

/* ---- held over waits ---- */

static void
add_plain(void)
{
	std::lock_guard<std::mutex> l(plain);
	int was = total;

	weft_yield();
	total = was + 1;
}

static void
add_recursive(void)
{
	std::lock_guard<std::recursive_mutex> l(recursive);
	std::lock_guard<std::recursive_mutex> again(recursive);
	int was = total;

	weft_sleep(WEFT_US);
	{
		std::lock_guard<std::recursive_mutex> third(recursive);
		weft_yield();
	}
	total = was + 1;
}

static void
add_shared(void)
{
	{
		std::shared_lock<std::shared_mutex> l(rw);
		weft_yield();
	}
	std::unique_lock<std::shared_mutex> l(rw);
	int was = total;

	weft_yield();
	total = was + 1;
}

static void
add_by(void (*add)(void))
{
	weft_waitgroup wg{};

	total = 0;
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, add);
	weft_waitgroup_wait(&wg);
	EQ(total, MANY);
}

static int
add_all(int, char **)
{
	add_by(add_plain);
	add_by(add_recursive);
	add_by(add_shared);
	return 0;
}

GTEST(held_over_waits, 1) { add_all(0, nullptr); }
GTEST(held_over_waits_on_four, 4) { add_all(0, nullptr); }
TEST(held_over_waits_and_moves) { EQ(run_moving(add_all), 0); }

/* ---- limits ---- */

static void
try_timed(void)
{
	auto start = std::chrono::steady_clock::now();
	auto ms = std::chrono::milliseconds(30);

	OK(!timed.try_lock());
	OK(!timed.try_lock_for(ms));
	OK(std::chrono::steady_clock::now() - start >= ms);
	OK(!timed.try_lock_until(std::chrono::steady_clock::now() + ms));
	OK(!timed.try_lock_until(std::chrono::system_clock::now() + ms));
}

static int
timed_main(int, char **)
{
	weft_waitgroup wg{};

	timed.lock();
	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, try_timed);
	weft_waitgroup_wait(&wg);
	std::thread(try_timed).join();
	timed.unlock();
	OK(timed.try_lock_for(std::chrono::seconds(1)));
	timed.unlock();
	return 0;
}

GTEST(limits, 2) { timed_main(0, nullptr); }
TEST(limits_and_moves) { EQ(run_moving(timed_main), 0); }

/* ---- exceptions ---- */

static void
throw_inside(int nr)
{
	try {
		std::lock_guard<std::recursive_mutex> l(recursive);

		weft_yield();
		throw std::runtime_error(std::to_string(nr));
	} catch (const std::runtime_error &e) {
		EQ(atoi(e.what()), nr);
		weft_yield();
		EQ(atoi(e.what()), nr);
	}
}

static int
throw_main(int, char **)
{
	weft_waitgroup wg{};

	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, throw_inside, i);
	weft_waitgroup_wait(&wg);
	OK(recursive.try_lock());
	recursive.unlock();
	return 0;
}

GTEST(exceptions, 2) { throw_main(0, nullptr); }
TEST(exceptions_and_moves) { EQ(run_moving(throw_main), 0); }

/* ---- conditions, between goroutines and threads ---- */

static std::condition_variable more;
static int queued, used;

static void
make_items(void)
{
	for (int i = 0; i < ITEMS; i++) {
		std::lock_guard<std::mutex> l(plain);

		queued++;
		more.notify_one();
	}
}

static void
use_items(void)
{
	for (int i = 0; i < ITEMS; i++) {
		std::unique_lock<std::mutex> l(plain);

		more.wait(l, [] { return queued > 0; });
		queued--;
		used++;
	}
}

static int
exchange(int, char **)
{
	weft_waitgroup wg{};
	std::thread user(use_items), maker(make_items);

	weft_waitgroup_go(&wg, use_items);
	weft_waitgroup_go(&wg, use_items);
	weft_waitgroup_go(&wg, make_items);
	weft_waitgroup_go(&wg, make_items);
	weft_waitgroup_wait(&wg);
	maker.join();
	user.join();
	EQ(queued, 0);
	EQ(used, 3 * ITEMS);
	return 0;
}

GTEST(condition, 2) { exchange(0, nullptr); }
TEST(condition_and_moves) { EQ(run_moving(exchange), 0); }

/* ---- sleeps and once ---- */

static std::once_flag once;
static int made;

static void
make_once(void)
{
	std::call_once(once, [] {
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
		made++;
	});
	EQ(made, 1);
}

GTEST(call_once, 1)
{
	weft_waitgroup wg{};

	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, make_once);
	weft_waitgroup_wait(&wg);
	OK(hooks_now().sleeps > 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * C++: exceptions, whose state libstdc++ keeps in the thread, thrown across
 * frames and caught while the goroutine waits and moves.
 */
#include "torture.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft.h>

namespace {

struct thrown {
	uint64_t mark;
};

/* Computes, or waits, while it is destroyed by an exception. */
struct guard {
	int *count, expect;
	bool waits;

	~guard()
	{
		SAME(std::uncaught_exceptions(), expect);
		torture_spin(2000);
		if (waits)
			weft_yield();
		SAME(std::uncaught_exceptions(), expect);
		++*count;
	}
};

__attribute__((noinline)) void
descend(unsigned depth, uint64_t mark, int *count, bool waits)
{
	guard g = { count, 1, waits };

	if (depth == 0)
		throw thrown{ mark };
	descend(depth - 1, mark, count, waits);
}

void
exceptions(struct me *me)
{
	for (int i = 0; i < 5; i++) {
		uint64_t mark = me->rng + (uint64_t)i;
		bool caught = false;
		int count = 0;

		try {
			torture_spin(3000);
			descend(12, mark, &count, i % 2);
		} catch (const thrown &t) {
			torture_spin(50000);
			MUST(t.mark == mark);
			SAME(std::uncaught_exceptions(), 0);
			MUST(std::current_exception());
			caught = true;
		}
		MUST(caught && !std::current_exception());
		SAME(count, 13);
	}
}

/* Waits inside of a catch, where others throw and catch on this thread. */
void
waits(struct me *me)
{
	uint64_t mark = torture_random(me, 1000000);
	int again = 0;

	try {
		try {
			throw std::runtime_error(std::to_string(mark));
		} catch (const std::exception &e) {
			std::string was = e.what();

			weft_yield();
			torture_spin(50000);
			weft_sleep(20 * WEFT_US);
			SAME(std::stoull(e.what()), mark);
			try {
				torture_spin(10000);
				throw 17;
			} catch (int n) {
				weft_yield();
				SAME(n, 17);
				again++;
			}
			SAME(std::uncaught_exceptions(), 0);
			MUST(was == e.what());
			throw;
		}
	} catch (const std::runtime_error &e) {
		weft_sleep(10 * WEFT_US);
		SAME(std::stoull(e.what()), mark);
		again++;
	}
	SAME(again, 2);
	MUST(!std::current_exception());
}

void
thrower(weft_chan *c, uint64_t mark)
{
	std::exception_ptr p;

	try {
		throw thrown{ mark };
	} catch (...) {
		p = std::current_exception();
	}
	auto *sent = new std::exception_ptr(p);
	weft_send(c, sent);
}

/* An exception that another goroutine threw. */
void
handed_on(struct me *me)
{
	uint64_t mark = torture_random(me, 1000000);
	weft_chan *c = weft_chan_make(sizeof(std::exception_ptr *), 1);
	std::exception_ptr *got = nullptr;
	bool caught = false;

	MUST(weft_try_go(thrower, c, mark) > 0);
	MUST(weft_recv_ok(c, &got));
	try {
		std::rethrow_exception(*got);
	} catch (const thrown &t) {
		torture_spin(20000);
		weft_yield();
		SAME(t.mark, mark);
		caught = true;
	}
	MUST(caught);
	delete got;
	weft_chan_release(c);
}

thread_local std::string own;
std::mutex lock;
std::map<uint64_t, std::string> shared;

void
library(struct me *me)
{
	std::vector<uint32_t> v(300);
	uint64_t k = torture_random(me, 200);

	for (auto &x : v)
		x = (uint32_t)torture_random(me, UINT32_MAX);
	std::sort(v.begin(), v.end(), [](uint32_t a, uint32_t b) {
		torture_spin(50);
		return a < b;
	});
	MUST(std::is_sorted(v.begin(), v.end()));
	own = std::to_string(k);
	torture_spin(20000);
	SAME(std::stoull(own), k);
	{
		std::lock_guard<std::mutex> held(lock);
		auto &s = shared[k];

		MUST(s.empty() || std::stoull(s) == k);
		torture_spin(20000);
		s = std::to_string(k);
		if (shared.size() > 100)
			shared.clear();
	}
	auto p = std::make_shared<thrown>(thrown{ k });
	auto q = p;
	torture_spin(20000);
	SAME(q.use_count(), 2);
}

} /* namespace */

extern "C" const struct work torture_throw[] = {
	{ "exceptions", exceptions, nullptr, nullptr },
	{ "waits", waits, nullptr, nullptr },
	{ "handed on", handed_on, nullptr, nullptr },
	{ "library", library, nullptr, nullptr },
	{ nullptr, nullptr, nullptr, nullptr }
};

int
main(int argc, char **argv)
{
	static const struct torture t = {
		"cplusplus", { torture_cpu, torture_libc, torture_weft,
		    torture_throw }, "needs the library libstdc++"
	};

	return torture_main(&t, argc, argv);
}

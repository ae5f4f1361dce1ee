// SPDX-License-Identifier: MIT
//
// The workloads on Boost.Fiber: round robin on one thread, work stealing on
// more.
//
// Usage: boost-fiber [WORKLOAD [PROCS]]
//
// Every fiber has a stack of its own from malloc, so those workloads that
// keep many alive are smaller here: spawn makes 1,000,000 and lets them run
// every 256, skynet has 100,000 leaves (and says so in its name), parked
// parks 20,000. fib27_future runs a child at once, or there were too many.

#include "../peer.h"

#include <atomic>
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <thread>
#include <vector>

namespace bf = boost::fibers;
using boost::this_fiber::yield;
using int_channel = bf::unbuffered_channel<int>;

static void spawn(long n)
{
	std::atomic<long> left{0};
	double start = now_ns();

	for (long i = 0; i < n; i++) {
		left++;
		bf::fiber([&left] { left--; }).detach();
		if ((i & 255) == 255)
			yield();
	}
	while (left)
		yield();
	nsop("spawn", n, now_ns() - start);
}

static void yields(long n)
{
	std::vector<bf::fiber> fibers;
	double start = now_ns();

	for (int i = 0; i < 4; i++)
		fibers.emplace_back([n] {
			for (long k = 0; k < n / 4; k++)
				yield();
		});
	for (auto &f : fibers)
		f.join();
	nsop("yield", n, now_ns() - start);
}

static void pingpong(long n)
{
	int_channel ping, pong;
	int v;

	bf::fiber echo([&] {
		int x;
		while (ping.pop(x) == bf::channel_op_status::success)
			pong.push(x);
	});

	double start = now_ns();

	for (long i = 0; i < n; i++) {
		ping.push(i);
		pong.pop(v);
	}
	nsop("pingpong", n, now_ns() - start);
	ping.close();
	echo.join();
}

static long sky(long num, long size)
{
	if (size == 1)
		return num;

	std::vector<bf::future<long>> children;
	long sum = 0;

	for (int i = 0; i < 10; i++)
		children.emplace_back(bf::async(bf::launch::post, sky,
						num + i * (size / 10),
						size / 10));
	for (auto &c : children)
		sum += c.get();
	return sum;
}

static void skynet()
{
	double start = now_ns();

	if (sky(0, 100000) != 4999950000)
		abort();
	printf("%-16s %10.1f ms (100k leaves)\n", "skynet100k",
	       (now_ns() - start) / 1e6);
}

static long fib(long n)
{
	if (n < 2)
		return n;

	auto left = bf::async(bf::launch::dispatch, fib, n - 1);
	long right = fib(n - 2);

	return left.get() + right;
}

static void fib27()
{
	double start = now_ns();
	long r = fib(27);

	msec("fib27_future", now_ns() - start);
	expect("fib27_future", r, 196418);
}

static void spawnjoin(long n)
{
	double start = now_ns();

	for (long i = 0; i < n; i++)
		bf::fiber([] {}).join();
	nsop("spawnjoin_future", n, now_ns() - start);
}

static void parked(long n)
{
	long before = rss_bytes();
	std::vector<bf::fiber> fibers;
	int_channel gate;

	for (long i = 0; i < n; i++)
		fibers.emplace_back([&gate] {
			int x;
			gate.pop(x);
		});
	yield();
	printf("%-16s %10.1f bytes/g\n", "parked_mem",
	       (double)(rss_bytes() - before) / n);
	gate.close();
	for (auto &f : fibers)
		f.join();
}

static void run(const char *asked)
{
	if (wanted(asked, "spawn"))
		spawn(1000000);
	if (wanted(asked, "yield"))
		yields(8000000);
	if (wanted(asked, "pingpong"))
		pingpong(2000000);
	if (wanted(asked, "skynet"))
		skynet();
	if (wanted(asked, "fib_future"))
		fib27();
	if (wanted(asked, "spawnjoin_future"))
		spawnjoin(1000000);
	if (wanted(asked, "parked"))
		parked(20000);
}

// Joins this thread to the stealing; returns once all procs threads did.
static void steal_with(int procs)
{
	bf::use_scheduling_algorithm<bf::algo::work_stealing>(procs, true);
}

int main(int argc, char **argv)
{
	const char *asked = argc > 1 ? argv[1] : "all";
	int procs = argc > 2 ? atoi(argv[2]) : 1;
	std::vector<std::thread> threads;
	bf::condition_variable changed;
	bf::mutex lock;
	bool finished = false;

	if (!strcmp(asked, "version")) {
		printf("Boost.Fiber %d.%d\n", BOOST_VERSION / 100000,
		       BOOST_VERSION / 100 % 1000);
		return 0;
	}
	for (int i = 1; i < procs; i++)
		threads.emplace_back([&] {
			steal_with(procs);
			std::unique_lock<bf::mutex> held(lock);
			changed.wait(held, [&] { return finished; });
		});
	if (procs > 1)
		steal_with(procs);

	run(asked);

	{
		std::unique_lock<bf::mutex> held(lock);
		finished = true;
	}
	changed.notify_all();
	for (auto &t : threads)
		t.join();
}

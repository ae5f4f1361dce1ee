// SPDX-License-Identifier: MIT
//
// Fork and join by oneTBB: task groups, and a parallel reduction.
//
// Usage: tbb [WORKLOAD [PROCS]]
//
// A task is run to its end by the thread that takes it, on that thread's
// stack, and may wait only for tasks: these workloads are those of the others
// that need no more.

#include "../peer.h"

#include <functional>
#include <oneapi/tbb.h>
#include <unistd.h>

namespace tbb = oneapi::tbb;

static long fib(long n)
{
	if (n < 2)
		return n;

	long left, right;
	tbb::task_group group;

	group.run([&left, n] { left = fib(n - 1); });
	right = fib(n - 2);
	group.wait();
	return left + right;
}

static long sky(long num, long size)
{
	if (size == 1)
		return num;

	long part[10], sum = 0;
	tbb::task_group group;

	for (int i = 0; i < 10; i++)
		group.run([&part, i, num, size] {
			part[i] = sky(num + i * (size / 10), size / 10);
		});
	group.wait();
	for (long each : part)
		sum += each;
	return sum;
}

static void fib27()
{
	double start = now_ns();
	long r = fib(27);

	msec("fib27_future", now_ns() - start);
	expect("fib27_future", r, 196418);
}

static void skynet()
{
	double start = now_ns();
	long r = sky(0, 1000000);

	msec("skynet_future", now_ns() - start);
	expect("skynet_future", r, 499999500000);
}

static void spawnjoin(long n)
{
	double start = now_ns();
	long done = 0;

	for (long i = 0; i < n; i++) {
		tbb::task_group group;

		group.run([&done] { done++; });
		group.wait();
	}
	nsop("spawnjoin_future", n, now_ns() - start);
	expect("spawnjoin_future", done, n);
}

static void pfor(const int *v)
{
	using range = tbb::blocked_range<long>;
	double start = now_ns();
	long sum = tbb::parallel_reduce(
		range(0, PFOR_ELEMENTS), 0L,
		[v](const range &r, long part) {
			return part + pfor_sum(v, r.begin(), r.end());
		},
		std::plus<long>());

	msec("pfor", now_ns() - start);
	expect("pfor", sum, pfor_expected());
}

static void run(const char *asked)
{
	for (int i = 0; i < 3 && wanted(asked, "fib_future"); i++)
		fib27();
	for (int i = 0; i < 3 && wanted(asked, "skynet_future"); i++)
		skynet();
	if (wanted(asked, "spawnjoin_future"))
		spawnjoin(1000000);
	if (wanted(asked, "pfor")) {
		int *v = pfor_make();

		for (int i = 0; i < 3; i++)
			pfor(v);
		free(v);
	}
}

int main(int argc, char **argv)
{
	const char *asked = argc > 1 ? argv[1] : "all";
	int procs = argc > 2 ? atoi(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);

	if (!strcmp(asked, "version"))
		printf("oneTBB %s\n", TBB_VERSION_STRING);

	// Without the control there are no more threads than CPUs.
	tbb::global_control control(
		tbb::global_control::max_allowed_parallelism, procs);
	tbb::task_arena arena(procs);

	arena.execute([asked] { run(asked); });
}

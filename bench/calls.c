/* SPDX-License-Identifier: MIT */
/* System calls that are announced: what a short one costs, and long ones. */
#include "bench.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

static void *
read1(void *arg)
{
	const int *fd = arg;
	char c;

	return (void *)(intptr_t)read(*fd, &c, 1);
}

void
bench_syscall(void)
{
	const long n = 3000000;
	int fd = open("/dev/zero", O_RDONLY);
	long bytes = 0;
	double t = bench_now_ns();

	for (long i = 0; i < n; i++)
		bytes += (intptr_t)weft_blocking(read1, &fd);
	bench_ns_op("syscall_read1", n, bench_now_ns() - t);
	bench_check("syscall_read1", bytes, n);
	close(fd);
}

/* 5 ms; not NULL if it was cut short. */
static void *
nap(void *arg)
{
	struct timespec ts = { .tv_nsec = 5000000 };

	return nanosleep(&ts, NULL) ? arg : NULL;
}

static void
napper(long *cut_short, weft_waitgroup *wg)
{
	for (int i = 0; i < 20; i++)
		if (weft_blocking(nap, cut_short))
			__atomic_add_fetch(cut_short, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(wg);
}

void
bench_sysblock(void)
{
	enum { NAPPERS = 64 };
	weft_waitgroup wg = {0};
	long cut_short = 0;
	double t = bench_now_ns();

	weft_waitgroup_add(&wg, NAPPERS);
	for (int i = 0; i < NAPPERS; i++)
		weft_go(napper, &cut_short, &wg);
	weft_waitgroup_wait(&wg);
	bench_ms("sysblock64", bench_now_ns() - t);
	bench_check("sysblock64", cut_short, 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Timers start goroutines that need one and a half times the CPUs there are.
 * Other goroutines that compute must still have a share: those that yield
 * after each millisecond, and those that make no call at all.
 */
#include "fairness.h"

#include <unistd.h>

enum { LEAST_PERCENT = 20, HEAD_START_MS = 200 };

static long urgent_us, others_us, begun, ended, n_timers;
static int job_us = 1000;

/*
 * So much work, which counts from the first timer on; piece by piece, since
 * one that is preempted may never come to its end.
 */
static void
work(long *us, int most)
{
	for (int i = 0; i < most / 10 && going_on(); i++) {
		burn(10 * WEFT_US);
		if (get(&begun))
			__atomic_add_fetch(us, 10, __ATOMIC_RELAXED);
	}
}

static void
job(void *arg)
{
	(void)arg;
	__atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
	work(&urgent_us, job_us);
	if (going_on())
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void
yields(void)
{
	while (going_on()) {
		work(&others_us, 1000);
		weft_yield();
	}
}

static void
loops(void)
{
	while (going_on())
		work(&others_us, 1000);
}

/* CPUs that it can use at the same time. */
static int
usable(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	return weft_procs() < cpus ? weft_procs() : cpus;
}

/* One is due after 1/1.5 of its time for each CPU. */
static void
set_timers(double seconds)
{
	int64_t every = job_us * WEFT_US * 2 / 3 / usable();
	int64_t start = weft_deadline(HEAD_START_MS * WEFT_MS);
	int64_t end = start + (int64_t)(seconds * WEFT_SECOND);

	for (int64_t t = start; t < end; t += every, n_timers++)
		OK(weft_after_func(t - weft_now(), job, NULL) != NULL);
}

static void
beside_urgent(void (*fn)(void))
{
	double seconds = t_share(1), urgent, others, percent;

	calibrate();
	set_timers(seconds);
	for (int i = 0; i < 2 * weft_procs(); i++)
		weft_go(fn);
	run_for(seconds + HEAD_START_MS / 1e3);
	urgent = (double)get(&urgent_us);
	others = (double)get(&others_us);
	percent = 100 * others / (urgent + others);
	printf("# %d procs: urgent %.0f, others %.0f ms of work, %.0f percent "
	    "for others; %ld of %ld urgent ones ended\n", weft_procs(),
	    urgent / 1e3, others / 1e3, percent, get(&ended), n_timers);
	OK(percent >= LEAST_PERCENT && urgent > 0);
}

GTEST(yielders_on_1, 1) { beside_urgent(yields); }
GTEST(yielders_on_2, 2) { beside_urgent(yields); }
GTEST(yielders_on_8, 8) { beside_urgent(yields); }
GTEST(loops_on_1, 1) { beside_urgent(loops); }
GTEST(loops_on_2, 2) { beside_urgent(loops); }
GTEST(loops_on_8, 8) { beside_urgent(loops); }

/* So short that none of them is preempted. */
static void
beside_short_jobs(void)
{
	job_us = 300;
	beside_urgent(yields);
}

GTEST(short_jobs_on_1, 1) { beside_short_jobs(); }
GTEST(short_jobs_on_2, 2) { beside_short_jobs(); }

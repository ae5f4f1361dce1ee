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

/*
 * A millisecond of work, which counts from the first timer on; piece by piece,
 * since one that is preempted may never come to its end.
 */
static void
work(long *us)
{
	for (int i = 0; i < 100 && going_on(); i++) {
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
	work(&urgent_us);
	if (going_on())
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void
yields(void)
{
	while (going_on()) {
		work(&others_us);
		weft_yield();
	}
}

static void
loops(void)
{
	while (going_on())
		work(&others_us);
}

/* CPUs that it can use at the same time. */
static int
usable(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	return weft_procs() < cpus ? weft_procs() : cpus;
}

/* One of a millisecond is due every 1/1.5 ms for each CPU. */
static void
set_timers(double seconds)
{
	int n = usable();
	int64_t start = weft_deadline(HEAD_START_MS * WEFT_MS);
	int64_t end = start + (int64_t)(seconds * WEFT_SECOND);

	for (int64_t t = start; t < end; t += WEFT_MS * 2 / 3 / n, n_timers++)
		OK(weft_after_func(t - weft_now(), job, NULL) != NULL);
}

static void
beside_urgent(void (*fn)(void))
{
	double seconds = t_share(2), urgent, others, percent;

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

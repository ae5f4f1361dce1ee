/* SPDX-License-Identifier: MIT */
/*
 * What the tests of fair shares have in common: work of a known CPU time, a
 * clock that other programs on the machine do not touch, a run of some seconds
 * without a timer in the process (a timer makes its goroutine urgent), and two
 * goroutines that hand over to each other.
 *
 * Every test prints what it measured, as a comment of TAP.
 */
#ifndef SHARES_H
#define SHARES_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft.h>

#include "samples.h"
#include "t.h"

enum { HOLDERS_MAX = 64 };

static long shares_stop;
static int shares_procs;	/* as weft_procs(), also at the end */

static inline long
get(const long *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static inline bool
going_on(void)
{
	return !get(&shares_stop);
}

/* Sanitizers and emulators change what things cost: so much more is allowed. */
static inline double
allowed(double bound)
{
	return t_scale(100) < 100 ? bound * 4 : bound;
}

/* ---- CPU time ---- */

static inline int64_t
clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * WEFT_SECOND + ts.tv_nsec;
}

/*
 * Time as a processor sees it while all of them are busy: the CPU time of the
 * process, by their number. If others take the CPUs it stands still.
 */
static inline int64_t
proc_time(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) / shares_procs;
}

static double steps_per_ns;

__attribute__((__noinline__)) static void
take_steps(uint64_t n)
{
	uint64_t x = n | 1;

	while (n-- > 0) {
		x ^= x << 13;
		x ^= x >> 7;
		__asm__ volatile("" : "+r"(x));
	}
}

/*
 * The best of some tries: what disturbs one makes it slower. Before there are
 * other goroutines, so that all of a try is on one thread.
 */
static inline void
calibrate(void)
{
	const uint64_t steps = 200000;

	shares_procs = weft_procs();
	for (int i = 0; i < 50; i++) {
		int64_t ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		take_steps(steps);
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ns;
		if (ns > 0 && (double)steps / (double)ns > steps_per_ns)
			steps_per_ns = (double)steps / (double)ns;
	}
}

/* Computes for so long, on any number of threads, and makes no call. */
static inline void
burn(int64_t ns)
{
	take_steps((uint64_t)((double)ns * steps_per_ns));
}

/* ---- a run of some seconds ---- */

static weft_waitgroup run_over;

/*
 * Seconds of a processor, not of the wall: what the scheduler learns of its
 * goroutines takes some of their time, and on a busy machine a short run would
 * show little else. But not for ever.
 */
static inline void *
end_run(void *arg)
{
	double s = *(const double *)arg, limit = t_now() + 10 * s;
	struct timespec ts = { (time_t)s, (long)((s - (long)s) * 1e9) };
	int64_t end = proc_time() + (int64_t)(s * 1e9);

	nanosleep(&ts, NULL);
	ts = (struct timespec){ 0, 10 * WEFT_MS };
	while (proc_time() < end && t_now() < limit)
		nanosleep(&ts, NULL);
	__atomic_store_n(&shares_stop, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&run_over);
	return NULL;
}

/* Lets the goroutines run that were spawned, and tells them to stop. */
static inline void
run_for(double s)
{
	pthread_t t;

	if (!shares_procs)	/* not calibrated: no goroutine reads it */
		shares_procs = weft_procs();
	weft_waitgroup_add(&run_over, 1);
	OK(pthread_create(&t, NULL, end_run, &s) == 0);
	weft_waitgroup_wait(&run_over);
	pthread_join(t, NULL);
}

/* ---- two that hand over to each other ---- */

/* One of a pair: waits for its turn, works, passes the turn on. */
struct holder {
	weft_chan *in, *out;
	int64_t ns;		/* of work before it passes the turn on */
	long turns;		/* atomic */
	bool first;
};

static struct holder holders[HOLDERS_MAX];
static int n_holders;

static inline void
hold(struct holder *h)
{
	bool mine = h->first;

	for (;;) {
		if (!mine)
			weft_chan_recv(h->in, NULL);
		mine = false;
		burn(h->ns);
		__atomic_store_n(&h->turns, h->turns + 1, __ATOMIC_RELAXED);
		weft_chan_send(h->out, NULL);
	}
}

/* Their channels are unbuffered. They go on for ever. */
static inline void
pair_start(int64_t ns)
{
	weft_chan *a = weft_chan_make(0, 0), *b = weft_chan_make(0, 0);
	struct holder *h = &holders[n_holders];

	n_holders += 2;
	h[0] = (struct holder){ a, b, ns, 0, false };
	h[1] = (struct holder){ b, a, ns, 0, true };
	weft_go(hold, &h[0]);
	weft_go(hold, &h[1]);
}

/* Turns that all pairs with that work had. */
static inline long
pair_turns(int64_t ns)
{
	long sum = 0;

	for (int i = 0; i < n_holders; i++)
		if (holders[i].ns == ns)
			sum += get(&holders[i].turns);
	return sum;
}

/* ---- samples ---- */

enum { SAMPLES_MAX = 4096 };

struct samples {
	int64_t ns[SAMPLES_MAX];	/* atomic */
	long n;				/* atomic; may be more than there are */
};

static inline void
sample(struct samples *s, int64_t ns)
{
	long i = __atomic_fetch_add(&s->n, 1, __ATOMIC_RELAXED);

	if (i < SAMPLES_MAX)
		__atomic_store_n(&s->ns[i], ns, __ATOMIC_RELAXED);
}

/* The one at that part of them in milliseconds; 0 if there are none. */
static inline double
sample_ms(const struct samples *s, double part)
{
	static int64_t ns[SAMPLES_MAX];
	long n = get(&s->n), i;

	n = n < SAMPLES_MAX ? n : SAMPLES_MAX;
	for (i = 0; i < n; i++)
		ns[i] = __atomic_load_n(&s->ns[i], __ATOMIC_RELAXED);
	qsort(ns, (size_t)n, sizeof ns[0], ascending);
	i = (long)((double)n * part);
	return n ? (double)ns[i < n ? i : n - 1] / WEFT_MS : 0;
}

static inline void
print_waits(const struct samples *proc, const struct samples *wall)
{
	printf("# %d procs: %ld waits, median %.1f, p90 %.1f, longest %.1f ms;"
	    " by the wall's clock %.1f, %.1f, %.1f\n", weft_procs(),
	    get(&proc->n), sample_ms(proc, 0.5), sample_ms(proc, 0.9),
	    sample_ms(proc, 1), sample_ms(wall, 0.5), sample_ms(wall, 0.9),
	    sample_ms(wall, 1));
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Three goroutines on each processor's queue work some milliseconds each and
 * yield, and one that a plain thread wakes stands in the global queue. It must
 * have its turn after some of theirs, and not after some number of switches.
 *
 * What counts is that it is so nine times of ten. On a machine with other load
 * workers of 8 ms exceed their slice now and then and are preempted to the
 * global queue, which is then served sooner. Workers of 4 ms seldom do.
 */
#include "fairness.h"

enum { WORKERS = 3, MOST_MS = 100 };

static struct samples waits, wall;
static weft_chan *bell;
static int64_t rung_proc, rung_wall;
static long answered;

static void
worker(int64_t ns)
{
	while (going_on()) {
		burn(ns);
		weft_yield();
	}
}

static void
woken(void)
{
	while (going_on()) {
		weft_chan_recv(bell, NULL);
		sample(&waits, proc_time() - rung_proc);
		sample(&wall, weft_now() - rung_wall);
		__atomic_add_fetch(&answered, 1, __ATOMIC_RELEASE);
	}
}

static void
nap(long ms)
{
	struct timespec ts = { .tv_nsec = ms * WEFT_MS };

	nanosleep(&ts, NULL);
}

/* By then the waiter has parked again, or is about to. */
static void *
ring_bell(void *arg)
{
	for (long i = 0; going_on(); i++) {
		nap(1 + i % 9);
		rung_proc = proc_time();
		rung_wall = weft_now();
		weft_chan_send(bell, NULL);
		while (get(&answered) <= i && going_on())
			nap(1);
	}
	return arg;
}

static void
global_turn(int64_t ns)
{
	pthread_t t;

	calibrate();
	bell = weft_chan_make(0, 0);
	weft_go(woken);
	weft_yield();
	for (int i = 0; i < WORKERS * weft_procs(); i++)
		weft_go(worker, ns);
	OK(pthread_create(&t, NULL, ring_bell, NULL) == 0);
	pthread_detach(t);	/* it may be left waiting at the end */
	run_for(t_share(1.5));
	print_waits(&waits, &wall);
	OK(get(&waits.n) > 0 && sample_ms(&waits, 0.9) <= allowed(MOST_MS));
}

GTEST(workers_of_8_ms_on_1, 1) { global_turn(8 * WEFT_MS); }
GTEST(workers_of_8_ms_on_2, 2) { global_turn(8 * WEFT_MS); }
GTEST(workers_of_8_ms_on_8, 8) { global_turn(8 * WEFT_MS); }
GTEST(workers_of_4_ms_on_1, 1) { global_turn(4 * WEFT_MS); }

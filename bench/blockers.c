/* SPDX-License-Identifier: MIT */
/*
 * Calls that block their thread: 200 goroutines sleep in the kernel 50 times,
 * as a library does that waits for its server, and yield between two sleeps.
 * Unannounced, announced by weft_blocking, and as plain threads without a
 * runtime's help. There is no timer in the process: a goroutine that a timer
 * woke would be urgent, and the processors retaken sooner.
 *
 * With 5 ms a sleep the time of all is what counts, ideally 250 ms. With 50 us
 * it is how many calls return in a second. A call that a signal cuts short is
 * continued, as libraries do, and reported. A thread of weft has a timer slack
 * of a nanosecond and a plain one has 50 us: its short sleeps last twice as
 * long.
 */
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <weft.h>

enum { BLOCKERS = 200, TIMES = 50 };

struct block {
	struct timespec ts;
	long cut;		/* atomic: sleeps that a signal cut short */
	weft_waitgroup wg;
};

static void *
block_once(void *arg)
{
	struct block *b = arg;
	struct timespec left = b->ts;

	while (nanosleep(&left, &left) != 0)
		__atomic_add_fetch(&b->cut, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void
unannounced(struct block *b)
{
	for (int i = 0; i < TIMES; i++) {
		block_once(b);
		weft_yield();
	}
	weft_waitgroup_done(&b->wg);
}

static void
announced(struct block *b)
{
	for (int i = 0; i < TIMES; i++) {
		weft_blocking(block_once, b);
		weft_yield();
	}
	weft_waitgroup_done(&b->wg);
}

static void *
by_thread(void *arg)
{
	for (int i = 0; i < TIMES; i++) {
		block_once(arg);
		sched_yield();
	}
	return NULL;
}

static void
all_goroutines(struct block *b, void (*fn)(struct block *))
{
	weft_waitgroup_add(&b->wg, BLOCKERS);
	for (int i = 0; i < BLOCKERS; i++)
		weft_go(fn, b);
	weft_waitgroup_wait(&b->wg);
}

static void *
join_threads(void *arg)
{
	struct block *b = arg;
	pthread_t t[BLOCKERS];

	for (int i = 0; i < BLOCKERS; i++)
		bench_check("blockers: thread",
		    pthread_create(&t[i], NULL, by_thread, b), 0);
	for (int i = 0; i < BLOCKERS; i++)
		pthread_join(t[i], NULL);
	return NULL;
}

/* fn NULL: threads. Returns the nanoseconds that all took. */
static double
block_all(const char *name, long ns, void (*fn)(struct block *))
{
	struct block b = { .ts.tv_nsec = ns };
	int64_t before = weft_goroutines();
	double t = bench_now_ns();

	if (fn)
		all_goroutines(&b, fn);
	else
		weft_blocking(join_threads, &b);
	t = bench_now_ns() - t;
	if (b.cut)
		fprintf(stderr, "weft-bench: %s: a signal cut %ld of %d calls "
		    "short\n", name, b.cut, BLOCKERS * TIMES);
	bench_settle(before);
	return t;
}

static void
block_long(const char *name, void (*fn)(struct block *))
{
	bench_ms(name, block_all(name, 5000000, fn));
}

static void
block_short(const char *name, void (*fn)(struct block *))
{
	bench_value(name, BLOCKERS * TIMES * 1e9 / block_all(name, 50000, fn),
	    "calls/s");
}

void bench_blockers(void) { block_long("blockers", unannounced); }
void
bench_blockers_announced(void)
{
	block_long("blockers_announced", announced);
}
void bench_blockers_pthread(void) { block_long("blockers_pthread", NULL); }

void
bench_blockers_short(void)
{
	block_short("blockers_short", unannounced);
	block_short("blockers_short_announced", announced);
	block_short("blockers_short_pthread", NULL);
}

/* SPDX-License-Identifier: MIT */
/* How long goroutines are runnable: the buckets, and what is counted. */
#include "latency.h"

#include <weft.h>

#include "run_env.h"
#include "t.h"

/* Main keeps the only P as long as it wants to. */
NO_PREEMPTION

TEST(buckets)
{
	EQ(latency_bucket(0), 0);
	EQ(latency_bucket(-5), 0);
	EQ(latency_bucket(127), 0);
	EQ(latency_bucket(128), 1);
	EQ(latency_bucket(159), 1);
	EQ(latency_bucket(160), 2);
	EQ(latency_bucket(255), 4);
	EQ(latency_bucket(256), 5);
	EQ(latency_bucket(INT64_MAX), LATENCY_BUCKETS - 1);
}

/* Each time is in the bucket whose bounds it lies between. */
TEST(bounds)
{
	int64_t from = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		int64_t bound = latency_bound_ns(i);

		OK(bound > from);
		EQ(latency_bucket(from), i);
		EQ(latency_bucket(bound - 1), i);
		from = bound;
	}
	EQ(from, INT64_MAX);
	EQ(latency_bound_ns(0), 128);
	EQ(latency_bound_ns(LATENCY_BUCKETS), INT64_MAX);
}

static uint64_t
counted(void)
{
	struct latency l;
	uint64_t n = 0;

	latency_read(&l);
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		n += l.buckets[i];
	return n;
}

/* What is counted so far of those that took at least that long. */
static uint64_t
counted_from(int64_t ns)
{
	struct latency l;
	uint64_t n = 0;

	latency_read(&l);
	for (uint32_t i = latency_bucket(ns); i < LATENCY_BUCKETS; i++)
		n += l.buckets[i];
	return n;
}

static void
answer(weft_chan *in, weft_chan *out)
{
	int v;

	while (weft_chan_recv(in, &v))
		weft_chan_send(out, &v);
}

/* n round trips between two goroutines. */
static void
ping(int n)
{
	weft_chan *in = weft_chan_of(int, 0);
	weft_chan *out = weft_chan_of(int, 0);

	weft_go(answer, in, out);
	for (int i = 0; i < n; i++) {
		weft_chan_send(in, &i);
		weft_chan_recv(out, &i);
	}
	weft_chan_close(in);
}

/* The counts estimate how often goroutines were woken. */
GTEST(woken_goroutines_are_counted, 1)
{
	long n = t_scale(200000);
	uint64_t before = counted(), now;

	ping((int)n);
	now = counted() - before;
	OK(now > 0);
	OK(now <= (uint64_t)n * 8 + 100000);
}

static void nothing(void) {}

GTEST(newborns_are_counted, 1)
{
	uint64_t before = counted();

	for (int i = 0; i < t_scale(20000); i++) {
		weft_go(nothing);
		weft_yield();
	}
	OK(counted() > before);
}

static weft_waitgroup gate, all;

static void
pass_gate(void)
{
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

/*
 * Goroutines that become runnable while main keeps the only P wait that long.
 * A thousand are woken at once, some of them timed.
 */
static void
burst(int64_t ns)
{
	int64_t end;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 1000);
	for (int i = 0; i < 1000; i++)
		weft_go(pass_gate);
	weft_sleep(WEFT_MS);
	weft_waitgroup_done(&gate);
	for (end = weft_now() + ns; weft_now() < end; )
		;
	weft_waitgroup_wait(&all);
}

GTEST(a_long_wait_is_seen, 1)
{
	uint64_t before = counted_from(5 * WEFT_MS);

	for (int i = 0; i < 100 && counted_from(5 * WEFT_MS) == before; i++)
		burst(6 * WEFT_MS);
	OK(counted_from(5 * WEFT_MS) > before);
}

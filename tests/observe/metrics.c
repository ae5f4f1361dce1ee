/* SPDX-License-Identifier: MIT */
/*
 * weft_metrics and weft_goroutine_counts. On one processor nothing else runs
 * while main reads them, so the numbers are exact.
 */
#include <stdio.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

enum { N = 20 };

static weft_waitgroup gate, all;
static long started;

NO_PREEMPTION

static void
pass_gate(void)
{
	bump(&started);
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

static void nothing(void) { weft_waitgroup_done(&all); }

static weft_metrics
read_all(void)
{
	weft_metrics m;

	weft_metrics_read(&m, sizeof m);
	return m;
}

static weft_goroutine_counts
count_all(void)
{
	weft_goroutine_counts c;

	weft_goroutine_counts_read(&c, sizeof c);
	return c;
}

/* The number of a reason, or -1. */
static int
reason(const char *name)
{
	const char *s;

	for (int i = 0; (s = weft_wait_reason_name(i)); i++)
		if (strcmp(s, name) == 0)
			return i;
	return -1;
}

static void
close_gate(int n)
{
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(pass_gate);
	while (get(&started) < n)
		weft_yield();
}

static void
open_gate(void)
{
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

GTEST(goroutines_by_state, 1)
{
	weft_metrics m;
	weft_goroutine_counts c;

#ifdef WEFT_HARD
	t_skip("a spawn may let others run first");
#endif
	close_gate(N);
	/* Nor does main yield in weft_go, once its slice is over. */
	weft_preempt_off();
	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(nothing);
	m = read_all();
	EQ(m.goroutines, N + 4);
	EQ(m.running, 1);
	EQ(m.runnable, 3);
	EQ(m.waiting, N);
	EQ(m.in_call, 0);
	EQ(m.queue_global + m.queue_local, 3);
	OK(m.queue_longest <= 3);
	c = count_all();
	EQ(c.running, 1);
	EQ(c.runnable, 3);
	EQ(c.not_started, 3);
	EQ(c.waiting, N);
	EQ(c.waiting_for[reason("waitgroup wait")], N);
	EQ(c.waiting_for[reason("sleep")], 0);
	EQ(c.paused + c.in_call, 0);
	weft_preempt_on();
	open_gate();
	EQ(read_all().goroutines, 1);
}

GTEST(the_same_as_the_stats, 1)
{
	weft_metrics m;
	weft_stats s;

	close_gate(N);
	weft_stats_read(&s, sizeof s);
	m = read_all();
	EQ(m.spawned, s.spawned);
	EQ(m.ended, s.ended);
	EQ(m.switches, s.switches);
	EQ(m.parks, s.parks);
	EQ(m.yields, s.yields);
	EQ(m.procs, 1);
	OK(m.threads >= 1 && m.threads_idle < m.threads);
	OK(m.stacks >= N + 1);
	OK(m.stack_bytes > m.stacks * 16384);
	OK(m.record_bytes >= (N + 1) * 256);
	OK(m.time <= weft_now() && m.time > 0);
	open_gate();
}

static void
in_call(long *stop)
{
	weft_blocking_enter();
	bump(&started);
	compute(stop);
	weft_blocking_leave();
	weft_waitgroup_done(&all);
}

/* While its P is being retaken it may be counted elsewhere. */
static void
await_in_call(void)
{
	while (read_all().in_call != 1)
		weft_sleep(WEFT_MS);
}

/* With a P or without, after a while. */
GTEST(in_a_call, 2)
{
	static long stop;

	weft_waitgroup_add(&all, 1);
	weft_go(in_call, &stop);
	await(&started, 1);
	await_in_call();
	EQ(count_all().in_call, 1);
	weft_sleep(50 * WEFT_MS);
	await_in_call();
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(read_all().in_call, 0);
}

static void
read_plainly(void)
{
	weft_metrics m = read_all();

	OK(m.goroutines >= 1);
	EQ(count_all().running + count_all().waiting >= 1, 1);
}

PLAIN_THREAD(plain, read_plainly())

GTEST(from_a_plain_thread, 2)
{
	thread_run(plain, NULL);
}

TEST(without_a_runtime)
{
	weft_metrics m = read_all();
	weft_goroutine_counts c = count_all();

	EQ(m.goroutines, 0);
	EQ(m.spawned, 0);
	EQ(m.procs, 0);
	EQ(c.waiting + c.running + c.runnable, 0);
}

/* Callers of another size: no more is written; what is unknown is 0. */
TEST(other_sizes)
{
	struct { weft_metrics m; char more[64]; } big;
	char small[24];

	memset(&big, 'x', sizeof big);
	weft_metrics_read(&big.m, sizeof big);
	EQ(big.more[0], 0);
	EQ(big.more[63], 0);
	memset(small, 'x', sizeof small);
	weft_metrics_read((weft_metrics *)(void *)small, 8);
	EQ(small[8], 'x');
}

TEST(names_of_reasons)
{
	OK(!weft_wait_reason_name(-1));
	OK(!weft_wait_reason_name(WEFT_WAIT_REASONS_MAX));
	OK(reason("sleep") > 0 && reason("channel send") > 0);
}

/* ---- the histogram ---- */

TEST(bounds_grow)
{
	int64_t last = 0;
	int i = 0;

	EQ(weft_latency_bound(-1), 0);
	for (; weft_latency_bound(i) != INT64_MAX; i++) {
		OK(weft_latency_bound(i) > last);
		last = weft_latency_bound(i);
	}
	OK(i < WEFT_LATENCY_BUCKETS);
	OK(last > 100 * WEFT_SECOND);
	EQ(weft_latency_bound(WEFT_LATENCY_BUCKETS), INT64_MAX);
}

TEST(quantiles)
{
	static weft_metrics a, b;

	EQ(weft_latency_quantile(&a, NULL, 0.5), 0);
	a.latency[3] = 90;
	a.latency[10] = 10;
	EQ(weft_latency_quantile(&a, NULL, 0.5), weft_latency_bound(3));
	EQ(weft_latency_quantile(&a, NULL, 0.9), weft_latency_bound(3));
	EQ(weft_latency_quantile(&a, NULL, 0.91), weft_latency_bound(10));
	EQ(weft_latency_quantile(&a, NULL, 1), weft_latency_bound(10));
	EQ(weft_latency_quantile(&a, NULL, 0), weft_latency_bound(3));
	b.latency[3] = 90;
	EQ(weft_latency_quantile(&a, &b, 0.5), weft_latency_bound(10));
	EQ(weft_latency_quantile(&b, &b, 0.5), 0);
}

static void
answer(weft_chan *in, weft_chan *out)
{
	int v;

	while (weft_chan_recv(in, &v))
		weft_chan_send(out, &v);
	weft_waitgroup_done(&all);
}

GTEST(latency_is_counted, 2)
{
	weft_chan *in = weft_chan_of(int, 0), *out = weft_chan_of(int, 0);
	weft_metrics before = read_all(), now;

	weft_waitgroup_add(&all, 1);
	weft_go(answer, in, out);
	for (int i = 0; i < 20000; i++) {
		weft_chan_send(in, &i);
		weft_chan_recv(out, &i);
	}
	weft_chan_close(in);
	weft_waitgroup_wait(&all);
	now = read_all();
	OK(weft_latency_quantile(&now, &before, 0.5) > 0);
	OK(now.latency_sum > before.latency_sum);
	weft_chan_release(in);
	weft_chan_release(out);
}

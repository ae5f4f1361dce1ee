/* SPDX-License-Identifier: MIT */
/*
 * weft_goroutines and the statistics. On one processor nothing else runs while
 * main reads them, so the numbers are exact.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

enum { N = 20 };

/* On a busy machine the slice of one that computes for a moment is over. */
NO_PREEMPTION

static weft_waitgroup gate, all;
static int started;

/* What happened since the one before. */
static weft_stats
since(const weft_stats *before)
{
	weft_stats now;

	weft_stats_read(&now, sizeof now);
	now.spawned -= before->spawned;
	now.ended -= before->ended;
	now.switches -= before->switches;
	now.parks -= before->parks;
	now.yields -= before->yields;
	return now;
}

static void
pass_gate(void)
{
	started++;
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

/* N goroutines that wait at the gate. */
static void
start_waiting(void)
{
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, N);
	for (int i = 0; i < N; i++)
		OK(weft_try_go(pass_gate) > 0);
	while (started < N)
		weft_yield();
}

GTEST(count, 1)
{
	EQ(weft_goroutines(), 1);
	start_waiting();
	EQ(weft_goroutines(), N + 1);
	weft_waitgroup_done(&gate);
	EQ(weft_goroutines(), N + 1);
	weft_waitgroup_wait(&all);
	EQ(weft_goroutines(), 1);
}

GTEST(spawn_and_park, 1)
{
	weft_stats s, before;

	weft_stats_read(&before, sizeof before);
	EQ(before.spawned, 1);
	EQ(before.ended, 0);
	start_waiting();
	s = since(&before);
	EQ(s.spawned, N);
	EQ(s.ended, 0);
	EQ(s.parks, N);
	OK(s.switches >= N + 1);
	OK(s.yields >= 1);
}

/* From the opened gate on: main waits once, each of them runs once. */
GTEST(switch_and_end, 1)
{
	weft_stats s, before;

	start_waiting();
	weft_stats_read(&before, sizeof before);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	s = since(&before);
	EQ(s.spawned, 0);
	EQ(s.ended, N);
	EQ(s.parks, 1);
	EQ(s.switches, N + 1);
	EQ(s.yields, 0);
}

static bool stop;

static void
yield_until_stop(void)
{
	while (!stop)
		weft_yield();
	weft_waitgroup_done(&all);
}

/* Two that take turns yield equally often; each yield is a switch. */
GTEST(yields, 1)
{
	weft_stats s, before;

	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(yield_until_stop) > 0);
	weft_yield();
	weft_stats_read(&before, sizeof before);
	for (int i = 0; i < 100; i++)
		weft_yield();
	s = since(&before);
	EQ(s.yields, 200);
	EQ(s.switches, 200);
	EQ(s.parks, 0);
	stop = true;
	weft_waitgroup_wait(&all);
}

GTEST(one_processor_alone, 1)
{
	weft_stats s;

	start_waiting();
	weft_stats_read(&s, sizeof s);
	EQ(s.procs, 1);
	EQ(s.threads, 1);
	EQ(s.threads_idle, 0);
	EQ(s.steals, 0);
	EQ(s.stolen, 0);
	EQ(s.overflows, 0);
}

static void finish(void) { weft_waitgroup_done(&all); }

static void *
spawn_plainly(void *arg)
{
	(void)arg;
	for (int i = 0; i < N; i++)
		OK(weft_try_go(pass_gate) > 0);
	return NULL;
}

/* They may run while main waits for the thread, and loses its processor. */
GTEST(spawned_by_a_thread, 1)
{
	weft_stats s, before;

	weft_stats_read(&before, sizeof before);
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, N);
	thread_run(spawn_plainly, NULL);
	EQ(weft_goroutines(), N + 1);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	s = since(&before);
	EQ(s.spawned, N);
	EQ(s.ended, N);
	EQ(weft_goroutines(), 1);
}

/* ---- one by one ---- */

static void
come_and_go(int n)
{
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(finish) > 0);
	weft_waitgroup_wait(&all);
	while (weft_goroutines() > 1)
		weft_yield();
}

/* No processor spawned main: the thread in weft_run did. */
GTEST(each_processor, 4)
{
	weft_stats sum = {0}, s, total;
	int n = (int)t_scale(5000);

	come_and_go(n);
	weft_stats_read(&total, sizeof total);
	for (int i = 0; i < 4; i++) {
		EQ(weft_stats_read_proc(i, &s, sizeof s), 0);
		sum.spawned += s.spawned;
		sum.ended += s.ended;
		sum.steals += s.steals;
		sum.stolen += s.stolen;
	}
	EQ(total.procs, 4);
	EQ(total.spawned, n + 1);
	EQ(total.ended, n);
	EQ(sum.spawned, n);
	EQ(sum.ended, n);
	OK(sum.stolen >= sum.steals);
	OK(total.threads >= 1 && total.threads <= 5);
	OK(total.threads_idle < total.threads);
}

GTEST(bad_processor, 2)
{
	weft_stats s;

	EQ(weft_stats_read_proc(-1, &s, sizeof s), -EINVAL);
	EQ(weft_stats_read_proc(2, &s, sizeof s), -EINVAL);
	EQ(weft_stats_read_proc(INT32_MAX, &s, sizeof s), -EINVAL);
	EQ(weft_stats_read_proc(INT32_MIN, &s, sizeof s), -EINVAL);
	EQ(weft_stats_read_proc(1, &s, sizeof s), 0);
	EQ(weft_set_procs(1), 2);
	EQ(weft_stats_read_proc(1, &s, sizeof s), -EINVAL);
}

/* What was counted on a processor that is no longer in use is kept. */
GTEST(shrinking_keeps_counts, 8)
{
	weft_stats before, after;
	int n = (int)t_scale(5000);

	come_and_go(n);
	weft_stats_read(&before, sizeof before);
	EQ(weft_set_procs(1), 8);
	weft_stats_read(&after, sizeof after);
	EQ(after.spawned, before.spawned);
	EQ(after.ended, before.ended);
	EQ(after.procs, 1);
	EQ(weft_goroutines(), 1);
}

/* SPDX-License-Identifier: MIT */
/* Goroutines that begin at a time. */
#include <string.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_waitgroup all;
static long begun;

static void
on_time(int64_t when)
{
	OK(weft_now() >= when);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

static void
times(void)
{
	enum { N = 300 };
	int64_t now = weft_now();

	begun = 0;
	weft_waitgroup_add(&all, 2 * N);
	for (int i = 0; i < N; i++) {
		int64_t ns = (i * 37 % 100) * 50 * WEFT_US;

		OK(weft_go_at(now + ns, on_time, now + ns) > 0);
		OK(weft_go_after(ns, on_time, now + ns) > 0);
	}
	weft_waitgroup_wait(&all);
	EQ(begun, 2 * N);
}

ON_ALL(times)

GTEST(times_that_have_passed, 1)
{
	weft_waitgroup_add(&all, 6);
	OK(weft_go_at(0, on_time, 0) > 0);
	OK(weft_go_at(-1, on_time, 0) > 0);
	OK(weft_go_at(INT64_MIN, on_time, 0) > 0);
	OK(weft_go_at(weft_now(), on_time, 0) > 0);
	OK(weft_go_after(0, on_time, 0) > 0);
	OK(weft_go_after(INT64_MIN, on_time, 0) > 0);
	weft_waitgroup_wait(&all);
}

/* In the order of their times. */
static int order[8], n_order;

static void
note(int i)
{
	order[n_order++] = i;
	weft_waitgroup_done(&all);
}

/*
 * Sets them, and returns when all are due, so that they are found together.
 * False: it took so long that some may have begun before the last was set.
 */
static bool
set_eight(void)
{
	int64_t start = weft_deadline(5 * WEFT_MS);
	bool in_time;

	n_order = 0;
	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		OK(weft_go_at(start + i * 3 % 8 * WEFT_US, note, i * 3 % 8)
		    > 0);
	in_time = weft_now() < start;
	while (weft_now() < start + 8 * WEFT_US)
		;
	return in_time;
}

GTEST(in_order, 1)
{
	bool in_time;

	do {
		in_time = set_eight();
		weft_waitgroup_wait(&all);
	} while (!in_time);
	for (int i = 0; i < 8; i++)
		EQ(order[i], i);
}

static void
wrong(void)
{
	OK(!"begun");
}

/* Alone, it is no deadlock: its time comes. */
GTEST(while_all_others_wait, 1)
{
	weft_chan *c = weft_chan_of(int64_t, 0);

	OK(weft_go_at(WEFT_NEVER, wrong) > 0);
	OK(weft_go_after(INT64_MAX, wrong) > 0);
	OK(weft_go_after(20 * WEFT_MS, weft_chan_close, c) > 0);
	OK(!weft_chan_recv(c, NULL));
	weft_chan_release(c);
}

DIES(at_no_time, 1, "all goroutines are asleep")
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
	OK(weft_go_at(WEFT_NEVER, wrong) > 0);
	weft_recv(weft_chan_of(int, 0), int);
}

DIES(listed, 1, "[waiting: sleep, not started]: wrong, spawned at")
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
	OK(weft_go_at(WEFT_NEVER, wrong) > 0);
	weft_recv(weft_chan_of(int, 0), int);
}

static void
named(double d, float f)
{
	OK(!strcmp(weft_self_name(), "late"));
	OK(d + f == 4.0);
	weft_waitgroup_done(&all);
}

GTEST(arguments, 2)
{
	weft_waitgroup_add(&all, 2);
	OK(weft_go_after_opt(WEFT_OPT(.name = "late", .stack = 1 << 20),
	    WEFT_MS, named, 1.5, 2.5f) > 0);
	OK(weft_go_at_opt(WEFT_OPT(.name = "late"), weft_deadline(WEFT_MS),
	    named, 1.5, 2.5f) > 0);
	EQ(weft_go_after_opt(WEFT_OPT(.stack = SIZE_MAX), WEFT_MS, named, 1,
	    2), -EINVAL);
	weft_waitgroup_wait(&all);
}

PLAIN_THREAD(spawn_there, (void)weft_go_after(WEFT_MS, on_time, 0))

GTEST(from_a_plain_thread, 1)
{
	weft_waitgroup_add(&all, 1);
	thread_run_blocking(spawn_there, NULL);
	weft_waitgroup_wait(&all);
}

/* The procs go away whose timers they are. */
GTEST(with_fewer_procs, 4)
{
	weft_waitgroup_add(&all, 200);
	for (int i = 0; i < 200; i++) {
		int64_t when = weft_deadline(i % 10 * WEFT_MS);

		OK(weft_go_at(when, on_time, when) > 0);
		if (i % 20 == 0)
			weft_set_procs(1 + i / 20 % 4);
	}
	weft_waitgroup_wait(&all);
}

static int
leaves(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int i = 0; i < 100; i++)
		OK(weft_go_after(60 * WEFT_SECOND, wrong) > 0);
	return 3;
}

TEST(left_at_the_end)
{
	EQ(weft_go_after(0, wrong), -EPERM);
	EQ(weft_run(leaves, 0, NULL), 3);
	EQ(weft_go_after(0, wrong), -EPERM);
}

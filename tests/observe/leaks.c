/* SPDX-License-Identifier: MIT */
/*
 * For how long goroutines wait, those that are blocked for long, and those
 * that a test has left. When a wait is first seen is up to the runtime, so
 * only that it is seen, and never too long ago, can be tested.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

#include "died.h"
#include "dumped.h"
#include "t.h"

static weft_waitgroup gate, all;

static void
stuck(void)
{
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

static void
busy(void)
{
	while (!weft_waitgroup_wait_until(&gate, weft_deadline(WEFT_MS)))
		;
	weft_waitgroup_done(&all);
}

/* A macro: a goroutine is known by the name of its function. */
#define START(fn, n) do {						\
	weft_waitgroup_add(&all, n);					\
	for (int i_ = 0; i_ < (n); i_++)				\
		weft_go(fn);						\
	} while (0)

/* Those that wait without end are found, those that come and go are not. */
GTEST(blocked_for_long, 2)
{
	double limit = t_now() + 30;
	int64_t n, most = 0;

	weft_waitgroup_add(&gate, 1);
	START(stuck, 5);
	START(busy, 3);
	while ((n = weft_leaks(500 * WEFT_MS, -1)) < 5 && t_now() < limit)
		weft_sleep(20 * WEFT_MS);
	EQ(n, 5);
	for (int i = 0; i < 20; i++) {
		n = weft_leaks(500 * WEFT_MS, -1);
		most = n > most ? n : most;
		weft_sleep(WEFT_MS);
	}
	EQ(most, 5);
	EQ(weft_leaks(3600 * 1000 * WEFT_MS, -1), 0);
	OK(weft_leaks(0, -1) >= 5);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	EQ(weft_leaks(0, -1), 0);
}

/* A wait that is over does not count for the next one. */
GTEST(no_wait_is_too_long, 2)
{
	double begun;

	weft_waitgroup_add(&gate, 1);
	START(busy, 20);
	begun = t_now();
	while (t_more(2)) {
		int64_t lived = (int64_t)((t_now() - begun) * 1e9);

		EQ(weft_leaks(lived + 1000 * WEFT_MS, -1), 0);
		EQ(weft_leaks(900 * WEFT_MS, -1), 0);
		weft_sleep(5 * WEFT_MS);
	}
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

static void
nothing_runs(void)
{
	double limit = t_now() + 30;
	weft_dump_options o = { .min_wait = 1 };
	char *text;

	while (weft_leaks(1000 * WEFT_MS, -1) < 3 && t_now() < limit)
		weft_sleep(500 * WEFT_MS);
	text = dumped(&o);
	OK(strstr(text, "3 goroutines [waiting: waitgroup wait, "));
	OK(strstr(text, " s]: stuck"));
	free(text);
}

/* The monitor sleeps, too: it has marked them before. */
GTEST(in_an_idle_program, 2)
{
	weft_waitgroup_add(&gate, 1);
	START(stuck, 3);
	nothing_runs();
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

GTEST(errors, 1)
{
	weft_waitgroup_add(&gate, 1);
	START(stuck, 1);
	weft_yield();
	EQ(weft_leaks(0, 1000000), -EBADF);
	EQ(weft_leak_end(NULL, 0, -1), -ENOMEM);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

/* ---- in tests ---- */

static void ends(void) { weft_sleep(2 * WEFT_MS); }

GTEST(none_left, 2)
{
	weft_leak_mark *m;

	weft_waitgroup_add(&gate, 1);
	START(stuck, 10);
	m = weft_leak_begin();
	for (int i = 0; i < 10; i++)
		weft_go(ends);
	EQ(weft_leak_end(m, INT64_C(30000) * WEFT_MS, 2), 0);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

GTEST(some_left, 2)
{
	weft_leak_mark *m;
	char text[4096] = "";
	FILE *f = tmpfile();

	weft_waitgroup_add(&gate, 1);
	START(stuck, 10);
	m = weft_leak_begin();
	START(stuck, 3);
	for (int i = 0; i < 10; i++)
		weft_go(ends);
	while (weft_goroutines() > 14 || weft_leaks(0, -1) < 13)
		weft_yield();
	EQ(weft_leak_end(m, 50 * WEFT_MS, fileno(f)), 3);
	rewind(f);
	OK(fread(text, 1, sizeof text - 1, f) > 0);
	OK(strstr(text, "3 goroutines [waiting: waitgroup wait"));
	OK(strstr(text, ": stuck, spawned at " __FILE__));
	fclose(f);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

/* Goroutines that replace others have their own ids. */
GTEST(records_are_reused, 1)
{
	weft_leak_mark *m;

	for (int i = 0; i < 100; i++)
		weft_go(ends);
	while (weft_goroutines() > 1)
		weft_sleep(WEFT_MS);
	m = weft_leak_begin();
	weft_waitgroup_add(&gate, 1);
	START(stuck, 100);
	EQ(weft_leak_end(m, 0, -1), 100);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

/* ---- at the end ---- */

static void
leaves_two(void)
{
	weft_waitgroup_add(&gate, 1);
	START(stuck, 2);
	while (weft_leaks(0, -1) < 2)
		weft_yield();
}

TEST(told_at_the_end)
{
	setenv("WEFT_DEBUG", "leaks=1", 1);
	EQ(died(leaves_two, false), 0);
	SAID("weft: 2 goroutines still wait when the main goroutine has "
	    "returned:\n2 goroutines [waiting: waitgroup wait");
}

TEST(silent_at_the_end)
{
	EQ(died(leaves_two, false), 0);
	EQ(died_text[0], 0);
}

static long over;

/* In a call for half of the time, and waiting for the rest. */
static void
flips(unsigned seed)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		weft_blocking_enter();
		usleep((useconds_t)rand_r(&seed) % 2000);
		weft_blocking_leave();
		weft_sleep(rand_r(&seed) % 2000 * 1000);
	}
	weft_waitgroup_done(&all);
}

/* Others that begin to wait while stacks are taken are no reason to forget any
 * that waits. */
GTEST(none_is_lost_beside_many_calls, 2)
{
	int n = (int)t_scale(400);

	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < n; i++) {
		START(stuck, 1);
		weft_waitgroup_add(&all, 1);
		weft_go(flips, (unsigned)i);
	}
	while (weft_leaks(300 * WEFT_MS, -1) < n)
		weft_sleep(10 * WEFT_MS);
	while (t_more(2))
		OK(weft_leaks(300 * WEFT_MS, -1) >= n);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

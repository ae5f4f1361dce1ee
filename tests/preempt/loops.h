/* SPDX-License-Identifier: MIT */
/*
 * The programs that a scheduler without preemption hangs on. Included twice:
 * by a program whose code may be interrupted anywhere, and by one with a
 * thread-local variable, whose code must stay on its thread.
 */
#ifndef ENDLESS_H
#define ENDLESS_H

#include "run_env.h"

enum { LOOPS = 8 };

static long turns[LOOPS], ticks;

__attribute__((__noinline__)) static long
fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void
empty_loop(void)
{
	for (;;)
		;
}

static void
fib_loop(int nr)
{
	for (;;)
		if (fib(15) == 610)
			bump(&turns[nr]);
}

/* ---- one that does nothing, for ever ---- */

static void
main_goes_on(void)
{
	weft_go(empty_loop);
	for (int i = 0; i < 20; i++)
		weft_yield();
	weft_sleep(WEFT_MS);
}

TEST(empty_loop_does_not_stop_main) { run_env(1, NULL, main_goes_on); }
ETEST(empty_loop_without_signals, 1, "WEFT_PREEMPT_SIGNAL=-1")
{
	main_goes_on();
}
ETEST(empty_loop_short_slice, 1, "WEFT_SLICE_US=200") { main_goes_on(); }

/* ---- two that compute, on one processor ---- */

static void
both_advance(void)
{
	weft_go(fib_loop, 0);
	weft_go(fib_loop, 1);
	for (int i = 0; i < 5; i++) {
		long a = get(&turns[0]), b = get(&turns[1]);

		while (get(&turns[0]) == a || get(&turns[1]) == b)
			weft_yield();
	}
}

TEST(two_fibonacci_loops) { run_env(1, NULL, both_advance); }
ETEST(two_fibonacci_loops_without_signals, 1, "WEFT_PREEMPT_SIGNAL=-1")
{
	both_advance();
}
ETEST(two_fibonacci_loops_migrating, 1, "WEFT_MIGRATE=1") { both_advance(); }

/* ---- more than there are processors, and a ticker ---- */

static void
tick(void)
{
	weft_timer *t = weft_ticker_make(2 * WEFT_MS);

	for (int i = 0; i < 20; i++) {
		OK(weft_recv(weft_timer_chan(t), int64_t) > 0);
		bump(&ticks);
	}
	weft_timer_free(t);
}

static void
ticker_ticks(void)
{
	for (int i = 0; i < LOOPS; i++)
		weft_go(fib_loop, i);
	weft_go(tick);
	await(&ticks, 20);
	for (int i = 0; i < LOOPS; i++)
		await(&turns[i], 1);
}

TEST(loops_and_a_ticker) { run_env(2, NULL, ticker_ticks); }
TEST(loops_and_a_ticker_on_one) { run_env(1, NULL, ticker_ticks); }
TEST(loops_and_a_ticker_without_signals)
{
	run_env(2, "WEFT_PREEMPT_SIGNAL=-1", ticker_ticks);
}

/* ---- a checkpoint is all it takes ---- */

static void
polite(int nr)
{
	for (;;) {
		bump(&turns[nr]);
		weft_checkpoint();
	}
}

static void
checkpoints_are_enough(void)
{
	weft_preempt_stats s;

	weft_go(polite, 0);
	weft_go(polite, 1);
	for (int i = 0; i < 5; i++)
		weft_sleep(5 * WEFT_MS);
	s = stalls_now();
	OK(get(&turns[0]) > 0 && get(&turns[1]) > 0);
	OK(s.asked > 0);
}

TEST(loops_with_checkpoints) { run_env(1, NULL, checkpoints_are_enough); }

#endif

/* SPDX-License-Identifier: MIT */
/* weft_preempt_off and _on. */
#include "run_env.h"

static weft_waitgroup all;
static long stop, others;

/* On a loaded machine it may be interrupted too, and is not what we look at. */
static void
goes_round(void)
{
	weft_preempt_off();
	while (!get(&stop)) {
		bump(&others);
		weft_yield();
	}
	weft_preempt_on();
	weft_waitgroup_done(&all);
}

/* Computes until the others had that many turns. */
static void
compute_while(long turns)
{
	long goal = get(&others) + turns;

	while (get(&others) < goal)
		;
}

static void
start_other(void)
{
	weft_waitgroup_add(&all, 1);
	weft_go(goes_round);
}

static void
end_other(void)
{
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* On one processor: they get turns because that is taken. */
GTEST(never_by_a_signal, 1)
{
	weft_preempt_stats s;

	weft_preempt_off();
	weft_preempt_off();
	start_other();
	for (int i = 0; i < 5; i++) {
		compute_while(10);
		weft_yield();
	}
	weft_preempt_on();
	compute_while(10);
	s = stalls_now();
	weft_preempt_on();
	EQ(s.preempted, 0);
	OK(s.detached > 0 || s.asked > 0);
	OK(s.taken[can_preempt() ? WEFT_RETAKE_REGION : WEFT_RETAKE_OFF] +
	    s.taken[WEFT_RETAKE_LATE] > 0);
	end_other();
}

GTEST(again_afterwards, 1)
{
	if (!can_preempt())
		t_skip("this program cannot be preempted");
	start_other();
	weft_preempt_off();
	compute_while(10);
	weft_preempt_on();
	for (int i = 0; i < 100 && !stalls_now().preempted; i++) {
		weft_yield();
		compute_while(2);
	}
	OK(stalls_now().preempted > 0);
	end_other();
}

/* The region is the goroutine's: it goes along, and is not another's. */
static void
plain(void)
{
	while (!get(&stop))
		bump(&others);
	weft_waitgroup_done(&all);
}

GTEST(only_the_one_that_asked, 1)
{
	if (!can_preempt())
		t_skip("this program cannot be preempted");
	weft_preempt_off();
	weft_waitgroup_add(&all, 1);
	weft_go(plain);
	while (!stalls_now().preempted)
		weft_sleep(WEFT_MS);
	weft_preempt_on();
	end_other();
}

ETEST(with_short_slices, 2, "WEFT_SLICE_US=50")
{
	start_other();
	start_other();
	for (int i = 0; i < 20; i++) {
		weft_preempt_off();
		compute_while(50);
		weft_preempt_on();
		compute_while(50);
	}
	end_other();
}

TEST(elsewhere_they_do_nothing)
{
	weft_preempt_on();
	weft_preempt_off();
	weft_preempt_on();
	weft_preempt_on();
}

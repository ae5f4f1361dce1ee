/* SPDX-License-Identifier: MIT */
/* Profiles of waits, of goroutines, and their labels. */
#include "profile_text.h"

#include <errno.h>

static weft_mutex mu;
static weft_chan *ch;
static weft_waitgroup all;

T_NOT_INLINED static void
waits_for_message(void)
{
	int v;

	weft_recv_ok(ch, &v);
	__asm__ volatile("" ::: "memory");
}

T_NOT_INLINED static void
waits_for_lock(void)
{
	weft_mutex_lock(&mu);
	__asm__ volatile("" ::: "memory");
	weft_mutex_unlock(&mu);
}

T_NOT_INLINED static void
sleeps(void)
{
	weft_sleep(20 * WEFT_MS);
	__asm__ volatile("" ::: "memory");
}

static void
block_each_way(void)
{
	int v = 1;

	ch = weft_chan_make(sizeof v, 0);
	weft_mutex_lock(&mu);
	weft_waitgroup_go(&all, waits_for_message);
	weft_waitgroup_go(&all, waits_for_lock);
	while (!folded_sum(WEFT_PROFILE_GOROUTINE, "waits_for_message;") ||
	    !folded_sum(WEFT_PROFILE_GOROUTINE, "waits_for_lock;"))
		weft_sleep(WEFT_MS);
	sleeps();
	weft_mutex_unlock(&mu);
	weft_send(ch, v);
	weft_waitgroup_wait(&all);
	weft_chan_release(ch);
}

/* A known wait: it took at least as long as the main goroutine slept. */
GTEST(block_profile, 2)
{
	EQ(weft_profile_block_rate(1), 0);
	block_each_way();
	EQ(weft_profile_block_rate(0), 0);
	OK(folded_sum(WEFT_PROFILE_BLOCK, "waits_for_message;") > 10e6);
	OK(folded_sum(WEFT_PROFILE_BLOCK, "waits_for_lock;") > 10e6);
	EQ(folded_sum(WEFT_PROFILE_BLOCK, "sleeps;"), 0);
	EQ(weft_profile_write(WEFT_PROFILE_MUTEX, 1, 0), -ESRCH);
	/* It is off again. */
	double sum = folded_sum(WEFT_PROFILE_BLOCK, "waits_for_lock;");
	block_each_way();
	EQ(folded_sum(WEFT_PROFILE_BLOCK, "waits_for_lock;"), sum);
}

GTEST(mutex_profile, 2)
{
	EQ(weft_profile_mutex_fraction(1), 0);
	block_each_way();
	OK(folded_sum(WEFT_PROFILE_MUTEX, "waits_for_lock;") > 10e6);
	EQ(folded_sum(WEFT_PROFILE_MUTEX, "waits_for_message;"), 0);
}

GTEST(offcpu_profile, 2)
{
	EQ(weft_profile_offcpu_rate(1), 0);
	block_each_way();
	OK(folded_sum(WEFT_PROFILE_OFFCPU, "sleeps;") > 10e6);
	OK(folded_sum(WEFT_PROFILE_OFFCPU, "waits_for_lock;") > 10e6);
	OK(folded_sum(WEFT_PROFILE_OFFCPU, "waits_for_message;") > 10e6);
}

GTEST(bad_rates, 1)
{
	EQ(weft_profile_block_rate(-1), -EINVAL);
	EQ(weft_profile_offcpu_rate(-1), -EINVAL);
	EQ(weft_profile_mutex_fraction(-1), -EINVAL);
	EQ(weft_profile_block_rate(0), 0);
}

/* Short waits are sampled, and still add up to about what they took. */
GTEST(sums_are_about_right, 2)
{
	enum { TIMES = 2000 };
	double start = t_now(), took, sum;

	EQ(weft_profile_offcpu_rate(10 * WEFT_MS), 0);
	for (int i = 0; i < TIMES; i++)
		weft_sleep(100 * WEFT_US);
	took = (t_now() - start) * 1e9;
	sum = folded_sum(WEFT_PROFILE_OFFCPU, "weft_sleep");
	/* Twenty or more samples were expected: these bounds are wide. */
	OK(sum > took / 6 && sum < took * 3);
}

GTEST(goroutine_profile, 2)
{
	enum { MANY = 1000 };

	ch = weft_chan_make(sizeof(int), 0);
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&all, waits_for_message);
	while (folded_sum(WEFT_PROFILE_GOROUTINE, "waits_for_message;") < MANY)
		weft_sleep(WEFT_MS);
	EQ(folded_sum(WEFT_PROFILE_GOROUTINE, "waits_for_message;"), MANY);
	OK(folded_sum(WEFT_PROFILE_GOROUTINE, "goroutine_profile") == 1);
	weft_chan_close(ch);
	weft_waitgroup_wait(&all);
}

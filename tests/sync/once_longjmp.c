/* SPDX-License-Identifier: MIT */
/*
 * A function that weft_once_do has called is left by longjmp. That is not
 * heard of until its goroutine ends, and by then its frame is something else's.
 */
#include <setjmp.h>
#include <string.h>

#include <weft.h>

#include "dirty_stack.h"
#include "t.h"

static weft_once once, inner;
static weft_waitgroup wg;
static int n_calls, n_ended;

static void
jumps(void *to)
{
	__atomic_fetch_add(&n_calls, 1, __ATOMIC_RELAXED);
	longjmp(*(jmp_buf *)to, 1);
}

static void
jump_out_of(weft_once *o)
{
	jmp_buf back;

	if (!setjmp(back)) {
		weft_once_do(o, jumps, &back);
		OK(!"it was left by a jump");
	}
	dirty_stack(30);
	weft_yield();
}

static void
ended(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&n_ended, 1, __ATOMIC_RELAXED);
}

static weft_gls key = { ended };

static void
jump_and_return(void)
{
	weft_gls_set(&key, &key);
	jump_out_of(&once);
	OK(weft_gls_get(&key) == &key);
}

static void
jump_and_exit(void)
{
	jump_out_of(&once);
	weft_gls_set(&key, &key);
	weft_goexit();
}

static void
waits(void)
{
	weft_once_do(&once, jumps, NULL);
	weft_waitgroup_done(&wg);
}

/* Others wait until the goroutine ends, and then it is done. */
static void
others_wait(void (*fn)(void))
{
	weft_waitgroup_add(&wg, 3);
	weft_go(fn);
	while (!__atomic_load_n(&n_calls, __ATOMIC_RELAXED))
		weft_yield();
	for (int i = 0; i < 3; i++)
		weft_go(waits);
	weft_waitgroup_wait(&wg);
	while (!__atomic_load_n(&n_ended, __ATOMIC_RELAXED))
		weft_yield();
	weft_once_do(&once, jumps, NULL);
	EQ(n_calls, 1);
	EQ(n_ended, 1);
}

GTEST(done_when_it_returns, 1) { others_wait(jump_and_return); }
GTEST(done_when_it_exits, 1) { others_wait(jump_and_exit); }
GTEST(done_on_4, 4) { others_wait(jump_and_return); }

/* The jump stays within the function of another one, which goes on. */
static void
holds_jump(void *arg)
{
	(void)arg;
	jump_out_of(&inner);
}

/* Until it is done with wg, and not until it has ended. */
static void
start_and_wait(void (*fn)(void))
{
	weft_waitgroup_add(&wg, 1);
	weft_go(fn);
	weft_waitgroup_wait(&wg);
}

static void
one_in_another(void)
{
	weft_once_do(&once, holds_jump, NULL);
	dirty_stack(30);
	weft_once_do(&once, jumps, NULL);
	weft_waitgroup_done(&wg);
}

GTEST(jump_within_another, 1)
{
	start_and_wait(one_in_another);
	weft_once_do(&inner, jumps, NULL);
	EQ(n_calls, 1);
}

/* One jump out of two. */
static void
calls_inner(void *to)
{
	weft_once_do(&inner, jumps, to);
}

static void
far(void)
{
	jmp_buf back;

	if (!setjmp(back))
		weft_once_do(&once, calls_inner, &back);
	dirty_stack(30);
	weft_yield();
	weft_waitgroup_done(&wg);
}

GTEST(jump_out_of_two, 1)
{
	start_and_wait(far);
	weft_once_do(&inner, jumps, NULL);
	weft_once_do(&once, jumps, NULL);
	EQ(n_calls, 1);
}

TEST(on_a_plain_thread)
{
	weft_once other = {0};

	jump_out_of(&once);
	jump_out_of(&inner);
	n_calls = 0;
	weft_once_do(&other, ended, NULL);
	weft_once_do(&other, ended, NULL);
	EQ(n_ended, 1);
}

/* ---- out of an announced call: nothing is left but to leave it ---- */

static void *
jumps_too(void *to)
{
	jumps(to);
	return NULL;
}

GTEST(a_call_is_left_by_hand, 1)
{
	for (volatile int i = 0; i < 10; i++) {
		jmp_buf back;

		if (!setjmp(back))
			weft_blocking(jumps_too, &back);
		dirty_stack(30);
		weft_blocking_leave();
		weft_yield();
	}
	EQ(n_calls, 10);
}

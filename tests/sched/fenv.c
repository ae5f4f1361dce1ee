/* SPDX-License-Identifier: MIT */
/*
 * weft_opt.fenv: a goroutine's rounding mode is its own, across everything
 * that lets others run, and no other goroutine sees it.
 */
#include <dlfcn.h>
#include <fenv.h>
#include <stdint.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup all;

/* From a library that is not linked: this is the only test that wants it. */
static int (*get_round)(void);
static int (*set_round)(int mode);

__attribute__((constructor)) static void
find_functions(void)
{
	void *libm = dlopen("libm.so.6", RTLD_NOW);

	OK(libm);
	get_round = (int (*)(void))dlsym(libm, "fegetround");
	set_round = (int (*)(int))dlsym(libm, "fesetround");
}

/* Not only what get_round says: what a division does. */
static bool
rounds(int mode)
{
	/* volatile, or the compiler divides by its own rules */
	volatile double one = 1.0, three = 3.0, minus = -1.0;
	volatile double up = one / three, down = minus / three;

	if (get_round() != mode)
		return false;
	if (mode == FE_UPWARD)
		return up > -down;
	if (mode == FE_DOWNWARD)
		return up < -down;
	return up == -down;
}

static void
finish(void)
{
	weft_waitgroup_done(&all);
}

static void
wait_for_another(void)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	OK(weft_try_go(weft_waitgroup_done, &wg) > 0);
	weft_waitgroup_wait(&wg);
}

static void
keep(int mode, int times)
{
	OK(rounds(FE_TONEAREST));
	EQ(set_round(mode), 0);
	while (times-- > 0) {
		if (times % 3)
			weft_yield();
		else
			wait_for_another();
		OK(rounds(mode));
	}
	finish();
}

static void
see_nearest(int times)
{
	while (times-- > 0) {
		OK(rounds(FE_TONEAREST));
		weft_yield();
	}
	finish();
}

static void
mix(int each, int times)
{
	weft_opt own = { .fenv = true };

	weft_waitgroup_add(&all, 4 * each);
	for (int i = 0; i < each; i++) {
		OK(weft_try_go_opt(own, keep, FE_UPWARD, times) > 0);
		OK(weft_try_go(see_nearest, times) > 0);
		OK(weft_try_go_opt(own, keep, FE_DOWNWARD, times) > 0);
		OK(weft_try_go(see_nearest, times) > 0);
	}
	weft_waitgroup_wait(&all);
	OK(rounds(FE_TONEAREST));
}

GTEST(apart_on_one, 1)
{
	mix(5, 50);
}

GTEST(apart_on_four, 4)
{
	mix((int)t_scale(100), (int)t_scale(200));
}

static void
set_and_end(int mode)
{
	EQ(set_round(mode), 0);
	finish();
}

static void
set_and_exit(int mode)
{
	EQ(set_round(mode), 0);
	finish();
	weft_goexit();
}

/* It ends with its mode set; whoever comes next has not heard of it. */
GTEST(gone_with_it, 1)
{
	weft_opt own = { .fenv = true };

	for (int i = 0; i < 20; i++) {
		weft_waitgroup_add(&all, 4);
		OK(weft_try_go_opt(own, set_and_end, FE_TOWARDZERO) > 0);
		OK(weft_try_go(see_nearest, 1) > 0);
		OK(weft_try_go_opt(own, set_and_exit, FE_UPWARD) > 0);
		OK(weft_try_go_opt(own, see_nearest, 1) > 0);
		weft_waitgroup_wait(&all);
		OK(rounds(FE_TONEAREST));
	}
}

/* fn in a goroutine with an environment of its own; n of them finish. */
static void
with_own_fenv(void (*fn)(void), int n)
{
	weft_waitgroup_add(&all, n);
	OK(weft_try_go_opt(WEFT_OPT(.fenv = true), fn) > 0);
	weft_waitgroup_wait(&all);
}

static void
spawn_upward(void)
{
	EQ(set_round(FE_UPWARD), 0);
	OK(weft_try_go(see_nearest, 3) > 0);
	OK(weft_try_go_opt(WEFT_OPT(.fenv = true), see_nearest, 3) > 0);
	for (int i = 0; i < 10; i++)
		weft_yield();
	OK(rounds(FE_UPWARD));
	finish();
}

GTEST(not_inherited, 1) { with_own_fenv(spawn_upward, 3); }

static int seen;

static void
look(void)
{
	OK(rounds(FE_TONEAREST));
	__atomic_store_n(&seen, 1, __ATOMIC_RELEASE);
}

/* Keeps its processor, so that a thread is made, by it, for a second one. */
static void
have_another_run(void)
{
	EQ(set_round(FE_UPWARD), 0);
	EQ(weft_set_procs(2), 1);
	OK(weft_try_go(look) > 0);
	while (!__atomic_load_n(&seen, __ATOMIC_ACQUIRE))
		;
	OK(rounds(FE_UPWARD));
	finish();
}

GTEST(not_inherited_by_threads, 1) { with_own_fenv(have_another_run, 1); }

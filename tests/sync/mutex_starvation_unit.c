/* SPDX-License-Identifier: MIT */
/* States of a mutex that last for a few instructions only, held on to. */
#include "mutex.h"

#include "t.h"

static int got;

static void
get(weft_mutex *m)
{
	weft_mutex_lock(m);
	got++;
}

static void
yields(int n)
{
	while (n-- > 0)
		weft_yield();
}

/*
 * One waits that starves, and the owner has unlocked but not handed over yet:
 * no other one gets it.
 */
GTEST(between_two_hands, 1)
{
	weft_mutex m = { .state_ = MUTEX_STARVING | MUTEX_ONE };

	OK(!weft_mutex_try_lock(&m));
	weft_go(get, &m);
	yields(10);
	EQ(got, 0);
	EQ(m.state_, MUTEX_STARVING | 2 * MUTEX_ONE);
}

/* It was unlocked, and a waiter has been woken: a new locker may be faster. */
GTEST(before_the_runner_up, 1)
{
	weft_mutex m = { .state_ = MUTEX_WOKEN | MUTEX_ONE };

	OK(weft_mutex_try_lock(&m));
	EQ(m.state_, MUTEX_LOCKED | MUTEX_WOKEN | MUTEX_ONE);
	weft_mutex_unlock(&m);
	EQ(m.state_, MUTEX_WOKEN | MUTEX_ONE);
	weft_go(get, &m);
	yields(10);
	EQ(got, 1);
	EQ(m.state_, MUTEX_LOCKED | MUTEX_WOKEN | MUTEX_ONE);
}

static void
lock_with_waiter(weft_mutex *m)
{
	weft_mutex_lock(m);
	weft_go(get, m);
	while (m->state_ != (MUTEX_LOCKED | MUTEX_ONE))
		weft_yield();
}

/* With a woken waiter on its way no other one is woken. */
GTEST(one_is_enough, 1)
{
	weft_mutex m = {0};

	lock_with_waiter(&m);
	m.state_ |= MUTEX_WOKEN;
	weft_mutex_unlock(&m);
	yields(10);
	EQ(got, 0);
	EQ(m.state_, MUTEX_WOKEN | MUTEX_ONE);
}

/* The first locker after an unlock finds the waiter, and wakes it. */
GTEST(no_waiter_is_forgotten, 1)
{
	weft_mutex m = {0};

	lock_with_waiter(&m);
	m.state_ = MUTEX_ONE;	/* unlocked, and nothing more yet */
	weft_mutex_lock(&m);
	EQ(m.state_, MUTEX_LOCKED | MUTEX_ONE);
	weft_mutex_unlock(&m);
	yields(10);
	EQ(got, 1);
	EQ(m.state_, MUTEX_LOCKED);
}

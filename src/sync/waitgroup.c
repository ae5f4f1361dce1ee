/* SPDX-License-Identifier: MIT */
/*
 * Waitgroup: a 64-bit word with the counter in its upper half and the number
 * of waiters in its lower half, and a semaphore that the waiters sleep on.
 *
 *	add		counter + n, by any caller
 *	wait		counter above 0: waiters + 1, by a waiter, which then
 *			takes one unit of the semaphore
 *	give up		counter above 0: waiters - 1, by a waiter whose limit
 *			ended its sleep
 *	release		counter 0, waiters above 0 -> 0, by the add that brought
 *			the counter to 0; it gives the semaphore as many units
 *			as there were waiters
 *
 * The add that brings the counter to zero with waiters present owns the word
 * from then on: no waiter comes or gives up while the counter is 0, and another
 * add before the waiters are released is the misuse that the header forbids. So
 * it can clear the word and release them all.
 *
 * A waiter that wants to give up and finds the counter at 0 was counted by that
 * add: its unit is there or about to be. It takes the unit, without a limit,
 * and its wait has succeeded. So there are as many units as takers in every
 * round, and the last waiter returns only when the releasing add does not touch
 * the waitgroup any more: it may be freed then.
 */
#include "fatal.h"
#include "hard.h"
#include "limit.h"
#include "parksema.h"
#include "preempt.h"
#include "sched.h"
#include "weft.h"

struct waitgroup {
	a64 state;
	a32 sema;
	uint32_t unused;
};
_Static_assert(sizeof(struct waitgroup) == sizeof(weft_waitgroup), "weft.h");
_Static_assert(_Alignof(struct waitgroup) == _Alignof(weft_waitgroup),
    "weft.h");

static struct waitgroup *
inner(weft_waitgroup *wg)
{
	return (struct waitgroup *)(void *)wg;
}

static int32_t
counter_of(uint64_t state)
{
	return (int32_t)(state >> 32);
}

static uint32_t
waiters_of(uint64_t state)
{
	return (uint32_t)state;
}

static cold void
release_all(struct waitgroup *wg, uint64_t state)
{
	/*
	 * pairs with nothing: the word is ours alone. If it has changed the
	 * program breaks the rule.
	 */
	hard_pause();
	if (!a_cas_acqrel(&wg->state, state, 0))
		fatal("waitgroup: add races with the end of wait");
	parksema_release(&wg->sema, waiters_of(state));
}

public void
weft_waitgroup_add(weft_waitgroup *wg_, int n)
{
	struct waitgroup *wg = inner(wg_);
	uint64_t delta = (uint64_t)(uint32_t)n << 32, state;
	int32_t counter;

	checkpoint();
	/*
	 * pairs with weft_waitgroup_wait: what was done before the last done
	 * is visible after the wait
	 */
	state = a_add_acqrel(&wg->state, delta) + delta;
	counter = counter_of(state);
	if (unlikely(counter < 0))
		fatal("waitgroup: counter is negative (%d after adding %d)",
		    counter, n);
	if (likely(waiters_of(state) == 0 || counter > 0)) {
		if (unlikely(waiters_of(state) && n > 0 && counter == n))
			fatal("waitgroup: add from zero while others wait");
		return;
	}
	release_all(wg, state);
}

public void
weft_waitgroup_done(weft_waitgroup *wg)
{
	weft_waitgroup_add(wg, -1);
}

/* ---- waiting ---- */

noreturn static cold void
fatal_reused(void)
{
	fatal("waitgroup: reused before all waits have returned");
}

/*
 * The limit ended the sleep of a waiter that is counted. False: it is not any
 * more. True: the counter is 0, and a unit is coming.
 */
static bool
is_released(struct waitgroup *wg)
{
	uint64_t state;

	hard_pause();
	do {
		/* pairs with weft_waitgroup_add */
		state = a_load_acq(&wg->state);
		if (counter_of(state) == 0)
			return true;
		if (unlikely(waiters_of(state) == 0))
			fatal_reused();
		/* relaxed: an add that comes later must not count us */
	} while (!a_cas_relaxed(&wg->state, state, state - 1));
	return false;
}

/* True when the counter is 0; false if the limit was over before that. */
static bool
waitgroup_wait(struct waitgroup *wg, struct limit *l)
{
	uint64_t state;

	checkpoint();
	do {
		/* pairs with weft_waitgroup_add */
		state = a_load_acq(&wg->state);
		if (counter_of(state) == 0)
			return true;
		/* pairs with release_all: it must count us */
	} while (!a_cas_acqrel(&wg->state, state, state + 1));
	if (!parksema_acquire_limit(&wg->sema, WAIT_WAITGROUP, l)) {
		if (!is_released(wg))
			return false;
		parksema_acquire(&wg->sema, WAIT_WAITGROUP);
	}
	/* A new round may have taken the unit meant for us, or we its. */
	if (unlikely(a_load_relaxed(&wg->state) != 0))
		fatal_reused();
	return true;
}

public void
weft_waitgroup_wait(weft_waitgroup *wg)
{
	waitgroup_wait(inner(wg), NULL);
}

public bool
weft_waitgroup_wait_until(weft_waitgroup *wg, int64_t when)
{
	struct limit l = { .when = when };

	return waitgroup_wait(inner(wg), &l);
}

public bool
weft_waitgroup_wait_context(weft_waitgroup *wg, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return waitgroup_wait(inner(wg), &l);
}

/* SPDX-License-Identifier: MIT */
/*
 * Waitgroup: a 64-bit word with the counter in its upper half and the number
 * of waiters in its lower half, and a semaphore that the waiters sleep on.
 *
 * The add that brings the counter to zero with waiters present owns the word
 * from then on: nobody may add until the waiters are released (that is the
 * race the header forbids), so it can clear the word and release them all.
 */
#include "fatal.h"
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
	 * pairs with nothing: the word is ours alone. If it changed somebody
	 * breaks the rule.
	 */
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

public void
weft_waitgroup_wait(weft_waitgroup *wg_)
{
	struct waitgroup *wg = inner(wg_);
	uint64_t state;

	do {
		/* pairs with weft_waitgroup_add */
		state = a_load_acq(&wg->state);
		if (counter_of(state) == 0)
			return;
		/* pairs with release_all: it must count us */
	} while (!a_cas_acqrel(&wg->state, state, state + 1));
	parksema_acquire(&wg->sema, WAIT_WAITGROUP);
	/* A new round may have taken the unit meant for us, or we its. */
	if (unlikely(a_load_relaxed(&wg->state) != 0))
		fatal("waitgroup: reused before all waits have returned");
}

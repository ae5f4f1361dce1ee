/* SPDX-License-Identifier: MIT */
/*
 * Scavenging: memory that has not been used for a while goes back to the
 * kernel. The monitor does that, a little every second.
 *
 * Free stacks: see mem/stack.h. A P that is idle keeps few.
 *
 * In a program that has become idle it goes on until all is done, and then
 * stops.
 *
 * Stacks of long waiters: a goroutine that has waited for ten seconds does not
 * need the pages below its stack pointer, used when it was deeper. All records
 * are swept again and again. A goroutine that waits is marked SEEN; the M that
 * resumes it clears the mark. So one that is still SEEN in the next sweep has
 * waited all the time, and is *claimed*:
 *
 *	the monitor			the waker, and the M that resumes it
 *	1. hold |= CLAIM: if it was	1. state = RUNNABLE
 *	   not SEEN any more, 5		2. reads hold: if not 0,
 *	2. barrier on all threads	3. waits until CLAIM is clear
 *	3. is it on any M's stack?	4. hold &= ~SEEN: if CLAIM was set, 3
 *	4. reads the state: if
 *	   WAITING, scavenges
 *	5. hold &= ~CLAIM
 *
 * Of the monitor's 1 and the M's 4, both on one word, the later one sees the
 * other: the goroutine was resumed before and is left out, or the M waits.
 * (The read in the M's 3 alone would not do. The goroutine may run long after
 * it: then it could run, wait again, and be about to leave its stack, all
 * between the monitor's 3 and 4.) If there was no SEEN to clear, it was resumed
 * before it was marked, and so before the barrier: the monitor's 3 and 4 see
 * it.
 *
 * WAITING alone does not mean that it is off its stack: a goroutine becomes
 * WAITING before it leaves. So no M must have it as curg or as prev_g. A
 * goroutine that waits on a stack that is not ours keeps all of its own: see
 * stack_scavenge_below.
 */
#include "scavenge.h"

#include "hard.h"
#include "os.h"
#include "sched.h"
#include "slab.h"

enum {
	FREE_MAX = 8192,	/* free stacks a call: some 20 ms */
	SWEEP_MAX = 32768,	/* records a call */
	BATCH = 64,		/* goroutines a barrier */
	SWEEP_CALLS = 10,	/* of scavenge_some, from sweep to sweep */
	WORTH = 256		/* stacks: with fewer nothing is done, and the
				 * monitor sleeps as soon as all Ps are idle */
};

static struct slab_place place;
static uint32_t calls_left;	/* before the next sweep may begin */
static uint32_t quiet;		/* calls in a row that found none to give */

struct batch {
	struct g *g[BATCH];
	uint32_t n;
};

/* ---- stacks of long waiters ---- */

static void
unclaim(struct g *gp)
{
	/* pairs with wait_scavenged */
	a_and_acqrel(&gp->hold, (uint8_t)~HOLD_CLAIM);
}

static void
leave_out(struct batch *b, struct g *gp)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->g[i] == gp) {
			unclaim(gp);
			b->g[i] = b->g[--b->n];
			return;
		}
}

/*
 * This M's goroutine is not off its stack. The M writes `prev_g` before it
 * changes `curg`, so they are read the other way round.
 */
static void
on_stack(struct m *mp, void *batch)
{
	/* pairs with make_current and switch_from */
	struct g *runs = a_load_acq(&mp->curg);
	/* pairs with finish_switch */
	struct g *prev = a_load_acq(&mp->prev_g);

	if (runs)
		leave_out(batch, runs);
	if (prev)
		leave_out(batch, prev);
}

static void
scavenge_one(struct g *gp)
{
	struct stack *s = g_stack(gp);

	if (a_load_relaxed(&gp->state) == G_WAITING && s) {
		stack_scavenge_below(s, gp->frame.sp);
		a_or_relaxed(&gp->hold, HOLD_SCAVENGED);
	}
}

/* Claims those that are still SEEN; the others leave the batch. */
static void
claim(struct batch *b)
{
	for (uint32_t i = b->n; i-- > 0; )
		/* sc: pairs with wait_scavenged, and, by the barrier, with the
		 * reads of hold in switch_from and sched_loop */
		if (!(a_or_sc(&b->g[i]->hold, HOLD_CLAIM) & HOLD_SEEN))
			leave_out(b, b->g[i]);
}

static void
scavenge_batch(struct batch *b)
{
	claim(b);
	hard_pause();
	os_barrier_all();
	m_each(on_stack, b);
	hard_pause();
	for (uint32_t i = 0; i < b->n; i++) {
		scavenge_one(b->g[i]);
		unclaim(b->g[i]);
	}
	b->n = 0;
}

static void
mark_or_batch(struct g *gp, struct batch *b)
{
	uint8_t hold = a_load_relaxed(&gp->hold);

	if (a_load_relaxed(&gp->state) != G_WAITING || hold & HOLD_SCAVENGED)
		return;
	if (hold & HOLD_SEEN)
		b->g[b->n++] = gp;
	else
		a_or_relaxed(&gp->hold, HOLD_SEEN);
	if (b->n == BATCH)
		scavenge_batch(b);
}

/* Sweeps some records. True if the sweep is not over. */
static bool
sweep(void)
{
	struct batch b = { .n = 0 };
	struct g *gp = NULL;

	for (int i = 0; i < SWEEP_MAX && (gp = g_next(&place)); i++)
		mark_or_batch(gp, &b);
	if (b.n)
		scavenge_batch(&b);
	return gp != NULL;
}

/* ---- free stacks ---- */

static void
trim_idle(void)
{
	uint32_t procs = a_load_relaxed(&sched.procs);

	lock_take(&sched.lock);
	for (uint32_t i = 0; i < procs; i++)
		if (p_at(i)->state == P_IDLE)
			stack_trim(&p_at(i)->stacks);
	lock_drop(&sched.lock);
}

bool
scavenge_some(void)
{
	bool sweeping = place.chunk != NULL;

	if (stack_carved() < WORTH)
		return false;
	trim_idle();
	if (stack_scavenge(FREE_MAX))
		quiet = 0;
	if (calls_left)
		calls_left--;
	else if (!sweeping)
		calls_left = SWEEP_CALLS;
	if (sweeping || calls_left == SWEEP_CALLS)
		sweep();
	return ++quiet <= 2 * SWEEP_CALLS + 2;
}

void
scavenge_again(void)
{
	quiet = 0;
}

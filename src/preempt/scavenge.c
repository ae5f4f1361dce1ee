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
 * are swept again and again. A goroutine that waits is marked SEEN, with the
 * time (wait_mark.h); the M that resumes it clears the mark. One that was SEEN
 * long ago has waited all the time, and is claimed (claim.h). A goroutine that
 * waits on a stack that is not ours keeps all of its own: see
 * stack_scavenge_below.
 */
#include "scavenge.h"

#include "claim.h"
#include "os.h"
#include "sched.h"
#include "slab.h"
#include "wait_mark.h"

enum {
	FREE_MAX = 8192,	/* free stacks a call: some 20 ms */
	SWEEP_MAX = 32768,	/* records a call */
	SWEEP_CALLS = 10,	/* of scavenge_some, from sweep to sweep */
	WORTH = 256		/* stacks: with fewer nothing is done, and the
				 * monitor sleeps as soon as all Ps are idle */
};

static const int64_t long_wait_ns = INT64_C(10) * 1000 * 1000 * 1000;

static struct slab_place place;
static uint32_t calls_left;	/* before the next sweep may begin */
static uint32_t quiet;		/* calls in a row that found none to give */

/* ---- stacks of long waiters ---- */

static void
scavenge_one(struct g *gp)
{
	struct stack *s = g_stack(gp);

	if (s) {
		stack_scavenge_below(s, gp->frame.sp);
		a_or_relaxed(&gp->hold, HOLD_SCAVENGED);
	}
}

static void
scavenge_batch(struct claim *c)
{
	claim_take(c, NULL, NULL);
	for (uint32_t i = 0; i < c->n; i++)
		scavenge_one(c->g[i]);
	claim_drop(c);
}

/* One that is resumed just now may be marked late: it is left out once. */
static void
mark_or_batch(struct g *gp, struct claim *c, int64_t now)
{
	uint8_t hold = a_load_relaxed(&gp->hold);

	if (a_load_relaxed(&gp->state) != G_WAITING || hold & HOLD_SCAVENGED)
		return;
	if (!(hold & HOLD_SEEN))
		wait_mark(gp, now);
	else if (now - wait_marked_at(gp) >= long_wait_ns)
		c->g[c->n++] = gp;
	if (c->n == CLAIM_BATCH)
		scavenge_batch(c);
}

/* Sweeps some records. True if the sweep is not over. */
static bool
sweep(void)
{
	static struct claim c;
	int64_t now = os_now_ns();
	struct g *gp = NULL;

	/* A dump has it: the next call goes on, or begins. */
	if (!claim_begin(0)) {
		if (!place.chunk)
			calls_left = 0;
		return true;
	}
	for (int i = 0; i < SWEEP_MAX && (gp = g_next(&place)); i++)
		mark_or_batch(gp, &c, now);
	if (c.n)
		scavenge_batch(&c);
	claim_end();
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
scavenge_sweeps(void)
{
	return stack_carved() >= WORTH;
}

bool
scavenge_some(void)
{
	bool sweeping = place.chunk != NULL;

	if (!scavenge_sweeps())
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

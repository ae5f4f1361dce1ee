/* SPDX-License-Identifier: MIT */
/*
 * Claiming goroutines that wait: until it is dropped no M runs them, and none
 * is on their stacks, so another thread may read a stack, or give a part of it
 * back to the kernel. The scavenger does, and dumps do.
 *
 *	the claimer			the waker, and the M that resumes it
 *	1. hold |= CLAIM		1. state = RUNNABLE
 *	2. barrier on all threads	2. reads hold: if not 0,
 *	3. reads the state: if it	3. waits until CLAIM is clear
 *	   is not WAITING, 6		4. hold &= ~SEEN: if CLAIM was set, 3
 *	4. barrier on all threads	5. state = RUNNING, curg = it
 *	5. is it on any M's stack?
 *	   If not, it is claimed
 *	6. hold &= ~CLAIM
 *
 * An M that runs it although it is claimed has read hold, in its 2 or 4, before
 * it could see the claim, thus before the claimer's first barrier. Before that
 * the state was RUNNABLE. So if the claimer reads WAITING after that barrier,
 * the goroutine has run since and waits again: its M set curg before that
 * WAITING, and after the second barrier the claimer sees it as curg or prev_g
 * of that M, unless it is off its stack by now. (One barrier and 5 before 3
 * would not do: the goroutine could begin to run after 5, and wait again, on
 * its stack, before 3.) models/claim.pml has the protocol with stores that
 * overtake each other, and finds both barriers necessary.
 *
 * WAITING alone does not mean that it is off its stack: a goroutine becomes
 * WAITING before it leaves.
 *
 * One thread claims at a time, since dropping clears the one bit. A claim is
 * short: an M that finds one spins. No lock is needed to drop it.
 */
#ifndef CLAIM_H
#define CLAIM_H

#include "g.h"

enum { CLAIM_BATCH = 256 };

struct claim {
	struct g *g[CLAIM_BATCH];
	uint32_t n;
};

/*
 * For the right to claim: waits at most so long for another thread to be done
 * with it. False if that was in vain.
 */
bool claim_begin(int64_t patience_ns);
void claim_end(void);

/*
 * Claims those in c that wait, which takes some 20 us, and calls `lost` with
 * each of the others, which leaves c. lost may be NULL.
 */
void claim_take(struct claim *c, void (*lost)(struct g *gp, void *arg),
    void *arg);
/* All in c may run again; c is empty. */
void claim_drop(struct claim *c);

#endif

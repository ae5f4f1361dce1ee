/* SPDX-License-Identifier: MIT */
/*
 * Operations on files that the kernel does while the goroutine is parked, and
 * no thread of ours waits. See ring.c.
 */
#ifndef RING_H
#define RING_H

#include "g.h"
#include "uring.h"

/*
 * Has the kernel do it, and parks until it is done: true, and *result, which
 * may be an error. False: it is not done, the caller does it by itself; there
 * is no ring, or it is full, or no goroutine or runtime. No lock held; may
 * migrate. The tag of `op` is ours.
 */
bool ring_do(struct uring_op *op, enum wait_reason reason, long *result);

/* ---- for netpoll ---- */

/* Tags of the poller's events: the number of a descriptor is below this. */
#define RING_TAG UINT32_C(0x80000000)

static inline bool
ring_has_tag(uint64_t tag)
{
	return unlikely((uint32_t)tag >= RING_TAG);
}

/* There may be completions: their goroutines are added. No lock held. */
void ring_event(uint64_t tag, struct glist *woken);
/* Does a goroutine wait for an operation? Any thread. */
bool ring_any_waiters(void);
void ring_forked(void);

/* ---- the end ---- */

/* No goroutine starts any more: cancels all operations, and waits for them, or
 * for a second. */
void ring_ended(void);

/* ---- counters ---- */

struct ring_counts {
	a64 done;		/* operations that the kernel has done, */
	a64 parked;		/* ... for which a goroutine had parked */
	a64 refused;		/* that it could not be asked to do */
};
extern struct ring_counts ring_counts;

#endif

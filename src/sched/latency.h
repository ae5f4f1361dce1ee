/* SPDX-License-Identifier: MIT */
/*
 * How long goroutines are runnable before they run: a histogram of a sample.
 *
 * A goroutine is chosen when it begins to wait, when it is preempted, or when
 * its record is taken to spawn it: HOLD_TIMED is set. When it next becomes
 * runnable the time is taken, and when it runs the difference is counted and
 * the bit cleared. The choice is made before the wait that is measured begins,
 * so a long wait is as likely to be chosen as a short one.
 *
 * None of this is on the path of a switch, a ready or a spawn:
 *
 *	choosing	at the turn of the global queue, every 61 switches, and
 *			when a P takes a new run of ids, every 64 spawns
 *	the time	`hold` is checked with the state: make_runnable
 *	counting	an M has to check `hold` before it runs a goroutine, and
 *			calls pin_resolve_hold if it is not 0
 *
 * From how many one is chosen follows the load, from 64 to 4096, so that a P
 * takes a sample each hundred microseconds or so. A sample counts as so many as
 * it was chosen from, which is noted in `hold`: the counts estimate how often
 * goroutines became runnable.
 * Goroutines that yield are not counted, since they wait for nothing.
 *
 * The record has no room for a time. It is in a table, by a hash of the
 * record's address, only while the goroutine is runnable; if that place is
 * taken the sample is dropped.
 */
#ifndef LATENCY_H
#define LATENCY_H

#include "p.h"

enum {
	LATENCY_SUB = 4,	/* buckets for each power of two */
	LATENCY_MIN_BITS = 7,	/* the first one ends at 128 ns, */
	LATENCY_MAX_BITS = 37,	/* ... the last but one at 137 s */
	LATENCY_BUCKETS = 2 +
	    (LATENCY_MAX_BITS - LATENCY_MIN_BITS) * LATENCY_SUB
};

/* A new P. */
void latency_init(struct p *pp);
/* The M that has P pp, inside: may choose the goroutine that it leaves, if
 * that is WAITING and cannot be woken yet. */
cold void latency_choose(struct p *pp);
/* The same for gp, which was preempted and is not queued yet. */
cold void latency_choose_preempted(struct p *pp, struct g *gp);
/* The M that has P pp is about to run gp, which is HOLD_TIMED. */
cold void latency_sample(struct p *pp, struct g *gp);

cold void make_runnable_slow(struct g *gp, enum gstate from);

/*
 * As g_set, to RUNNABLE: one branch, as if only the state were checked. Not one
 * load of both bytes, which would wait for a store to one of them that is not
 * in the cache yet: select takes 4 % longer so.
 */
static always_inline void
make_runnable(struct g *gp, enum gstate from)
{
	if (likely(((a_load_relaxed(&gp->state) ^ (uint8_t)from) |
	    a_load_relaxed(&gp->hold)) == 0))
		a_store_relaxed(&gp->state, G_RUNNABLE);
	else
		make_runnable_slow(gp, from);
}

/* Any thread: what was counted so far. */
struct latency {
	uint64_t buckets[LATENCY_BUCKETS];
	uint64_t sum_ns;
};
void latency_read(struct latency *out);
/* The first time that is beyond a bucket, in nanoseconds; the last: never. */
int64_t latency_bound_ns(uint32_t bucket);
/* The bucket for a time. */
uint32_t latency_bucket(int64_t ns);

#endif

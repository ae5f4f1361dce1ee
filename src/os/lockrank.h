/* SPDX-License-Identifier: MIT */
/*
 * The order in which locks are taken. A thread that holds a lock may take
 * only locks that stand further down. Debug builds check it.
 */
#ifndef LOCKRANK_H
#define LOCKRANK_H

enum lockrank {
	RANK_PARKING_LOT,	/* sync/parking_lot.c: a bucket of waiters */
	RANK_CONTEXT,		/* sync/context.c: one tree of contexts */
	RANK_DESC,		/* poll/desc.c: one descriptor */
	RANK_POLLER,		/* poll/netpoll.c: opening it, once */
	RANK_TIMER,		/* work/timer_heap.c: the heap of one P */
	RANK_CHAN,		/* sync/chan.c: one channel, or several in the
				 * order of their addresses */
	RANK_SCHED,		/* sched/sched.h: idle Ps, Ms, global queue */
	RANK_GFREE,		/* work/g.c: dead Gs of all Ps */
	RANK_STACK,		/* mem/stack.c: free stacks of a size */
	RANK_SLAB,		/* mem/slab.c: record slabs */
	RANK_POOL,		/* extra/pool.c: one shard, or the depot */
	RANK_TEST,		/* tests only */
	RANK_MAX
};

#endif

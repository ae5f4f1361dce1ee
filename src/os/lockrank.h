/* SPDX-License-Identifier: MIT */
/*
 * The order in which locks are taken. A thread that holds a lock may take
 * only locks that stand further down. Debug builds check it.
 */
#ifndef LOCKRANK_H
#define LOCKRANK_H

enum lockrank {
	RANK_PARKING_LOT,	/* sync/parking_lot.c: a bucket of waiters */
	RANK_TRACE_FILE,	/* observe/trace.c: the file of a trace */
	RANK_CONTEXT,		/* sync/context.c: one tree of contexts */
	RANK_DESC,		/* poll/desc.c: one descriptor */
	RANK_POLLER,		/* poll/netpoll.c: opening it, once */
	RANK_RING,		/* poll/ring.c: submissions of a ring, or its
				 * completions */
	RANK_TIMER,		/* work/timer_heap.c: the heap of one P */
	RANK_CHAN,		/* sync/chan.c: one channel, or several in the
				 * order of their addresses */
	RANK_SCHED,		/* sched/sched.h: idle Ps, Ms, global queue */
	RANK_GANY,		/* work/g.c: the cache of threads without a P */
	RANK_GFREE,		/* work/g.c: dead Gs of all Ps of a node */
	RANK_STACK,		/* mem/stack.c: free stacks of a size */
	RANK_SLAB,		/* mem/slab.c: record slabs */
	RANK_USER_BLOCK,	/* mem/user_block.c: blocks that hold what
				 * users gave us */
	RANK_POOL,		/* extra/pool.c: one shard, or the depot */
	RANK_TRACE_SHARED,	/* sched/events.c: the ring of all threads
				 * without a P */
	RANK_TRACE,		/* trace/trace_ring.h: chunks of events */
	RANK_LABELS,		/* observe/labels.c: sets of labels */
	RANK_PROFILE,		/* observe/profile_cpu.c: timers of threads */
	RANK_TEST,		/* tests only */
	RANK_MAX
};

#endif

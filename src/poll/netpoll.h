/* SPDX-License-Identifier: MIT */
/*
 * The network, as the scheduler sees it: a source of goroutines, in which a
 * thread can sleep. netpoll.c says which thread polls, and when.
 */
#ifndef NETPOLL_H
#define NETPOLL_H

#include "atomic.h"
#include "defs.h"
#include "g.h"
#include "lock.h"

struct netpoll {
	/* any thread, atomic; read in every wait, and seldom written */
	a32 on cache_aligned;	/* there is a poller; set once */
	a32 unverified;		/* a waiter came since desc_verify */
	a32 hogs_seen;		/* the monitor: goroutines had to be preempted
				 * of late */

	/* any thread, atomic; written in every poll */
	a32 polling cache_aligned;	/* a P polls, without sleeping */
	a32 firing;		/* threads with events whose goroutines are
				 * not queued yet */
	APTR(struct note) sleeper;	/* of the thread that sleeps in it */
	APTR(struct note) next_sleeper;	/* ... and of one that wants to */
	a64 last_poll;		/* of a P: when, in cycles */
	a64 polls, events;	/* counters */
};

extern struct netpoll netpoll;

/* Makes the poller, the first time. 0 or -errno. No lock held. */
int netpoll_start(void);
/* In the child of a fork: the poller and all records are the parent's. */
void netpoll_forked(void);

static inline bool
netpoll_on(void)
{
	/* sc: pairs with netpoll_start, which pokes the watcher after */
	return a_load_sc(&netpoll.on) != 0;
}

/*
 * Polls without sleeping, and queues the goroutines that have become ready on
 * this P; not if another P polls or a thread sleeps there. True if there were
 * any. On g0, P held.
 */
bool netpoll_poll(void);
/* The same, also if a thread sleeps there; the goroutines are urgent. */
bool netpoll_poll_urgent(void);
/* The same on a P that has other work, if no P has polled for some 50 us. */
void netpoll_poll_if_due(void);
bool netpoll_due(void);
/* The same for the monitor, which has no P: the goroutines are urgent. */
void netpoll_poll_no_p(void);
/* The monitor verifies descriptors: true if there are more. No lock held. */
bool netpoll_verify(void);
static inline bool
netpoll_verify_due(void)
{
	return a_load_relaxed(&netpoll.unverified) != 0;
}

/* A waiter was pushed to a descriptor's queue. */
static always_inline void
netpoll_waiter_added(void)
{
	/* Not before the push; the order of the CPU is enforced by the
	 * barrier in netpoll_verify. */
	__asm__ volatile("" ::: "memory");
	if (unlikely(!a_load_relaxed(&netpoll.unverified)))
		a_store_relaxed(&netpoll.unverified, 1);
}

void netpoll_poll_soon_slow(void);

/*
 * A goroutine is about to wait for a descriptor. The next one on its P may not
 * yield for a whole slice: so if hogs were seen, the P polls first. Any thread,
 * no lock held.
 */
static inline void
netpoll_poll_soon(void)
{
	if (unlikely(a_load_relaxed(&netpoll.hogs_seen)))
		netpoll_poll_soon_slow();
}

/* Does any goroutine or thread wait for a descriptor, or is one just being
 * woken? Any thread. */
bool netpoll_has_waiters(void);

/*
 * Sleeps on note n as note_wait does, in the poller if no other thread does.
 * Goroutines that became ready are put on the list: then the sleep ends, like
 * by a poke, and when they are queued netpoll_fired must be called.
 */
enum note_end netpoll_sleep(struct note *n, int64_t timeout_ns,
    struct glist *woken);
void netpoll_fired(void);
/* note_wake and note_poke for a note whose sleeper may sleep in the poller. */
void netpoll_wake(struct note *n);
void netpoll_poke(struct note *n);

#endif

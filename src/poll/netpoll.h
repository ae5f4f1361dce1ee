/* SPDX-License-Identifier: MIT */
/*
 * The network, as the scheduler sees it: a place to sleep in that gives out
 * goroutines. Who looks there, and when, is told in netpoll.c.
 */
#ifndef NETPOLL_H
#define NETPOLL_H

#include "atomic.h"
#include "defs.h"
#include "g.h"
#include "lock.h"

struct netpoll {
	/* any thread, atomic */
	a32 on;			/* there is a poller; set once */
	a32 polling;		/* somebody just looks */
	APTR(struct note) sleeper;	/* who sleeps in it, NULL: nobody */
	APTR(struct note) next_sleeper;	/* ... and who wants to */
	a32 firing;		/* who has fetched some and not queued them */
	a32 unverified;		/* somebody began to wait since verified */
	a32 hogs_seen;		/* the monitor: goroutines that do not let
				 * others run are about */
	a64 last_poll;		/* by who has a P: when, in cycles */
	a64 polls, events;	/* counts */
};

extern struct netpoll netpoll;

/* Makes the poller, the first time. 0 or -errno. No lock held. */
int netpoll_start(void);
/* In the child of a fork: all this, and the descriptors, is the parent's. */
void netpoll_forked(void);

static inline bool
netpoll_on(void)
{
	/* sc: pairs with netpoll_start, which pokes who watches after */
	return a_load_sc(&netpoll.on) != 0;
}

/*
 * Fetches who has become ready, without sleeping, and queues them on this P;
 * unless somebody else does so or sleeps there. True if there were any. On g0,
 * P held.
 */
bool netpoll_poll(void);
/* The same, and they come before all others. */
bool netpoll_poll_urgent(void);
/* The same on a P that has other work, if nobody has looked for a while. */
void netpoll_poll_if_due(void);
bool netpoll_due(void);
/* The same for the monitor, which has no P: they are urgent. */
void netpoll_poll_no_p(void);
/* ... and it looks after descriptors: true if there is more to do. */
bool netpoll_verify(void);
static inline bool
netpoll_verify_due(void)
{
	return a_load_relaxed(&netpoll.unverified) != 0;
}

/* Somebody has begun to wait for a descriptor: stands in its queue. */
static always_inline void
netpoll_waiter_added(void)
{
	/* Not before it stands there; the rest is the barrier in
	 * netpoll_verify. */
	__asm__ volatile("" ::: "memory");
	if (unlikely(!a_load_relaxed(&netpoll.unverified)))
		a_store_relaxed(&netpoll.unverified, 1);
}

void netpoll_poll_soon_slow(void);

/*
 * A goroutine is about to wait for a descriptor. What is next on its P may not
 * let others run for a whole slice: so if there are such, the P looks at the
 * network first. Any thread, no lock held.
 */
static inline void
netpoll_poll_soon(void)
{
	if (unlikely(a_load_relaxed(&netpoll.hogs_seen)))
		netpoll_poll_soon_slow();
}

/* Does anybody wait for a descriptor, or is just being woken? Any thread. */
bool netpoll_has_waiters(void);

/*
 * Sleeps on note n as note_wait does, in the poller if nobody else does. Those
 * who became ready are put on the list: then it ends, like a poke, and when
 * they are queued netpoll_fired must be called.
 */
enum note_end netpoll_sleep(struct note *n, int64_t timeout_ns,
    struct glist *woken);
void netpoll_fired(void);
/* note_wake and note_poke for a note whose sleeper may sleep in the poller. */
void netpoll_wake(struct note *n);
void netpoll_poke(struct note *n);

#endif

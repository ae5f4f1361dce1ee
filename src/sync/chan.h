/* SPDX-License-Identifier: MIT */
/*
 * The channel record, for the files that do more than send and receive: select
 * and timers. chan.c has the protocol.
 */
#ifndef CHAN_H
#define CHAN_H

#include <string.h>

#include "expire.h"
#include "fatal.h"
#include "lock.h"
#include "waitq.h"
#include "weft.h"

struct weft_chan {
	struct lock lock;

	/* under lock; read as hints without */
	abool closed;
	a32 n;			/* elements in buf */

	/* constant */
	uint32_t cap, elem_bytes;
	uint32_t type, type_mask;	/* of an element: chan_type.h */

	/* under lock */
	uint32_t get, put;	/* where in buf, 0..cap-1 */
	uint32_t select_refs;	/* queue entries of selects that are still to
				 * dequeue them */
	bool dead;		/* has no owner any more, only select_refs */
	struct waitq receivers, senders;

	/* any thread, atomic */
	a32 refs;

	/* constant */
	bool timed;		/* a timer sends on it */
	struct weft_timer *timer;	/* of weft_after: freed with it; or
				 * NULL */

	char buf[] __attribute__((aligned(16)));
};

enum { CHAN_ELEM_MAX = 64 * 1024 };

/* ---- chan.c ---- */

/*
 * Lock held. Performs the operation if it can be done at once; *wake is then
 * the waiter that the caller wakes after it has released the lock, or NULL.
 * False if the operation would have to wait. A send on a closed channel is
 * fatal. ok: as in weft_case.
 */
bool chan_send_locked(struct weft_chan *c, const void *v,
    struct waiter **wake);
bool chan_recv_locked(struct weft_chan *c, void *v, bool *ok,
    struct waiter **wake);
noreturn cold void chan_fatal_closed(void);
/* Blocks the caller for ever. */
void chan_wait_forever(void);

/*
 * A select that has an entry in a queue of the channel comes back to dequeue
 * it. Until then the record is not freed, even if its last owner has released
 * it; unless the entry is claimed, which ends the pin. Lock held.
 */
static inline void
chan_pin(struct weft_chan *c)
{
	c->select_refs++;
}
static inline void
chan_unpin(struct weft_chan *c)
{
	check(c->select_refs > 0);
	c->select_refs--;
}
/* Releases the lock, and frees a channel without owners and pins. */
void chan_unlock(struct weft_chan *c);

/*
 * A hint without the lock: could the operation be done at once? Yes if it could
 * throughout the call, no if it could not throughout the call.
 */
static inline bool
chan_can_send(struct weft_chan *c)
{
	if (a_load_relaxed(&c->closed))
		return true;		/* which is fatal */
	return c->cap ? a_load_relaxed(&c->n) < c->cap :
	    !waitq_empty(&c->receivers);
}

static inline bool
chan_can_recv(struct weft_chan *c)
{
	/* pairs with ring_get: either it was empty before it was closed, or
	 * the load of closed sees the close */
	bool some = c->cap ? a_load_acq(&c->n) > 0 :
	    !waitq_empty(&c->senders);

	return some || a_load_relaxed(&c->closed);
}

/*
 * The channel was found empty by a caller that does not wait. If it is a
 * timer's, the timer may be due and not have fired only because this goroutine
 * keeps the P busy: then it fires here. True if the channel may have an
 * element now.
 */
static inline bool
chan_run_timers(struct weft_chan *c)
{
	if (likely(!c->timed))
		return false;
	expire_run_all();
	return chan_can_recv(c);
}

static always_inline void
elem_copy(void *to, const void *from, uint32_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, bytes);
}

/* Stores an element in v, unless that is NULL; zero bytes if from is NULL. */
static always_inline void
elem_put(void *v, const void *from, uint32_t bytes)
{
	if (!v)
		return;
	if (from)
		elem_copy(v, from, bytes);
	else
		memset(v, 0, bytes);
}

/* ---- for timers ---- */

/* A channel that buffers one time, and whose capacity reads 0. */
struct weft_chan *chan_make_timed(struct weft_timer *t);
/* Sends the time unless one is buffered; a goroutine woken goes on the list. */
void chan_send_time(struct weft_chan *c, int64_t now, struct glist *woken);
/* Drops what is buffered; true if something was. */
bool chan_drain(struct weft_chan *c);

#endif

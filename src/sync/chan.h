/* SPDX-License-Identifier: MIT */
/*
 * The channel record, for the rooms that do more than send and receive:
 * select, timers. chan.c has the protocol.
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

	/* under lock */
	uint32_t get, put;	/* where in buf, 0..cap-1 */
	uint32_t select_refs;		/* places of selects that have yet to leave */
	bool dead;		/* has no owner any more, only pins */
	struct waitq receivers, senders;

	/* any thread, atomic */
	a32 refs;

	/* constant; a timer's channel only: called when it is freed */
	bool timed;
	struct weft_timer *timer;

	char buf[] __attribute__((aligned(16)));
};

enum { CHAN_ELEM_MAX = 64 * 1024 };

/* ---- chan.c ---- */

/* Dies unless bytes, unless it is -1, is the size of an element. */
void chan_check_size(struct weft_chan *c, size_t bytes);

/*
 * Lock held. Does it if it can be done at once; *wake is then who is to be
 * woken when the lock is released, or NULL. False if it would have to wait.
 * A send on a closed channel is fatal. ok: as in weft_case.
 */
bool chan_send_locked(struct weft_chan *c, const void *v,
    struct waiter **wake);
bool chan_recv_locked(struct weft_chan *c, void *v, bool *ok,
    struct waiter **wake);
noreturn cold void chan_fatal_closed(void);
/* The caller waits for ever. */
void chan_wait_forever(void);

/*
 * A select takes a place in a queue of the channel, and comes back to it.
 * Until then the record stays, though its last owner may be gone; unless the
 * place is claimed, which takes the pin off. Lock held.
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
/* Releases the lock, and frees a channel that nobody needs any more. */
void chan_unlock(struct weft_chan *c);

/*
 * A hint without the lock: could it be done at once? If it could throughout
 * the call the answer is yes; if it could not throughout, no.
 */
static inline bool
chan_can_send(struct weft_chan *c)
{
	if (a_load_relaxed(&c->closed))
		return true;		/* and dies of it */
	return c->cap ? a_load_relaxed(&c->n) < c->cap :
	    !waitq_empty(&c->receivers);
}

static inline bool
chan_can_recv(struct weft_chan *c)
{
	/* pairs with ring_get: it was empty before it was closed, or we see
	 * that it is closed */
	bool some = c->cap ? a_load_acq(&c->n) > 0 :
	    !waitq_empty(&c->senders);

	return some || a_load_relaxed(&c->closed);
}

/*
 * Nothing is there, and who asked does not wait. If it is a timer's channel
 * the timer may be due, and only waiting for this goroutine to let it fire:
 * then that is done. True if something may be there now.
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

/* What is received: into v if there is room, zero bytes if from is NULL. */
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

/* A channel for one time, that reads as having no room. */
struct weft_chan *chan_make_timed(struct weft_timer *t);
/* Puts the time into it unless one is there; who is woken goes on the list. */
void chan_send_time(struct weft_chan *c, int64_t now, struct glist *woken);
/* Takes out what is there; true if something was. */
bool chan_drain(struct weft_chan *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Channels: a ring of elements, a queue of waiting receivers, a queue of
 * waiting senders, and one lock.
 *
 * Under the lock one of these holds:
 *
 *	receivers wait	the ring is empty, no sender waits, it is open
 *	senders wait	the ring is full, no receiver waits, it is open
 *	no waiters
 *
 * (A select with both kinds of cases on a channel waits in both queues. It is
 * not its own partner, since a waiter is claimed by a running goroutine or
 * thread, and the select is parked.)
 *
 * So a send that finds a receiver waiting copies the element directly to where
 * the receiver wants it, and a receive from a full ring moves the element of
 * the longest waiting sender into the slot that it frees: order is kept.
 *
 * A claimed waiter belongs to its claimer: the element is copied after the
 * lock is released, and the waiter woken last. The claimer does not touch the
 * channel after it has released the lock, so the receiver of the last value
 * may free the channel at once, whatever the sender has still to do.
 *
 * A select that ended in another case, or by its deadline or context, comes
 * back to this channel once more, to dequeue its entry. It does not wait any
 * more, so the last owner may release the channel before that. `select_refs`
 * counts the entries of selects, from the moment they are queued until they
 * are claimed here or the select has dequeued them. (Not the length of the
 * queues: a sender or receiver removes the entries that it cannot claim.) If
 * there are any at the last release the channel is `dead`, and the last of
 * these selects frees it.
 *
 * A closed channel that has been seen empty stays so: `closed` is stored with
 * release order after all sends, so a load of `n` that follows an acquire load
 * of `closed` sees the last send, and from then on n only decreases
 * (weft_chan_is_closed).
 *
 * Rejected: a lock-free ring for buffered channels. It saves one locked
 * instruction of two when there are no waiters, and needs the lock anyway to
 * wait.
 */
#include "chan.h"

#include <stdlib.h>

#include "chan_type.h"
#include "fatal.h"
#include "preempt.h"
#include "sched.h"
#include "timer.h"
#include "user_block.h"

/* ---- life ---- */

public weft_chan *
weft_chan_make_kind(size_t elem_bytes, size_t cap, int kind)
{
	struct weft_chan *c;

	if (elem_bytes > CHAN_ELEM_MAX || cap > UINT32_MAX / 2 ||
	    (elem_bytes && cap > (SIZE_MAX / 4) / elem_bytes) ||
	    !type_valid(elem_bytes, kind))
		return NULL;
	/* Only a buffer holds what users gave us. */
	c = cap ? user_block_alloc(sizeof *c + elem_bytes * cap) :
	    malloc(sizeof *c);
	if (unlikely(!c))
		return NULL;
	*c = (struct weft_chan){
		.lock = LOCK_INIT(RANK_CHAN),
		.cap = (uint32_t)cap,
		.elem_bytes = (uint32_t)elem_bytes,
		.type = (uint32_t)kind << TYPE_KIND_SHIFT |
		    (uint32_t)elem_bytes,
		.type_mask = kind ? UINT32_MAX : TYPE_SIZE_MASK,
		.refs = { 1 },
	};
	return c;
}

public weft_chan *
weft_chan_make(size_t elem_bytes, size_t cap)
{
	return weft_chan_make_kind(elem_bytes, cap, WEFT_KIND_NONE);
}

struct weft_chan *
chan_make_timed(struct weft_timer *t)
{
	struct weft_chan *c = weft_chan_of(int64_t, 1);

	if (c) {
		c->timed = true;
		c->timer = t;
	}
	return c;
}

public weft_chan *
weft_chan_retain(weft_chan *c)
{
	if (c && a_add_relaxed(&c->refs, 1) == 0)
		fatal("channel: retained after its last release");
	return c;
}

/* Lock held. Does the queue have a waiter that is not claimed? */
static bool
has_unclaimed(const struct waitq *q)
{
	for (struct list *n = a_load_relaxed(&q->first); n; n = n->next) {
		struct sleeper *s = container_of(n, struct waiter, link)->who;

		if (!s->multi_wait || a_load_relaxed(&s->race) == RACE_OPEN)
			return true;
	}
	return false;
}

static void
destroy(struct weft_chan *c)
{
	bool waits;

	if (c->timer)
		timer_chan_freed(c->timer);
	lock_take(&c->lock);
	waits = has_unclaimed(&c->receivers) || has_unclaimed(&c->senders);
	if (waits)
		fatal("channel: released for the last time while a goroutine "
		    "or thread waits on it");
	c->dead = true;
	chan_unlock(c);
}

void
chan_unlock(struct weft_chan *c)
{
	bool last = c->dead && !c->select_refs, buffered = c->cap > 0;

	lock_drop(&c->lock);
	if (likely(!last))
		return;
	if (buffered)
		user_block_free(c);
	else
		free(c);
}

public void
weft_chan_release(weft_chan *c)
{
	uint32_t old;

	if (!c)
		return;
	/* pairs with itself: the last one sees what all others did */
	old = a_add_acqrel(&c->refs, -1u);
	if (unlikely(old == 0))
		fatal("channel: released more often than retained");
	if (old == 1)
		destroy(c);
}

public size_t
weft_chan_len(weft_chan *c)
{
	return c && !c->timed ? a_load_relaxed(&c->n) : 0;
}

public size_t
weft_chan_cap(weft_chan *c)
{
	return c && !c->timed ? c->cap : 0;
}

public bool
weft_chan_is_closed(weft_chan *c)
{
	checkpoint();
	/* pairs with weft_chan_close: see the head */
	return c && a_load_acq(&c->closed) && a_load_relaxed(&c->n) == 0;
}

void
chan_fatal_closed(void)
{
	fatal("channel: send on a closed channel");
}

void
chan_wait_forever(void)
{
	struct m *mp = m_self();

	if (mp && m_g(mp))
		sched_park(NULL, NULL, WAIT_NIL);
	m_halt();
}

/* ---- the ring: lock held ---- */

static always_inline void *
slot(struct weft_chan *c, uint32_t i)
{
	return c->buf + (size_t)i * c->elem_bytes;
}

static always_inline uint32_t
after(struct weft_chan *c, uint32_t i)
{
	return i + 1 == c->cap ? 0 : i + 1;
}

static always_inline void
ring_put(struct weft_chan *c, const void *v)
{
	elem_put(slot(c, c->put), v, c->elem_bytes);
	c->put = after(c, c->put);
	a_store_relaxed(&c->n, a_load_relaxed(&c->n) + 1);
}

static always_inline void
ring_get(struct weft_chan *c, void *v)
{
	elem_put(v, slot(c, c->get), c->elem_bytes);
	c->get = after(c, c->get);
	/* pairs with chan_can_recv, which, if it sees it empty, sees an earlier
	 * close */
	a_store_rel(&c->n, a_load_relaxed(&c->n) - 1);
}

/*
 * The ring is full and a sender was claimed: its element takes the slot of the
 * oldest one. n does not change: a reader without the lock must not see fewer
 * elements than there are.
 */
static always_inline void
ring_rotate(struct weft_chan *c, void *v, struct waiter *sender)
{
	elem_put(v, slot(c, c->get), c->elem_bytes);
	elem_put(slot(c, c->get), sender->elem, c->elem_bytes);
	c->get = c->put = after(c, c->get);
}

/* ---- what can be done at once: lock held ---- */

/* As waitq_claim. A select that proceeds here does not come back to dequeue
 * this entry. */
static always_inline struct waiter *
claim(struct weft_chan *c, struct waitq *q)
{
	struct waiter *w = waitq_claim(q);

	if (w && unlikely(w->who->multi_wait))
		c->select_refs--;
	return w;
}

/*
 * Both copy from or to a claimed waiter's stack under the lock, which a select
 * has to hold anyway; the plain paths below copy after they have released it.
 */
bool
chan_send_locked(struct weft_chan *c, const void *v, struct waiter **wake)
{
	struct waiter *w;

	check(lock_held(&c->lock));
	if (unlikely(a_load_relaxed(&c->closed)))
		chan_fatal_closed();
	*wake = NULL;
	w = claim(c, &c->receivers);
	if (w) {
		elem_put(w->elem, v, c->elem_bytes);
		*wake = w;
		return true;
	}
	if (a_load_relaxed(&c->n) == c->cap)
		return false;
	ring_put(c, v);
	return true;
}

bool
chan_recv_locked(struct weft_chan *c, void *v, bool *ok, struct waiter **wake)
{
	struct waiter *w = claim(c, &c->senders);

	check(lock_held(&c->lock));
	*ok = true;
	*wake = w;
	if (a_load_relaxed(&c->n) && w)
		ring_rotate(c, v, w);
	else if (a_load_relaxed(&c->n))
		ring_get(c, v);
	else if (w)
		elem_put(v, w->elem, c->elem_bytes);
	else
		*ok = false;
	if (*ok)
		return true;
	if (!a_load_relaxed(&c->closed))
		return false;
	elem_put(v, NULL, c->elem_bytes);
	return true;
}

/* ---- sending and receiving ---- */

/* Lock held; released when the caller sleeps. Returns what the claimer stored
 * in ok: false for a close. */
static noinline bool
wait_in(struct weft_chan *c, struct waitq *q, void *elem,
    enum wait_reason reason)
{
	struct sleeper s;
	struct waiter w;

	sleeper_init(&s);
	w.who = &s;
	w.elem = elem;
	waitq_push(q, &w);
	sleeper_sleep(&s, &c->lock, reason);
	return w.ok;
}

static always_inline void
send(struct weft_chan *c, const void *v)
{
	struct waiter *w;

	lock_take(&c->lock);
	if (unlikely(a_load_relaxed(&c->closed)))
		chan_fatal_closed();
	if (!waitq_empty(&c->receivers) && (w = claim(c, &c->receivers))) {
		uint32_t bytes = c->elem_bytes;

		lock_drop(&c->lock);
		elem_put(w->elem, v, bytes);
		sleeper_wake(w->who);
		checkpoint();
		return;
	}
	if (a_load_relaxed(&c->n) < c->cap) {
		ring_put(c, v);
		lock_drop(&c->lock);
		checkpoint();
		return;
	}
	if (!wait_in(c, &c->senders, (void *)(uintptr_t)v, WAIT_SEND))
		chan_fatal_closed();
}

/* Lock held, closed and drained. */
static bool
recv_closed(struct weft_chan *c, void *v)
{
	uint32_t bytes = c->elem_bytes;

	lock_drop(&c->lock);
	elem_put(v, NULL, bytes);
	checkpoint();
	return false;
}

static always_inline bool
recv(struct weft_chan *c, void *v)
{
	uint32_t bytes = c->elem_bytes;
	struct waiter *w = NULL;

	lock_take(&c->lock);
	if (unlikely(!waitq_empty(&c->senders)))
		w = claim(c, &c->senders);
	if (a_load_relaxed(&c->n)) {
		if (w)
			ring_rotate(c, v, w);
		else
			ring_get(c, v);
		lock_drop(&c->lock);
		if (w)
			sleeper_wake(w->who);
		checkpoint();
		return true;
	}
	if (w) {
		lock_drop(&c->lock);
		elem_put(v, w->elem, bytes);
		sleeper_wake(w->who);
		checkpoint();
		return true;
	}
	if (a_load_relaxed(&c->closed))
		return recv_closed(c, v);
	if (wait_in(c, &c->receivers, v, WAIT_RECV))
		return true;
	elem_put(v, NULL, bytes);
	return false;
}

public void
weft_chan_send(weft_chan *c, const void *v)
{
	if (unlikely(!c))
		chan_wait_forever();
	send(c, v);
}

public bool
weft_chan_recv(weft_chan *c, void *v)
{
	if (unlikely(!c))
		chan_wait_forever();
	return recv(c, v);
}

/*
 * The typed forms compare one word; what differs is converted or fatal, in a
 * function of its own, so that the common path needs no room for it.
 */
static noinline void
send_converted(struct weft_chan *c, const void *v, uint32_t type)
{
	struct converted tmp;

	weft_chan_send(c, type_convert_slow(c, v, type, &tmp));
}

public void
weft_chan_send_(weft_chan *c, const void *v, uint32_t type)
{
	if (unlikely(!c))
		chan_wait_forever();
	if (type_fits(c, type))
		send(c, v);
	else
		send_converted(c, v, type);
}

public bool
weft_chan_recv_(weft_chan *c, void *v, uint32_t type)
{
	if (unlikely(!c))
		chan_wait_forever();
	type_check(c, type, "received from");
	return recv(c, v);
}

public void *
weft_chan_recv_at_(weft_chan *c, void *v, uint32_t type)
{
	weft_chan_recv_(c, v, type);
	return v;
}

/* ---- without waiting ---- */

/* Lock held, released on return. Wakes the waiter, if there is one. */
static void
finish(struct weft_chan *c, struct waiter *wake)
{
	lock_drop(&c->lock);
	if (wake)
		sleeper_wake(wake->who);
}

public bool
weft_chan_try_send(weft_chan *c, const void *v)
{
	struct waiter *wake;
	bool done;

	checkpoint();
	if (!c || !chan_can_send(c))
		return false;
	lock_take(&c->lock);
	done = chan_send_locked(c, v, &wake);
	finish(c, wake);
	return done;
}

public bool
weft_chan_try_recv(weft_chan *c, void *v)
{
	struct waiter *wake;
	bool done, ok;

	checkpoint();
	if (!c || (!chan_can_recv(c) && !chan_run_timers(c)))
		return false;
	lock_take(&c->lock);
	done = chan_recv_locked(c, v, &ok, &wake);
	finish(c, wake);
	return done && ok;
}

public bool
weft_chan_try_send_(weft_chan *c, const void *v, uint32_t type)
{
	struct converted tmp;

	return weft_chan_try_send(c, c ? type_convert(c, v, type, &tmp) : v);
}

public bool
weft_chan_try_recv_(weft_chan *c, void *v, uint32_t type)
{
	if (c)
		type_check(c, type, "received from");
	return weft_chan_try_recv(c, v);
}

/* ---- closing ---- */

/* Waiters that are woken at a time: they run while the next are collected. */
enum { CLOSE_BATCH = 256 };

/*
 * Lock held, closed: no waiter is queued any more. Moves up to a batch of
 * waiters to a list.
 */
static void
take_batch(struct weft_chan *c, struct list *out)
{
	for (int i = 0; i < CLOSE_BATCH; i++) {
		struct waiter *w = claim(c, &c->receivers);

		if (!w)
			w = claim(c, &c->senders);
		if (!w)
			return;
		w->ok = false;
		list_push(out, &w->link);
	}
}

/*
 * A waiter that is woken may release the channel for the last time, so the
 * channel is not touched after the last batch, and before that only with a
 * reference of our own.
 */
public void
weft_chan_close(weft_chan *c)
{
	bool more, kept = false;
	struct list woken;

	checkpoint();
	if (!c)
		fatal("channel: close of a NULL channel");
	lock_take(&c->lock);
	if (a_load_relaxed(&c->closed))
		fatal("channel: close of a closed channel");
	/* pairs with weft_chan_is_closed: after the last send */
	a_store_rel(&c->closed, true);
	do {
		list_init(&woken);
		take_batch(c, &woken);
		more = !waitq_empty(&c->receivers) ||
		    !waitq_empty(&c->senders);
		if (more && !kept) {
			weft_chan_retain(c);
			kept = true;
		}
		lock_drop(&c->lock);
		waiter_wake_all(&woken);
		if (more)
			lock_take(&c->lock);
	} while (more);
	if (kept)
		weft_chan_release(c);
}

/* ---- for timers ---- */

void
chan_send_time(struct weft_chan *c, int64_t now, struct glist *woken)
{
	struct waiter *wake = NULL;

	lock_take(&c->lock);
	if (!a_load_relaxed(&c->closed))
		chan_send_locked(c, &now, &wake);
	lock_drop(&c->lock);
	if (wake && wake->who->gp)
		glist_push(woken, wake->who->gp);
	else if (wake)
		note_wake(&wake->who->note);
}

bool
chan_drain(struct weft_chan *c)
{
	bool some;

	lock_take(&c->lock);
	some = a_load_relaxed(&c->n) > 0;
	if (some)
		ring_get(c, NULL);
	lock_drop(&c->lock);
	return some;
}

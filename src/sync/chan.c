/* SPDX-License-Identifier: MIT */
/*
 * Channels: a ring of elements, those who wait to receive, those who wait to
 * send, and one lock.
 *
 * Under the lock one of these holds:
 *
 *	receivers wait	the ring is empty, no sender waits, it is open
 *	senders wait	the ring is full, no receiver waits, it is open
 *	nobody waits
 *
 * (A select waits in both queues of a channel if it has both cases; it is not
 * its own partner, since who claims a waiter is somebody else who runs.)
 *
 * So a send with a receiver waiting copies the element straight to where the
 * receiver wants it, and a receive from a full ring moves the longest sender's
 * element into the room it makes: order is kept.
 *
 * A waiter that was claimed is its claimer's alone: the element is copied
 * after the lock is released, and the waiter woken last. After it has released
 * the lock nobody touches the channel again, so who got the last value may
 * free it at once, whatever the other side still has to do.
 *
 * A select that ended in another way, in another case or by its deadline,
 * comes back to this channel once more, to leave its queue; it does not wait
 * any more, so the last owner may release the channel before. `select_refs` counts
 * the places of selects in the queues, from the moment they are taken until
 * they are claimed here or the select has come back. (Not the length of the
 * queues: a sender or receiver takes those off them that it cannot claim.) If
 * there are any at the last release the channel is `dead`, and freed by the
 * last of them.
 *
 * Rejected: a lock-free ring for buffered channels. It saves one locked
 * instruction of two when nobody waits, and needs the lock anyway to wait.
 */
#include "chan.h"

#include <errno.h>
#include <stdlib.h>

#include "fatal.h"
#include "preempt.h"
#include "sched.h"
#include "timer.h"

/* ---- life ---- */

public weft_chan *
weft_chan_make(size_t elem_bytes, size_t cap)
{
	struct weft_chan *c;

	if (elem_bytes > CHAN_ELEM_MAX || cap > UINT32_MAX / 2 ||
	    (elem_bytes && cap > (SIZE_MAX / 4) / elem_bytes))
		return NULL;
	c = malloc(sizeof *c + elem_bytes * cap);
	if (unlikely(!c))
		return NULL;
	*c = (struct weft_chan){
		.lock = LOCK_INIT(RANK_CHAN),
		.cap = (uint32_t)cap,
		.elem_bytes = (uint32_t)elem_bytes,
		.refs = { 1 },
	};
	return c;
}

struct weft_chan *
chan_make_timed(struct weft_timer *t)
{
	struct weft_chan *c = weft_chan_make(sizeof(int64_t), 1);

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

/* Lock held. Does anybody stand in the queue whom nobody has claimed? */
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
		fatal("channel: released for the last time while somebody "
		    "waits on it");
	c->dead = true;
	chan_unlock(c);
}

void
chan_unlock(struct weft_chan *c)
{
	bool last = c->dead && !c->select_refs;

	lock_drop(&c->lock);
	if (unlikely(last))
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

cold static noreturn void
fatal_elem_size(struct weft_chan *c, size_t bytes)
{
	fatal("channel: its elements have %u bytes, not %zu", c->elem_bytes,
	    bytes);
}

void
chan_check_size(struct weft_chan *c, size_t bytes)
{
	if (unlikely(bytes != c->elem_bytes && bytes != (size_t)-1))
		fatal_elem_size(c, bytes);
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
	/* pairs with chan_can_recv: who sees it empty sees an earlier close */
	a_store_rel(&c->n, a_load_relaxed(&c->n) - 1);
}

/*
 * The ring is full and a sender was claimed: its element goes where the oldest
 * was. The number does not change: who looks without the lock must not see
 * less than is there.
 */
static always_inline void
ring_rotate(struct weft_chan *c, void *v, struct waiter *sender)
{
	elem_put(v, slot(c, c->get), c->elem_bytes);
	elem_put(slot(c, c->get), sender->elem, c->elem_bytes);
	c->get = c->put = after(c, c->get);
}

/* ---- what can be done at once: lock held ---- */

/* As waitq_claim. A select that goes on here does not come back to leave. */
static always_inline struct waiter *
claim(struct weft_chan *c, struct waitq *q)
{
	struct waiter *w = waitq_claim(q);

	if (w && unlikely(w->who->multi_wait))
		c->select_refs--;
	return w;
}

/*
 * Both copy from or to a claimed waiter's stack under the lock, which select
 * has to hold anyway; the plain paths below do it after they released it.
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

/* Lock held; released when it sleeps. The claimer's verdict. */
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

public void
weft_chan_send_(weft_chan *c, const void *v, size_t bytes)
{
	if (unlikely(!c))
		chan_wait_forever();
	chan_check_size(c, bytes);
	send(c, v);
}

public bool
weft_chan_recv_(weft_chan *c, void *v, size_t bytes)
{
	if (unlikely(!c))
		chan_wait_forever();
	chan_check_size(c, bytes);
	return recv(c, v);
}

public void *
weft_chan_recv_at_(weft_chan *c, void *v, size_t bytes)
{
	weft_chan_recv_(c, v, bytes);
	return v;
}

/* Releases the lock, and wakes who is to be woken. */
static void
finish(struct weft_chan *c, struct waiter *wake)
{
	lock_drop(&c->lock);
	if (wake)
		sleeper_wake(wake->who);
}

public int
weft_chan_try_send(weft_chan *c, const void *v)
{
	struct waiter *wake;
	bool done;

	checkpoint();
	if (!c || !chan_can_send(c))
		return -EAGAIN;
	lock_take(&c->lock);
	done = chan_send_locked(c, v, &wake);
	finish(c, wake);
	return done ? 1 : -EAGAIN;
}

public int
weft_chan_try_recv(weft_chan *c, void *v)
{
	struct waiter *wake;
	bool done, ok;

	checkpoint();
	if (!c || (!chan_can_recv(c) && !chan_run_timers(c)))
		return -EAGAIN;
	lock_take(&c->lock);
	done = chan_recv_locked(c, v, &ok, &wake);
	finish(c, wake);
	return done ? ok : -EAGAIN;
}

/* ---- closing ---- */

/* So many are woken at a time: the first run while we collect the next. */
enum { CLOSE_BATCH = 256 };

/*
 * Lock held, closed: nobody joins the queues any more. Moves up to a batch of
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
 * Who is woken may release the channel for the last time, so it is not touched
 * after the last batch; and before that only with a reference of our own.
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
	a_store_relaxed(&c->closed, true);
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

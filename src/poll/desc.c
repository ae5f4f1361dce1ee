/* SPDX-License-Identifier: MIT */
/* See desc.h. */
#include "desc.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "expire.h"
#include "fatal.h"
#include "fdcall.h"
#include "hard.h"
#include "netpoll.h"
#include "os.h"
#include "poller.h"
#include "readable.h"
#include "start.h"
#include "weft.h"

enum {
	VERIFY_MAX = 4096,	/* a call: a millisecond or two */
	COOKIE = 57		/* SO_COOKIE, which not every libc has */
};

struct desc_counts desc_counts;

static uint64_t
tag_of(const struct desc *d)
{
	return (uint64_t)a_load_relaxed(&d->gen) << 32 | (uint32_t)d->fd;
}

/* ---- kinds ---- */

/* A socket's kind, or -errno. */
static int
socket_kind(int fd)
{
	int type = 0, protocol = 0;
	unsigned len = sizeof type;
	long err = fd_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);

	if (err)
		return (int)err;
	/* Not by its family: a read of SCTP, for example, is a message. */
	len = sizeof protocol;
	fd_getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len);
	return type == SOCK_STREAM && protocol == IPPROTO_TCP ? KIND_TCP :
	    KIND_SOCKET;
}

/*
 * Lock held. 0 or -errno of the poller. An fd that it has with an old tag was
 * closed externally, while a duplicate of its file is still open.
 */
static int
add_to_poller(struct desc *d)
{
	int err = os_poller_add(d->fd, tag_of(d));

	if (err == -EEXIST)
		err = os_poller_retag(d->fd, tag_of(d));
	if (err)
		return err;
	a_store_relaxed(&d->registered, 1);
	a_add_relaxed(&desc_counts.registered, 1);
	return 0;
}

/* Lock held: the kind of an fd that is no socket. */
static int
other_kind(struct desc *d)
{
	int err = add_to_poller(d);

	if (err == -EPERM)
		return KIND_FILE;
	if (err)
		return err;
	return fd_control(d->fd, F_GETFL, 0) & O_NONBLOCK ? KIND_POLLED :
	    KIND_SLOW;
}

/* Lock held. 0 or -errno. */
static int
probe_kind(struct desc *d)
{
	int kind = socket_kind(d->fd);

	if (kind == -ENOTSOCK)
		kind = other_kind(d);
	if (kind < 0)
		return kind;
	a_store_rel(&d->kind, (uint8_t)kind);	/* pairs with desc_enter */
	return 0;
}

int
desc_register(struct desc *d)
{
	int err = 0;

	if (likely(a_load_relaxed(&d->registered)))
		return 0;
	err = netpoll_start();
	if (err)
		return err;
	lock_take(&d->lock);
	if (!a_load_relaxed(&d->registered))
		err = a_load_relaxed(&d->refs) & CLOSING ? -EBADF :
		    add_to_poller(d);
	lock_drop(&d->lock);
	return err;
}

/* ---- users ---- */

void
desc_clear(struct desc *d)
{
	/* pairs with weft_io_stats_read: a reader that sees this also sees it
	 * counted as registered */
	if (a_load_relaxed(&d->registered))
		a_add_acqrel(&desc_counts.closed, 1);
	a_store_relaxed(&d->registered, 0);
	a_store_relaxed(&d->flags, 0);
	a_store_relaxed(&d->error, 0);
	for (int dir = 0; dir < DIRS; dir++)
		a_and_relaxed(&d->ready[dir], ~(uint32_t)DRAINED);
	a_store_rel(&d->kind, KIND_UNKNOWN);	/* pairs with desc_enter */
}

/*
 * Lock held. A file has no waiters, so desc_verify would not notice that it was
 * closed externally and that its fd is a socket now: it is checked by each
 * call. The poller refuses files (-EPERM).
 */
static void
recheck_file(struct desc *d)
{
	if (os_poller_retag(d->fd, tag_of(d)) == -EPERM)
		return;
	desc_clear(d);
	a_add_relaxed(&desc_counts.repaired, 1);
}

/*
 * Counted. 0: its kind is known; else it is not counted any more. -EBADF if
 * refs has one of the bits `not`.
 */
static int
enter_and_probe(struct desc *d, uint32_t not, struct desc **out)
{
	/* There may be no fd left for the poller: a socket does not need it
	 * before a call waits. */
	int err = netpoll_start();

	if (unlikely(err) && socket_kind(d->fd) >= 0)
		err = 0;
	hard_pause();
	lock_take(&d->lock);
	/* A close meanwhile may not see that it was registered, with the next
	 * generation's tag. An fd that was free may have become the poller's
	 * by netpoll_start. */
	if (a_load_relaxed(&d->refs) & not)
		err = -EBADF;
	if (!err && a_load_relaxed(&d->kind) == KIND_FILE)
		recheck_file(d);
	if (!err && a_load_relaxed(&d->kind) == KIND_UNKNOWN)
		err = probe_kind(d);
	lock_drop(&d->lock);
	if (err)
		desc_leave(d);
	else
		*out = d;
	return err;
}

/* d is counted already, or NULL: there is no record yet. */
cold int
desc_enter_slow(int fd, struct desc *d, struct desc **out)
{
	if (fd < 0)
		return -EBADF;
	if (!d) {
		d = desc_make(fd);
		if (!d)
			return (uint32_t)fd / DESC_CHUNK < DESC_CHUNKS ?
			    -ENOMEM : -EBADF;
		a_add_acqrel(&d->refs, 1);	/* pairs with desc_leave */
	}
	if (!desc_wait_closed(d)) {
		desc_leave(d);
		return -EBADF;
	}
	return enter_and_probe(d, CLOSING | OWN, out);
}

int
desc_enter_own(int fd, struct desc **out)
{
	struct desc *d = desc_at(fd);

	if (!d)
		return -EBADF;
	/* pairs with desc_leave */
	if (!(a_add_acqrel(&d->refs, 1) & OWN)) {
		desc_leave(d);
		return -EBADF;
	}
	return enter_and_probe(d, CLOSING, out);
}

void
desc_wake(struct desc *d, enum dir dir, bool ok, struct glist *woken)
{
	struct waitq *q = &d->waiters[dir];
	struct list *node;

	while ((node = a_load_relaxed(&q->first))) {
		struct waiter *w = container_of(node, struct waiter, link);
		struct sleeper *s = w->who;

		waitq_remove(q, w);
		w->queued = false;
		w->ok = ok;
		if (w->elem)
			sleeper_end(s, RACE_CANCELLED, woken);
		else if (!sleeper_claim(s))
			continue;
		else if (s->gp)
			glist_push(woken, s->gp);
		else
			note_wake(&s->note);
	}
}

/* ---- events ---- */

/* Lock held. */
static void
became_ready(struct desc *d, enum dir dir, struct glist *woken)
{
	uint32_t old = a_load_relaxed(&d->ready[dir]);

	/* pairs with desc_try */
	while (!a_cas_rel(&d->ready[dir], old,
	    (old & ~(uint32_t)DRAINED) + EVENT))
		old = a_load_relaxed(&d->ready[dir]);
	desc_wake(d, dir, true, woken);
	if (dir == DIR_IN)
		readable_start(d, false, woken);
}

void
desc_wake_dir(struct desc *d, enum dir dir)
{
	struct glist woken = {0};

	lock_take(&d->lock);
	became_ready(d, dir, &woken);
	lock_drop(&d->lock);
	sched_ready_list(&woken);
}

void
desc_event(uint64_t tag, uint32_t what, struct glist *woken)
{
	struct desc *d = desc_at((int)(uint32_t)tag);

	if (unlikely(!d))
		return;		/* not of our poller: see os_poller_check */
	lock_take(&d->lock);
	if (a_load_relaxed(&d->gen) != (uint32_t)(tag >> 32)) {
		lock_drop(&d->lock);
		a_add_relaxed(&desc_counts.stale, 1);
		return;
	}
	if (unlikely(what & (POLLER_HUP | POLLER_URGENT)))
		a_store_relaxed(&d->flags,
		    a_load_relaxed(&d->flags) | HUP_OR_PRI);
	if (what & (POLLER_IN | POLLER_HUP))
		became_ready(d, DIR_IN, woken);
	if (what & (POLLER_OUT | POLLER_HUP))
		became_ready(d, DIR_OUT, woken);
	lock_drop(&d->lock);
}

/* ---- one at a time ---- */

void
desc_flag(struct desc *d, unsigned flag)
{
	lock_take(&d->lock);
	a_store_relaxed(&d->flags, (uint8_t)(a_load_relaxed(&d->flags) | flag));
	lock_drop(&d->lock);
}

bool
desc_lock_dir(struct desc *d, enum dir dir)
{
	uint8_t flags;
	bool alone;

	lock_take(&d->lock);
	flags = a_load_relaxed(&d->flags);
	alone = !(flags & BUSY << dir);
	a_store_relaxed(&d->flags,
	    (uint8_t)(flags | (alone ? BUSY : MISSED) << dir));
	lock_drop(&d->lock);
	return alone;
}

/*
 * A call that found BUSY meanwhile waits, or is about to: it read the word
 * before it saw BUSY, so this event changes what it saw, or wakes it.
 */
void
desc_unlock_dir(struct desc *d, enum dir dir)
{
	struct glist woken = {0};
	uint8_t flags;

	lock_take(&d->lock);
	flags = a_load_relaxed(&d->flags);
	a_store_relaxed(&d->flags,
	    (uint8_t)(flags & ~((BUSY | MISSED) << dir)));
	if (flags & MISSED << dir)
		became_ready(d, dir, &woken);
	lock_drop(&d->lock);
	sched_ready_list(&woken);
}

/* ---- closed externally ---- */

static bool
is_socket(struct desc *d)
{
	return (uint8_t)(a_load_relaxed(&d->kind) - KIND_TCP) <=
	    KIND_SOCKET - KIND_TCP;
}

static bool
has_limit(struct desc *d)
{
	return a_load_relaxed(&d->deadline[DIR_IN]) ||
	    a_load_relaxed(&d->deadline[DIR_OUT]);
}

/*
 * Identifies the socket; 0 if it is none. Cookies are assigned in sequence, so
 * the low bits repeat after four billion sockets. A kernel or an emulator
 * without them has inode numbers, which are assigned in the same way.
 */
static uint32_t
which_socket(int fd)
{
	struct stat st = {0};
	uint64_t cookie = 0;
	unsigned len = sizeof cookie;
	long err = fd_getsockopt(fd, SOL_SOCKET, COOKIE, &cookie, &len);

	if (likely(!err))
		return (uint32_t)cookie;
	if (err == -ENOTSOCK || err == -EBADF)
		return 0;
	syscall6(SYS_fstat, fd, (long)&st, 0, 0, 0, 0);
	return (uint32_t)st.st_ino;
}

/* Lock held. Is the fd the file that the limits were set for? */
static bool
has_same_file(struct desc *d)
{
	if (is_socket(d))
		return d->timer.owner_word == which_socket(d->fd);
	return !a_load_relaxed(&d->registered) || os_poller_has(d->fd);
}

/*
 * Lock held. The fd was closed externally: its waiters try again, on the file
 * that has the fd now, or get -EBADF if there is none. Limits that were set for
 * the new file stay; those of the old one are removed, and the caller releases
 * its context.
 */
static cold void
repair(struct desc *d, struct glist *woken)
{
	bool there;

	if (has_limit(d) && !has_same_file(d))
		desc_end_limits(d);
	a_store_relaxed(&d->gen, a_load_relaxed(&d->gen) + 1);
	desc_clear(d);
	there = probe_kind(d) == 0;
	a_add_relaxed(&desc_counts.repaired, 1);
	desc_wake(d, DIR_IN, there, woken);
	desc_wake(d, DIR_OUT, there, woken);
	readable_start(d, !there, woken);
}

cold int
desc_revalidate(struct desc *d)
{
	struct glist woken = {0};
	int err = -EBADF;

	lock_take(&d->lock);
	if (!(a_load_relaxed(&d->refs) & CLOSING)) {
		repair(d, &woken);
		if (a_load_relaxed(&d->kind) != KIND_UNKNOWN)
			err = 0;
	}
	lock_drop(&d->lock);
	sched_ready_list(&woken);
	desc_release_contexts();
	return err;
}

/* ---- limits ---- */

bool
desc_limit_holds(struct desc *d)
{
	struct glist woken = {0};
	bool holds;

	lock_take(&d->lock);
	/* Its number is not reused while it is CLOSING and has users. */
	holds = a_load_relaxed(&d->refs) & CLOSING || has_same_file(d);
	if (!holds)
		repair(d, &woken);
	lock_drop(&d->lock);
	sched_ready_list(&woken);
	desc_release_contexts();
	return holds;
}

int
desc_limit_slow(struct desc *d, enum dir dir)
{
	int64_t when = desc_deadline(d, dir);
	int err = when != 0 && when <= os_now_ns() ? -ETIMEDOUT : 0;

	if (!err) {
		lock_take(&d->lock);
		err = desc_context_error(d);
		lock_drop(&d->lock);
	}
	return err && desc_limit_holds(d) ? err : 0;
}

/*
 * Lock held. From now on the limits of the record are of the file that has the
 * fd: those that were set for another file are removed. False if the fd cannot
 * have limits. The caller releases contexts.
 */
static bool
remember_file(struct desc *d, struct glist *woken)
{
	uint32_t which = is_socket(d) ? which_socket(d->fd) : 0;

	if (is_socket(d) ?
	    !which || (d->timer.owner_word != which && has_limit(d)) :
	    !has_same_file(d)) {
		repair(d, woken);
		which = is_socket(d) ? which_socket(d->fd) : 0;
	}
	d->timer.owner_word = which;
	return (uint8_t)(a_load_relaxed(&d->kind) - 1) < KIND_FILE - 1;
}

/* Waiters are woken, to wait with the new deadline. */
void
desc_set_deadline(struct desc *d, unsigned dirs, int64_t when)
{
	struct glist woken = {0};

	if (when == NEVER_NS)
		when = 0;
	else if (when < 0)
		when = 1;
	lock_take(&d->lock);
	if (when && !remember_file(d, &woken))
		when = 0;
	for (int dir = 0; dir < DIRS; dir++) {
		if (!(dirs & 1u << dir))
			continue;
		a_store_relaxed(&d->deadline[dir], (uint64_t)when |
		    (a_load_relaxed(&d->deadline[dir]) & HAS_CONTEXT));
		desc_wake(d, dir, true, &woken);
		if (dir == DIR_IN)
			readable_deadline(d, &woken);
	}
	lock_drop(&d->lock);
	sched_ready_list(&woken);
	desc_release_contexts();
}

bool
desc_set_context(struct desc *d, struct desc_context *c)
{
	struct glist woken = {0};
	bool can;

	lock_take(&d->lock);
	can = !c || remember_file(d, &woken);
	desc_detach_context(d);
	if (c && can)
		desc_attach_context(d, c, &woken);
	lock_drop(&d->lock);
	sched_ready_list(&woken);
	desc_release_contexts();
	return can;
}

/* ---- waiting ---- */

/*
 * Lock held. Not if it was found closed externally since it was registered;
 * nor if the runtime has ended. If it has not, desc_ended finds the waiter.
 */
static bool
can_be_woken(struct desc *d)
{
	return a_load_relaxed(&d->registered) && sched_is_up();
}

/*
 * Lock held. False: it need not wait, or must not (*err), or no event would
 * wake it; or its context is cancelled, which the caller's next check of the
 * limits finds.
 */
static bool
may_wait(struct desc *d, enum dir dir, int64_t when, int *err)
{
	*err = a_load_relaxed(&d->refs) & CLOSING ? -EBADF : 0;
	return !*err && desc_deadline(d, dir) == when &&
	    a_load_relaxed(&d->ready[dir]) & DRAINED && can_be_woken(d) &&
	    !desc_context_error(d);
}

/* The deadline has passed: off the queue, if it is still there. */
static int
timed_out(struct desc *d, enum dir dir, struct waiter *w)
{
	lock_take(&d->lock);
	if (w->queued)
		waitq_remove(&d->waiters[dir], w);
	lock_drop(&d->lock);
	if (!w->ok)
		return -EBADF;
	if (!desc_limit_holds(d))
		return 0;
	a_add_relaxed(&desc_counts.timeouts, 1);
	return -ETIMEDOUT;
}

int
desc_wait(struct desc *d, enum dir dir)
{
	int64_t when = desc_deadline(d, dir);
	int err = desc_register(d);
	enum race how = RACE_CLAIMED;
	struct sleeper s;
	struct waiter w;

	if (err)
		return err;
	if (unlikely(!sched_is_up()))
		return fdio_wait_no_runtime(d, dir);
	netpoll_poll_soon();
	sleeper_init(&s);
	waiter_init(&w, &s, d);
	w.elem = NULL;
	if (when)
		sleeper_arm(&s, when);
	lock_take(&d->lock);
	if (may_wait(d, dir, when, &err)) {
		waitq_push(&d->waiters[dir], &w);
		netpoll_waiter_added();
		how = sleeper_sleep(&s, &d->lock,
		    dir == DIR_IN ? WAIT_READ : WAIT_WRITE);
		/* If it expired another thread may just be writing w.ok. */
		if (how != RACE_EXPIRED)
			err = w.ok ? 0 : -EBADF;
	} else {
		lock_drop(&d->lock);
	}
	if (when)
		sleeper_disarm(&s);
	return how == RACE_EXPIRED ? timed_out(d, dir, &w) : err;
}

bool
desc_enqueue(struct desc *d, enum dir dir, uint32_t seen, struct waiter *w)
{
	bool same;

	w->elem = d;
	w->queued = false;
	lock_take(&d->lock);
	same = a_load_relaxed(&d->ready[dir]) == seen &&
	    !(a_load_relaxed(&d->refs) & CLOSING) && can_be_woken(d);
	if (same) {
		waitq_push(&d->waiters[dir], w);
		netpoll_waiter_added();
	}
	lock_drop(&d->lock);
	return same;
}

void
desc_dequeue(struct desc *d, enum dir dir, struct waiter *w)
{
	lock_take(&d->lock);
	if (w->queued)
		waitq_remove(&d->waiters[dir], w);
	lock_drop(&d->lock);
}

/* ---- for netpoll and the monitor ---- */

static bool
awaited(struct desc *d)
{
	return !waitq_empty(&d->waiters[DIR_IN]) ||
	    !waitq_empty(&d->waiters[DIR_OUT]) ||
	    a_load_relaxed(&d->on_readable) > READABLE_CLOSED;
}

/* Usually it is the same as the last time, for example a listener. */
bool
desc_any_waiters(void)
{
	static a32 hint;
	uint32_t n = desc_fd_limit();
	struct desc *d = desc_at((int)a_load_relaxed(&hint));

	if (d && awaited(d))
		return true;
	for (uint32_t fd = 0; fd < n; fd++) {
		d = desc_at((int)fd);
		if (d && awaited(d)) {
			a_store_relaxed(&hint, fd);
			return true;
		}
	}
	return false;
}

/* Goroutines never run again: they are taken off the queues and dropped. */
static void
end_waits(struct desc *d, void *dropped)
{
	lock_take(&d->lock);
	desc_wake(d, DIR_IN, true, dropped);
	desc_wake(d, DIR_OUT, true, dropped);
	lock_drop(&d->lock);
}

void
desc_ended(void)
{
	struct glist dropped = {0};

	desc_each(end_waits, &dropped);
}

bool
desc_verify(struct glist *woken)
{
	static uint32_t at;
	uint32_t n = desc_fd_limit(), looks = 0;

	for (; at < n; at++) {
		struct desc *d = desc_at((int)at);

		if (!d || !a_load_relaxed(&d->registered) || !awaited(d))
			continue;
		if (looks++ == VERIFY_MAX)
			return true;
		lock_take(&d->lock);
		if (awaited(d) && a_load_relaxed(&d->registered) &&
		    !(a_load_relaxed(&d->refs) & CLOSING) &&
		    !os_poller_has(d->fd))
			repair(d, woken);
		lock_drop(&d->lock);
	}
	at = 0;
	desc_release_later(woken);
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * A descriptor: what is known of a file descriptor, and its waiters. There is
 * one record for each fd number, in a table that grows and never shrinks, so
 * that a late event or a late call finds a record, not foreign memory.
 *
 *	         probe_kind, at the first call; desc_new_tcp
 *	UNKNOWN ---------------------------------------------> a kind
 *	   ^                                                     |
 *	   +-----------------------------------------------------+
 *	     the last user, after weft_close; if it was closed externally:
 *	     desc_new_fd, desc_verify
 *
 * Readiness. The poller is edge-triggered (os/poller.h): it reports changes,
 * not states, so each direction has a word: a count of events, and a bit
 * DRAINED.
 *
 *	an event		count + 1, DRAINED off, wakes all waiters
 *	a call that found	DRAINED on, if the count is still the one that
 *	nothing			it read *before* it tried
 *	a call that must wait	waits only if DRAINED is on, under the lock
 *
 * So an event between the try and the wait is never missed: it has changed the
 * count, or it comes after DRAINED was set and wakes the waiter. While DRAINED
 * is on no call needs to try.
 *
 * Users. A call counts itself in `refs` while it uses the fd. weft_close sets
 * CLOSING, wakes all, and the last user closes the fd: so the kernel does not
 * reuse the number while an old call may still use it.
 *
 * Own descriptors. Some are the runtime's: the poller's, and those by which it
 * waits for signals and children. These have OWN in `refs`, and calls of the
 * program get -EBADF; the runtime uses them by desc_enter_own.
 *
 * Deadlines. A deadline belongs to the file that it was set for, and an fd that
 * was closed externally may be another file now. So the file is remembered when
 * a deadline is set, and compared when one is reached:
 *
 *	a socket	by its cookie, in `timer.owner_word`
 *	anything else	by the poller: it is added before it has a deadline,
 *			and the poller has it only while it is that file
 *
 * All deadlines of a record are of one file. A call without a deadline pays
 * nothing.
 *
 * Contexts. A descriptor may have a context, which ends its calls once it is
 * cancelled. It belongs to the file, as deadlines do, and is ended with them;
 * deadlines and context together are the *limits* of a descriptor. What is
 * known here is a `struct desc_context`, a record of io/fd_context.c, where
 * the protocol between the two locks is written down. It is in a table beside
 * the descriptors, since hardly any has one; while there is one, both deadline
 * words have the bit HAS_CONTEXT, so that a call without limits reads one word.
 *
 * See desc_context.c.
 *
 * Generations. Each time an fd is closed its `gen` grows; events carry, in
 * their tag, the gen that the descriptor was registered with. A stale event,
 * one of an old gen, is dropped.
 */
#ifndef DESC_H
#define DESC_H

#include "atomic.h"
#include "hard.h"
#include "lock.h"
#include "timer_heap.h"
#include "waitq.h"

enum desc_kind {
	KIND_UNKNOWN,
	KIND_TCP,		/* a short read has drained it */
	KIND_SOCKET,		/* any other socket */
	KIND_POLLED,		/* non-blocking: pipe, terminal, eventfd ... */
	KIND_SLOW,		/* the same, but blocking */
	KIND_FILE		/* cannot be waited for */
};

enum dir { DIR_IN, DIR_OUT, DIRS };

enum { DRAINED = 1, EVENT = 2 };	/* of a readiness word */
#define CLOSING 0x80000000u		/* of refs: weft_close was called, */
#define CLOSED 0x40000000u		/* ... and the last user closes it */
#define OWN 0x20000000u			/* the runtime's own: see above */
enum {					/* of flags */
	HUP_OR_PRI = 1,		/* hung up, or urgent data: a short read does
				 * not mean that it is drained */
	NONBLOCK = 2,		/* known to have O_NONBLOCK */
	/* of a blocking one, shifted by the direction: */
	NO_NOWAIT = 4,		/* the kernel cannot be asked not to wait */
	BUSY = 16,		/* a call has desc_lock_dir */
	MISSED = 64,		/* another call tried to get it meanwhile */
	/* of a file, which has none of these but NO_NOWAIT: */
	FILE_SEEN = 16,		/* FILE_DIRECT is known */
	FILE_DIRECT = 32	/* O_DIRECT: past the page cache */
};

/* In `on_readable`: no goroutine, but reserved. See readable.c. */
#define READABLE_CLAIMED ((struct g *)1)
#define READABLE_CLOSED ((struct g *)2)

/* Of a deadline word; times are not negative. */
#define HAS_CONTEXT (UINT64_C(1) << 63)

/* A context of a descriptor; part of a record of io/fd_context.c. */
struct desc_context {
	/* constant */
	int64_t deadline;	/* of the context; NEVER_NS: none */
	/* frees the record; called with no lock held, when it is detached */
	void (*release)(struct desc_context *c);
	/* under the descriptor's lock */
	int error;		/* 0, or why the context is cancelled */
	/* in `detached`, of desc.c: written before it is pushed */
	struct desc_context *next;
};

struct desc {
	struct lock lock;

	/* any thread, atomic */
	a32 refs;		/* calls that use it, and CLOSING, OWN */
	a32 ready[DIRS];	/* events counted, and DRAINED */

	/* written under lock, atomic */
	a32 gen;
	a8 kind;		/* enum desc_kind */
	a8 registered;		/* the poller knows it */
	a8 flags;		/* HUP_OR_PRI, NONBLOCK ... */
	/* any thread, atomic */
	a8 error;		/* not reported yet: see fdio_save_error */
	/* constant */
	int fd;
	/* written under lock, atomic */
	a64 deadline[DIRS];	/* 0: none; and HAS_CONTEXT */

	/* under lock */
	struct waitq waiters[DIRS];

	/* any thread, atomic: a goroutine that begins when it is readable */
	APTR(struct g) on_readable;
	struct timer timer;	/* of `on_readable`: see readable.c; its
				 * owner_word, under lock: the file that the
				 * deadlines were set for, see above */
} cache_aligned;
_Static_assert(sizeof(struct desc) == 128, "two cache lines");

/* ---- the table ---- */

enum {
	DESC_CHUNK = 256,
	DESC_CHUNKS = 65536	/* 16 million fds */
};

struct desc_chunk {
	struct desc d[DESC_CHUNK];
	/* each under the lock of its descriptor; memory that no descriptor
	 * with a context has touched is not there */
	struct desc_context *context[DESC_CHUNK];
};

/* any thread, atomic: filled as fds are used, never emptied (but in the child
 * of a fork) */
extern struct desc_table { APTR(struct desc_chunk) chunk[DESC_CHUNKS]; }
    desc_table;

/* The record of an fd; NULL if there is none yet. */
static always_inline struct desc *
desc_at(int fd)
{
	uint32_t at = (uint32_t)fd / DESC_CHUNK;
	struct desc_chunk *c;

	if (unlikely(at >= DESC_CHUNKS))
		return NULL;
	c = a_load_acq(&desc_table.chunk[at]);	/* pairs with desc_make */
	return likely(c) ? &c->d[(uint32_t)fd % DESC_CHUNK] : NULL;
}

/* Where its context is, or NULL. Lock held. */
static inline struct desc_context **
desc_context_at(struct desc *d)
{
	uint32_t i = (uint32_t)d->fd % DESC_CHUNK;

	return &container_of(d - i, struct desc_chunk, d[0])->context[i];
}

/* Makes one if there is none; NULL on allocation failure or a too large fd. */
struct desc *desc_make(int fd);
/* All fds that have a record are smaller than that. */
uint32_t desc_fd_limit(void);

/* ---- a call ---- */

int desc_enter_slow(int fd, struct desc *d, struct desc **out);
/* The same for one that is the runtime's own; -EBADF if it is not. */
int desc_enter_own(int fd, struct desc **out);
int desc_last(struct desc *d);

/*
 * Begins a call: 0 and the record, whose kind is known then; -EBADF, -ENOMEM.
 * desc_leave ends it. The caller holds no lock.
 */
static always_inline int
desc_enter(int fd, struct desc **out)
{
	struct desc *d = desc_at(fd);

	if (likely(d)) {
		/* pairs with desc_leave of earlier users */
		uint32_t refs = a_add_acqrel(&d->refs, 1);

		/* pairs with probe_kind; a file is checked again, see
		 * recheck_file, and UNKNOWN - 1 is large */
		if (likely(!(refs & (CLOSING | OWN)) &&
		    (uint8_t)(a_load_acq(&d->kind) - 1) < KIND_FILE - 1)) {
			*out = d;
			return 0;
		}
	}
	return desc_enter_slow(fd, d, out);
}

/*
 * The same for a call that makes sense on a file only. A known file is not
 * checked again: what the number may be by now, after a close(2), refuses such
 * a call by itself.
 */
static always_inline int
desc_enter_file(int fd, struct desc **out)
{
	struct desc *d = desc_at(fd);

	if (unlikely(!d))
		return desc_enter_slow(fd, d, out);
	/* pairs with desc_leave of earlier users, and with probe_kind */
	if (likely(!(a_add_acqrel(&d->refs, 1) & (CLOSING | OWN)) &&
	    a_load_acq(&d->kind) == KIND_FILE)) {
		*out = d;
		return 0;
	}
	return desc_enter_slow(fd, d, out);
}

static always_inline void
desc_leave(struct desc *d)
{
	/* pairs with desc_enter, and among users: the last one closes */
	if (unlikely(a_add_acqrel(&d->refs, -1u) == (CLOSING | 1)))
		desc_last(d);
}

/* Shall it be tried? *seen is the word before the try. */
static always_inline bool
desc_try(struct desc *d, enum dir dir, uint32_t *seen)
{
	/* pairs with became_ready: what the event reports is there */
	*seen = a_load_acq(&d->ready[dir]);
	return likely(!(*seen & DRAINED));
}

/* A try found nothing, after that word was seen. */
static always_inline void
desc_drained(struct desc *d, enum dir dir, uint32_t seen)
{
	hard_pause();
	/* relaxed: it fails if an event came since */
	a_cas_relaxed(&d->ready[dir], seen, seen | DRAINED);
}

int desc_limit_slow(struct desc *d, enum dir dir);

/*
 * 0; -ETIMEDOUT: the deadline of that direction is over, or that of the
 * context; -ECANCELED: the context is cancelled. Within a call, no lock held.
 */
static always_inline int
desc_limit_error(struct desc *d, enum dir dir)
{
	return likely(a_load_relaxed(&d->deadline[dir]) == 0) ? 0 :
	    desc_limit_slow(d, dir);
}

/* The deadline of that direction; 0: none. */
static inline int64_t
desc_deadline(struct desc *d, enum dir dir)
{
	return (int64_t)(a_load_relaxed(&d->deadline[dir]) & ~HAS_CONTEXT);
}

/* The earlier one of that and the context's; NEVER_NS: none. No lock held. */
int64_t desc_earliest(struct desc *d, enum dir dir);

/*
 * Waits until it is not DRAINED: 0; -ETIMEDOUT; -EBADF: it was closed; -ENOMEM
 * and the like if the kernel refuses to watch it. Within a call, no lock held.
 */
int desc_wait(struct desc *d, enum dir dir);

/* The same for a thread while there is no runtime that would wake it: in
 * fdio.c. */
int fdio_wait_no_runtime(struct desc *d, enum dir dir);

/* Registers it with the poller, if it is not: 0 or -errno. Within a call, no
 * lock held. */
int desc_register(struct desc *d);

/*
 * dirs: bits 1 << dir; 0 and NEVER_NS: no deadline. Within a call, no lock
 * held.
 */
void desc_set_deadline(struct desc *d, unsigned dirs, int64_t when);

/*
 * From now on it has that context, or none: NULL. The old one, if there is one,
 * is released. False: it can have none. The same.
 */
bool desc_set_context(struct desc *d, struct desc_context *c);
/*
 * The context is cancelled, with that error: all calls on it that wait are
 * woken, if c is attached to it. No lock of RANK_DESC on is held, others may
 * be.
 */
void desc_cancel(struct desc *d, struct desc_context *c, int error,
    struct glist *woken);

/*
 * A limit is reached. True if it was set for what the number is now; else there
 * is none any more, and the call goes on. The same.
 */
bool desc_limit_holds(struct desc *d);

/*
 * Only one call at a time may ask whether a blocking descriptor is ready and
 * then read it: between desc_lock_dir and desc_unlock_dir. False: another call
 * does; the caller treats that as -EAGAIN, and an event follows the unlock.
 */
bool desc_lock_dir(struct desc *d, enum dir dir);
void desc_unlock_dir(struct desc *d, enum dir dir);
void desc_flag(struct desc *d, unsigned flag);
/* The same, unless it is no file any more: closed externally, and reused. */
void desc_flag_file(struct desc *d, unsigned flag);

/* What is known of it turned out to be wrong, within a call: it was closed
 * externally. 0: it was probed again; -EBADF. */
int desc_revalidate(struct desc *d);

int desc_close(int fd);
/* It is no longer the runtime's own: before it is closed. */
void desc_disown(int fd);
/* The kernel has just returned this fd: what is known of it is void. */
void desc_new_fd(int fd);
/*
 * The same for a TCP connection, which the caller knows it to be, and to have
 * O_NONBLOCK: its first call need not ask the kernel.
 */
void desc_new_tcp(int fd);

/* Waiters in that direction try again. Within a call. */
void desc_wake_dir(struct desc *d, enum dir dir);

/* ---- between desc.c and desc_close.c ---- */

/* Lock held: clears what was found out about it. */
void desc_clear(struct desc *d);
/*
 * The same: it has no deadline and no context. The caller wakes the waiters,
 * and calls desc_release_contexts when it has dropped the lock.
 */
void desc_end_limits(struct desc *d);

/* ---- desc_context.c ---- */

/* Lock held. It has none: attaches it, and wakes all waiters. */
void desc_attach_context(struct desc *d, struct desc_context *c,
    struct glist *woken);
/* Lock held. Has it one no more; it is to be released. */
void desc_detach_context(struct desc *d);
/* Releases what was detached. No lock held; not on the monitor. */
void desc_release_contexts(void);
/* The same for the monitor: a goroutine does it, if there is any to do. */
void desc_release_later(struct glist *woken);
/* Lock held. Why its context ends its calls; 0: it does not, or has none. */
int desc_context_error(struct desc *d);
void desc_contexts_forked(void);
/* Lock held. Wakes the waiters of that direction: they try again, or, if !ok,
 * return -EBADF. */
void desc_wake(struct desc *d, enum dir dir, bool ok, struct glist *woken);
/*
 * Counted. Waits while the kernel closes it (CLOSED), since the caller may have
 * got the number for a new file meanwhile. True if it is not CLOSING then: the
 * fd is free, or another file. No lock held.
 */
bool desc_wait_closed(struct desc *d);

/* ---- several at a time: poll.c ---- */

/*
 * Queues w for one direction; an event ends its sleep with CANCELLED (see
 * waitq.h). False if the word is not `seen` any more, or no event would wake
 * it. desc_dequeue removes it, and must be called in both cases.
 */
bool desc_enqueue(struct desc *d, enum dir dir, uint32_t seen,
    struct waiter *w);
void desc_dequeue(struct desc *d, enum dir dir, struct waiter *w);

/* ---- counters ---- */

struct desc_counts {
	a64 registered, closed, stale, timeouts, repaired;
};
extern struct desc_counts desc_counts;
/* Calls fn for every record. */
void desc_each(void (*fn)(struct desc *d, void *arg), void *arg);

/* ---- for netpoll and the monitor ---- */

/*
 * This fd is the runtime's own, and just made: calls of the program get
 * -EBADF. 0; -ENOMEM: they do not. No lock held.
 */
int desc_own(int fd);

/* An event: its waiters are added to the list. No lock held. */
void desc_event(uint64_t tag, uint32_t what, struct glist *woken);
/* Is there any waiter? Any thread. */
bool desc_any_waiters(void);
/*
 * The monitor, every second or so: checks whether descriptors with waiters are
 * still registered. True if there are more of them.
 */
bool desc_verify(struct glist *woken);
/* In the child of a fork. */
void desc_forked(void);
/* The runtime has ended, and the thread in the poller will end: plain threads
 * that wait must poll by themselves. */
void desc_ended(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A descriptor: what we know of a file descriptor, and who waits for it. There
 * is one record for each number, in a table that grows and never shrinks, so
 * that a late event or a late call finds a record, not foreign memory.
 *
 *	         probe_kind, at the first call
 *	UNKNOWN ----------------------------> a kind
 *	   ^                                    |
 *	   +------------------------------------+
 *	     the last user of one that is closed; desc_new_fd, if it was closed
 *	     behind our back; desc_verify, the same
 *
 * Readiness. The kernel reports changes, not states (os/poller.h), so each
 * direction has a word: a count of events, and a bit DRAINED.
 *
 *	event			count + 1, DRAINED off, wakes all who wait
 *	who found nothing	DRAINED on, if the count is still the one that
 *				it read *before* it tried
 *	who wants to wait	does so only if DRAINED is on, under the lock
 *
 * So an event between the try and the wait is never missed: it has changed the
 * count, or it comes after DRAINED was set and wakes who waits. While DRAINED
 * is on nobody needs to try.
 *
 * Users. A call counts itself in `refs` while it uses the number. weft_close
 * sets CLOSING, wakes all, and the last user closes the number: so the kernel
 * does not give it to somebody else while an old call may still use it.
 *
 * Own ones. Some numbers are the runtime's: the poller's, and those by which
 * it waits for signals and children. These have OWN in `refs`, and calls of the
 * program are refused them; it uses them by desc_enter_own.
 *
 * Deadlines. One belongs to the file that it was set for, and a number that was
 * closed behind our back may be another file's. So the file is remembered when
 * a deadline is set, and compared when one is reached:
 *
 *	a socket	by its cookie, in `timer.owner_word`
 *	anything else	by the poller: it is added before it has a deadline,
 *			and what is there is the file that was added
 *
 * All deadlines of a record are of one file. A call that has none in force
 * pays nothing.
 *
 * Tags. Each time a number is closed its `gen` grows; events carry the gen that
 * the descriptor was registered with. One of an old gen is dropped.
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
#define CLOSED 0x40000000u		/* ... and the last user is at it */
#define OWN 0x20000000u			/* the runtime's own: see above */
enum {					/* of flags */
	HUP_OR_PRI = 1,		/* hung up, or urgent data: a short read does
				 * not mean that it is drained */
	NONBLOCK = 2,		/* known to have O_NONBLOCK */
	/* of a blocking one, shifted by the direction: */
	NO_NOWAIT = 4,		/* the kernel cannot be asked not to wait */
	BUSY = 16,		/* one asks, and then reads: desc_lock_dir */
	MISSED = 64		/* another one came meanwhile */
};

/* In `on_readable`: no goroutine, but it is taken. See readable.c. */
#define READABLE_CLAIMED ((struct g *)1)
#define READABLE_CLOSED ((struct g *)2)

struct desc {
	struct lock lock;

	/* any thread, atomic */
	a32 refs;		/* calls that use it, and CLOSING, OWN */
	a32 ready[DIRS];	/* events counted, and DRAINED */

	/* written under lock, atomic */
	a32 gen;
	a8 kind;		/* enum desc_kind */
	a8 registered;		/* the poller knows it */
	a8 flags;		/* HUP_OR_PRI, NONBLOCK */
	/* any thread, atomic */
	a8 error;		/* that nobody was told: see fdio_save_error */
	/* constant */
	int fd;
	/* written under lock, atomic */
	a64 deadline[DIRS];	/* 0: none */

	/* under lock */
	struct waitq waiters[DIRS];

	/* any thread, atomic: a goroutine that begins when it is readable */
	APTR(struct g) on_readable;
	struct timer timer;	/* of `on_readable`: see readable.c; its owner_word, under
				 * lock: see deadlines, above */
} cache_aligned;
_Static_assert(sizeof(struct desc) == 128, "two cache lines");

/* ---- the table ---- */

enum {
	DESC_CHUNK = 256,
	DESC_CHUNKS = 65536	/* 16 million numbers */
};

struct desc_chunk {
	struct desc d[DESC_CHUNK];
};

/* any thread, atomic: filled as numbers are used, never emptied (but in the
 * child of a fork) */
extern struct desc_table { APTR(struct desc_chunk) chunk[DESC_CHUNKS]; }
    desc_table;

/* The record of a number; NULL if there is none yet. */
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

/* Makes one if there is none; NULL if memory is refused, or fd too large. */
struct desc *desc_make(int fd);
/* All that have a record are smaller than that. */
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
		/* pairs with desc_leave: of whoever used it before */
		uint32_t refs = a_add_acqrel(&d->refs, 1);

		/* pairs with probe_kind; a file is looked at again, see
		 * recheck_file, and UNKNOWN - 1 is large */
		if (likely(!(refs & (CLOSING | OWN)) &&
		    (uint8_t)(a_load_acq(&d->kind) - 1) < KIND_FILE - 1)) {
			*out = d;
			return 0;
		}
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

/* Shall it be tried? And the word as it was before. */
static always_inline bool
desc_try(struct desc *d, enum dir dir, uint32_t *seen)
{
	/* pairs with desc_event: what it announces is there */
	*seen = a_load_acq(&d->ready[dir]);
	return likely(!(*seen & DRAINED));
}

/* There was nothing to be had, after that word was seen. */
static always_inline void
desc_drained(struct desc *d, enum dir dir, uint32_t seen)
{
	hard_pause();
	/* relaxed: if an event came since, it does not take place */
	a_cas_relaxed(&d->ready[dir], seen, seen | DRAINED);
}

bool desc_expired_slow(struct desc *d, enum dir dir);

/* Is the deadline of that direction over? */
static always_inline bool
desc_expired(struct desc *d, enum dir dir)
{
	return unlikely(a_load_relaxed(&d->deadline[dir]) != 0) &&
	    desc_expired_slow(d, dir);
}

/*
 * Waits until it is not DRAINED: 0; -ETIMEDOUT; -EBADF: it was closed; -ENOMEM
 * and the like if the kernel refuses to watch it. Within a call, no lock held.
 */
int desc_wait(struct desc *d, enum dir dir);

/* The same for a thread while no runtime is there that would tell it: in
 * fdio.c. */
int fdio_wait_no_runtime(struct desc *d, enum dir dir);

/* Has the poller watch it, if it does not yet. The same. */
int desc_register(struct desc *d);

/* dirs: bits 1 << dir. Within a call, no lock held. */
void desc_set_deadline(struct desc *d, unsigned dirs, int64_t when);

/*
 * The time of a deadline has come. True if it was set for what the number is
 * now; else there is none any more, and the call goes on. The same.
 */
bool desc_deadline_holds(struct desc *d);

/*
 * Only one at a time may ask whether a blocking descriptor is ready and then
 * read it: desc_lock_dir to desc_unlock_dir. False: another one is at it; that is
 * to be taken as -EAGAIN, an event will say when he is done.
 */
bool desc_lock_dir(struct desc *d, enum dir dir);
void desc_unlock_dir(struct desc *d, enum dir dir);
void desc_flag(struct desc *d, unsigned flag);

/* What is known of it turned out to be wrong, within a call: it was closed
 * behind our back. 0: it is known anew; -EBADF. */
int desc_revalidate(struct desc *d);

int desc_close(int fd);
/* It shall be the runtime's own no longer: to be closed. */
void desc_disown(int fd);
/* The kernel has just given us this number: nothing known of it holds. */
void desc_new_fd(int fd);

/* Whoever waits in that direction tries again. Within a call. */
void desc_wake_dir(struct desc *d, enum dir dir);

/* ---- between desc.c and desc_close.c ---- */

/* Lock held: nothing that was found out about it holds any more. */
void desc_clear(struct desc *d);
/* The same: it has no deadline. Those who wait are woken by the caller. */
void desc_end_deadlines(struct desc *d);
/* Lock held. Who waits in that direction is woken: it tries again, or not. */
void desc_wake(struct desc *d, enum dir dir, bool ok, struct glist *woken);
/*
 * Counted, and found CLOSING. True if that is over: the number is the kernel's
 * again, or somebody else's. It is waited for while the kernel closes it: the
 * caller may be who got the number meanwhile. No lock held.
 */
bool desc_wait_closed(struct desc *d);

/* ---- several at a time: poll.c ---- */

/*
 * Stands in the queue of one direction, to be ended with CANCELLED (see
 * waitq.h), unless the word is not `seen` any more, or nobody would tell it:
 * then false. desc_dequeue leaves the queue, in any case.
 */
bool desc_enqueue(struct desc *d, enum dir dir, uint32_t seen,
    struct waiter *w);
void desc_dequeue(struct desc *d, enum dir dir, struct waiter *w);

/* ---- seeing inside ---- */

struct desc_counts {
	a64 registered, closed, stale, timeouts, repaired;
};
extern struct desc_counts desc_counts;
/* Calls fn for every record there ever was. */
void desc_each(void (*fn)(struct desc *d, void *arg), void *arg);

/* ---- what netpoll and the monitor ask for ---- */

/*
 * This number is the runtime's own, and just made: calls of the program are
 * refused it. 0; -ENOMEM: they are not. No lock held.
 */
int desc_own(int fd);

/* An event: who waits for it is added to the list. No lock held. */
void desc_event(uint64_t tag, uint32_t what, struct glist *woken);
/* Does anybody wait for a descriptor? Any thread. */
bool desc_any_waiters(void);
/*
 * The monitor, every second or so: looks whether those that are waited for are
 * still what they were. True if there are more of them.
 */
bool desc_verify(struct glist *woken);
/* In the child of a fork. */
void desc_forked(void);
/* The runtime has ended, and so will who sleeps in the poller: plain threads
 * that wait shall do it by themselves. */
void desc_ended(void);

#endif

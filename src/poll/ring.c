/* SPDX-License-Identifier: MIT */
/*
 * Operations on files by io_uring.
 *
 * Only if they are asked for (WEFT_DEBUG=uring=1). The kernel completes a read
 * on the thread that submitted it, when that next runs or sleeps where it can
 * be interrupted. If the goroutine that the M runs next is in a call where it
 * cannot (fsync, vfork, a file on a server that is gone), the read waits for
 * that call: measured, one second in a vfork of one second. That is a stall of
 * the kind that the scheduler promises not to have. Submitting by a thread that
 * runs no goroutines would mend it.
 *
 * An operation is a record on the stack of its goroutine:
 *
 *	SUBMITTED --> PARKED	the goroutine, once it is off its stack
 *	    |            |
 *	    +------------+---> DONE	the reaper, with the result written; one
 *					that was PARKED is then made runnable
 *
 * A goroutine that finds DONE does not park. After DONE the record is not
 * touched: it may be gone. The buffer is the kernel's from the submission until
 * DONE, and the goroutine does not leave before: nothing ends an operation but
 * its completion. So neither close nor a deadline has anything to cancel (files
 * have no deadlines, and weft_close leaves the closing to the last call, as for
 * any file: desc.h).
 *
 * Rings. There is one for each P, made when a goroutine on it first needs one;
 * beyond MAX_RINGS, Ps share (a submission holds its ring for a few
 * microseconds, and descriptors are few). The P is only a hint, which may be
 * wrong: a lock guards the submissions, another one the completions.
 *
 * Reaping. Any thread may: a P may be stuck in a loop. The ring's descriptor
 * is in the poller, so whichever thread polls (netpoll.c) reaps; besides, a
 * goroutine that submits reaps its ring, which is in its cache anyway. A
 * completion that was posted is an event, or was reaped before that; an event
 * for which nothing is left is harmless.
 *
 * The lock of completions is not held while one waits for anything. That of
 * submissions is held in the system call; the kernel does not wait for the disk
 * there.
 *
 * Rejected: one ring for all. Its submitters would wait for each other, in our
 * lock or the kernel's. A ring for each P without locks, for its owner alone:
 * the kernel completes most operations on the thread that submitted them, which
 * by then may run another goroutine, on another P, or none.
 *
 * The kernel keeps what a thread has submitted with that thread. If an M ends,
 * its operations end with an error, of reads through the page cache -EFAULT
 * (Linux 6.18). So the caller of ring_do makes the call by itself after any
 * error.
 *
 * Only for what the kernel can do without a worker thread of its own, reads of
 * files with RWF_NOWAIT: fsync, openat and writes to the page cache would take
 * one, which is a thread as ours is, but which deadlock.c does not know.
 */
#include "ring.h"

#include <errno.h>

#include "debug_env.h"
#include "desc.h"
#include "fatal.h"
#include "fdcall.h"
#include "hard.h"
#include "netpoll.h"
#include "os.h"
#include "poller.h"
#include "sanitize.h"
#include "sched.h"
#include "start.h"

enum {
	MAX_RINGS = 16,
	OPERATIONS = 512,	/* of a ring, at a time; more use threads */
	ENTRIES = 1024,		/* and the cancellation */
	END_NS = 1000 * 1000 * 1000
};

struct ring {
	struct lock submit;
	struct lock reap;
	/* any thread, atomic: set once (but in the child of a fork) */
	abool made;
	/* constant after that, but the queues */
	struct uring u;
	/* any thread, atomic: submitted and not reaped; raised under submit,
	 * lowered under reap */
	a32 pending;
	/* under submit, and under reap: the runtime has ended */
	bool no_submit, no_reap;
} cache_aligned;

enum { SUBMITTED, PARKED, DONE };

struct operation {
	/* constant */
	struct g *gp;
	/* the reaper, before DONE */
	long result;
	/* any thread, atomic */
	a32 state;
};

/* Made as Ps need them. */
static struct ring rings[MAX_RINGS] = {
	[0 ... MAX_RINGS - 1] = {
		.submit = LOCK_INIT(RANK_RING),
		.reap = LOCK_INIT(RANK_RING)
	}
};
static struct lock making = LOCK_INIT(RANK_RING);
/* any thread, atomic: 0, or why there are none, -errno; written once */
static a32 refusal;

struct ring_counts ring_counts;

/* ---- making one ---- */

/* Reasons that do not pass. Others (no memory, no descriptor) may. */
static bool
is_final(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENOSYS ||
	    err == -EINVAL;
}

static bool
is_made(const struct ring *r)
{
	return likely(a_load_acq(&r->made));	/* pairs with open_locked */
}

/* `making` held. 0 or -errno. */
static int
open_locked(struct ring *r)
{
	int err = os_uring_open(&r->u, ENTRIES);

	if (err)
		return err;
	err = os_poller_add(r->u.fd, RING_TAG | (uint32_t)(r - rings));
	if (err)
		os_uring_close(&r->u);
	else
		a_store_rel(&r->made, true);	/* pairs with is_made */
	return err;
}

/* 0 if it is made now. A thread that is about to make one is not waited for:
 * -EAGAIN. */
static int
open_once(struct ring *r)
{
	bool was;
	int err;

	if (!lock_try(&making))
		return -EAGAIN;
	was = is_made(r);
	err = was ? 0 : open_locked(r);
	hard_pause();
	lock_drop(&making);
	if (!was && !err)
		desc_own(r->u.fd);
	return err;
}

static bool
is_wanted(void)
{
	return debug_env_num("uring", 0) != 0;
}

/* False: there is none. No lock held. */
static cold bool
make(struct ring *r)
{
	int err = is_wanted() ? netpoll_start() : -ENOSYS;

	if (!err)
		err = open_once(r);
	if (is_final(err))
		a_store_relaxed(&refusal, (uint32_t)-err);
	return !err;
}

/* NULL: there is none. */
static struct ring *
get(void)
{
	struct p *pp = m_p(m_self());
	struct ring *r = &rings[pp ? pp->id % MAX_RINGS : 0];

	if (is_made(r))
		return r;
	return !a_load_relaxed(&refusal) && make(r) ? r : NULL;
}

/* ---- reaping ---- */

/* True if its goroutine is to be woken. */
static bool
complete(struct operation *op, long result)
{
	op->result = result;
	hard_pause();
	/* pairs with park_commit, and with ring_do, which reads the result */
	return a_xchg_acqrel(&op->state, DONE) == PARKED;
}

static void
reap_locked(struct ring *r, struct glist *woken)
{
	struct uring_done done;
	struct operation *op;
	struct g *gp;

	check(lock_held(&r->reap));
	while (os_uring_take(&r->u, &done)) {
		op = (struct operation *)(uintptr_t)done.tag;
		if (!op)
			continue;		/* the cancellation */
		san_acquire(op);	/* the submitter's: by the kernel */
		gp = op->gp;
		if (complete(op, done.result))
			glist_push(woken, gp);
		/* relaxed: `firing` of netpoll.c, or our P, orders it */
		a_add_relaxed(&r->pending, -1u);
		a_add_relaxed(&ring_counts.done, 1);
	}
}

static void
reap(struct ring *r, struct glist *woken)
{
	lock_take(&r->reap);
	if (likely(!r->no_reap))
		reap_locked(r, woken);
	lock_drop(&r->reap);
}

void
ring_event(uint64_t tag, struct glist *woken)
{
	uint32_t at = (uint32_t)tag - RING_TAG;

	if (at < MAX_RINGS && is_made(&rings[at]))
		reap(&rings[at], woken);
}

bool
ring_any_waiters(void)
{
	for (uint32_t i = 0; i < MAX_RINGS; i++)
		if (a_load_relaxed(&rings[i].pending))
			return true;
	return false;
}

/* ---- an operation ---- */

static bool
submit(struct ring *r, const struct uring_op *op)
{
	bool ok;

	lock_take(&r->submit);
	ok = !r->no_submit && a_load_relaxed(&r->pending) < OPERATIONS;
	if (ok) {
		/* Before it can be reaped. */
		a_add_relaxed(&r->pending, 1);
		san_release((void *)(uintptr_t)op->tag);
		ok = os_uring_submit(&r->u, op) == 0;
		if (!ok)
			a_add_relaxed(&r->pending, -1u);
	}
	lock_drop(&r->submit);
	if (!ok)
		a_add_relaxed(&ring_counts.refused, 1);
	return ok;
}

static bool
park_commit(struct g *gp, void *arg)
{
	struct operation *op = arg;

	(void)gp;
	hard_pause();
	/* pairs with complete */
	return a_cas_acqrel(&op->state, SUBMITTED, PARKED);
}

bool
ring_do(struct uring_op *what, enum wait_reason reason, long *result)
{
	struct m *mp = m_self();
	struct operation op = { .gp = mp ? m_g(mp) : NULL };
	struct glist woken = {0};
	struct ring *r;

	if (!op.gp || !sched_is_up() || !(r = get()))
		return false;
	what->tag = (uintptr_t)&op;
	if (!submit(r, what))
		return false;
	hard_pause();
	if (os_uring_has_done(&r->u)) {
		reap(r, &woken);
		sched_ready_list(&woken);
	}
	/* pairs with complete */
	if (a_load_acq(&op.state) != DONE) {
		netpoll_poll_soon();
		a_add_relaxed(&ring_counts.parked, 1);
		sched_park(park_commit, &op, reason);
	}
	*result = op.result;
	return true;
}

/* ---- the end ---- */

/* A ring that is not made yet may be, by a goroutine that still runs. */
static void
end_submissions(struct ring *r)
{
	struct uring_op cancel = { .what = URING_CANCEL_ALL, .fd = -1 };

	lock_take(&r->submit);
	r->no_submit = true;
	if (a_load_relaxed(&r->pending))
		os_uring_submit(&r->u, &cancel);
	lock_drop(&r->submit);
}

/*
 * There are no more submissions, and from now on no other thread reaps; so none
 * takes the completion that we wait for. Goroutines never run again: they are
 * dropped.
 */
static void
end_operations(struct ring *r, int64_t until)
{
	struct glist dropped = {0};

	lock_take(&r->reap);
	r->no_reap = true;
	reap_locked(r, &dropped);
	lock_drop(&r->reap);
	while (a_load_relaxed(&r->pending) && os_now_ns() < until) {
		os_uring_wait(&r->u, os_left_ns(until));
		lock_take(&r->reap);
		reap_locked(r, &dropped);
		lock_drop(&r->reap);
	}
}

void
ring_ended(void)
{
	int64_t until = os_now_ns() + END_NS;

	for (uint32_t i = 0; i < MAX_RINGS; i++)
		end_submissions(&rings[i]);
	hard_pause();
	for (uint32_t i = 0; i < MAX_RINGS; i++)
		if (is_made(&rings[i]))
			end_operations(&rings[i], until);
}

/*
 * The queues are not mapped in the child. Operations of the parent are its own,
 * with its memory.
 */
void
ring_forked(void)
{
	for (uint32_t i = 0; i < MAX_RINGS; i++) {
		struct ring *r = &rings[i];

		if (a_load_relaxed(&r->made))
			fd_close(r->u.fd);
		a_store_relaxed(&r->made, false);
		a_store_relaxed(&r->pending, 0);
	}
}

/* ---- WEFT_EXPLAIN ---- */

static void
explain(void)
{
	int64_t wanted = 0;

	if (os_env_number("WEFT_EXPLAIN", &wanted) != 1 || !wanted)
		return;
	if (is_made(&rings[0]) || make(&rings[0]))
		say("files that are not in memory are read by io_uring\n");
	else if (!is_wanted())
		say("files that are not in memory are read by threads; "
		    "WEFT_DEBUG=uring=1 asks for io_uring\n");
	else
		say("files that are not in memory are read by threads: the "
		    "kernel refuses io_uring (error %d)\n",
		    (int)a_load_relaxed(&refusal));
}

__attribute__((constructor)) static void
install(void)
{
	static struct run_hook h = { .boot = explain };

	run_hook_add(&h);
}

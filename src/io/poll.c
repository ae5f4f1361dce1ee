/* SPDX-License-Identifier: MIT */
/*
 * Waiting for several descriptors. poll(2) says which are ready, so nothing
 * needs to be drained; events of the poller say when to call it again:
 *
 *	0. register all with the poller
 *	1. read the readiness word of each
 *	2. poll, without waiting; if any is ready that is the answer
 *	3. enter the queues of all, unless the word of one has changed
 *	4. sleep until one of them has an event, the time is up, or the context
 *	   is cancelled; leave the queues
 *
 * An event after 1 has changed the word, and then it does not sleep; one after
 * 3 ends the sleep, also one that has not begun (see waitq.h). Nor does it
 * sleep if one of them is not registered any more.
 *
 * The answer is the kernel's, but for those that weft_close is closing.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "context.h"
#include "desc.h"
#include "fdcall.h"
#include "os.h"
#include "preempt.h"
#include "start.h"
#include "tsan_io.h"
#include "weft.h"

enum {
	FEW = 8,		/* whose records fit on the stack */
	POLL_FDS_MAX = 65536,
	TO_WRITE = POLLOUT | POLLWRNORM | POLLWRBAND
};

struct entry {
	struct desc *d;		/* NULL: not counted as a user of it */
	bool gone;		/* not open, or being closed already */
	uint32_t seen[DIRS];
	struct waiter w[DIRS];
	bool enqueued[DIRS];
};

/*
 * Counts the caller as a user of one. What is being closed counts as closed,
 * though the kernel may have it for a while: no event would tell its end.
 */
static int
enter(int fd, struct entry *e)
{
	int err = desc_enter(fd, &e->d);

	if (err)
		e->d = NULL;
	e->gone = err == -EBADF;
	return e->gone ? 0 : err;
}

static int
enter_all(struct pollfd *fds, size_t n, struct entry *e)
{
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		e[i].d = NULL;
		e[i].gone = false;
		if (!err && fds[i].fd >= 0)
			err = enter(fds[i].fd, &e[i]);
	}
	return err;
}

/* What the kernel cannot wait for is ready, or never will be. */
static bool
can_wait(const struct entry *e)
{
	return e->d && a_load_relaxed(&e->d->kind) != KIND_FILE;
}

/* 0. In each round: it may have been found to be closed externally. */
static int
register_all(struct entry *e, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (can_wait(&e[i]))
			err = desc_register(e[i].d);
		if (err == -EBADF) {
			e[i].gone = true;
			err = 0;
		}
	}
	return err;
}

static void
leave_all(struct entry *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (e[i].d)
			desc_leave(e[i].d);
}

/* 1 and 2. */
static long
poll_now(struct pollfd *fds, size_t n, struct entry *e)
{
	long ready;

	for (size_t i = 0; i < n; i++)
		for (int dir = 0; e[i].d && dir < DIRS; dir++)
			desc_try(e[i].d, (enum dir)dir, &e[i].seen[dir]);
	ready = fd_poll_now(fds, n);
	for (size_t i = 0; i < n && ready >= 0; i++) {
		if (!e[i].gone && (!e[i].d ||
		    !(a_load_relaxed(&e[i].d->refs) & CLOSING)))
			continue;
		ready += !fds[i].revents;
		fds[i].revents = POLLNVAL;
	}
	return ready;
}

/* 3. False: one has changed already. */
static bool
enqueue_all(struct pollfd *fds, size_t n, struct entry *e, struct sleeper *s)
{
	bool same = true;

	for (size_t i = 0; i < n; i++)
		for (int dir = 0; dir < DIRS; dir++) {
			struct waiter *w = &e[i].w[dir];

			/* Errors and hang-ups come without being wanted. */
			e[i].enqueued[dir] = same && can_wait(&e[i]) &&
			    (dir == DIR_IN || fds[i].events & TO_WRITE);
			if (!e[i].enqueued[dir])
				continue;
			waiter_init(w, s, e[i].d);
			same = e[i].enqueued[dir] = desc_enqueue(e[i].d,
			    (enum dir)dir, e[i].seen[dir], w);
		}
	return same;
}

static void
nothing(void *unused)
{
	(void)unused;
}

/*
 * 3 and 4. True if the time was up. That the context was cancelled is found
 * out by the caller, as an event is: both end the sleep in the same way.
 */
static bool
sleep_on_all(struct pollfd *fds, size_t n, struct entry *e, int64_t when,
    weft_context *ctx)
{
	enum race how = RACE_CANCELLED;
	struct sleeper s;
	struct watch w;
	int err;

	sleeper_init(&s);
	sleeper_arm(&s, when);
	err = context_watch(ctx, &w, &s);
	if (enqueue_all(fds, n, e, &s) && !err)
		how = sleeper_sleep_with(&s, nothing, NULL, WAIT_POLL);
	context_unwatch(ctx, &w);
	sleeper_disarm(&s);
	for (size_t i = 0; i < n; i++)
		for (int dir = 0; dir < DIRS; dir++)
			if (e[i].enqueued[dir])
				desc_dequeue(e[i].d, (enum dir)dir,
				    &e[i].w[dir]);
	return how == RACE_EXPIRED;
}

/* A thread while no runtime is there: of a context it sees the deadline. */
static cold int
poll_no_runtime(struct pollfd *fds, size_t n, int64_t when, weft_context *ctx)
{
	int64_t last = weft_context_deadline(ctx);
	long r;

	if (last < when)
		when = last;
	if (weft_context_error(ctx))
		when = 0;
	do {
		int64_t left = os_left_ns(when);
		long ts[2] = { left / 1000000000, left % 1000000000 };

		r = syscall6(SYS_ppoll, (long)fds, (long)n,
		    when == WEFT_NEVER ? 0 : (long)ts, 0, 0, 0);
	} while (r == -EINTR);
	return r ? (int)r : weft_context_error(ctx);
}

/* Without a context that is NULL. `when` in the past: does not wait. */
static int
poll_each(struct pollfd *fds, size_t n, int64_t when, weft_context *ctx)
{
	struct entry few[FEW], *e = few;
	bool expired = false;
	long ready;

	checkpoint();
	if (n > POLL_FDS_MAX)
		return -EINVAL;
	if (!sched_is_up())
		return poll_no_runtime(fds, n, when, ctx);
	if (n > FEW && !(e = malloc(n * sizeof *e)))
		return -ENOMEM;
	ready = enter_all(fds, n, e);
	while (!ready && !(ready = register_all(e, n))) {
		ready = poll_now(fds, n, e);
		if (!ready)
			ready = ctx ? weft_context_error(ctx) : 0;
		if (ready || expired || when <= os_now_ns())
			break;
		if (unlikely(!sched_is_up())) {
			ready = poll_no_runtime(fds, n, when, ctx);
			break;
		}
		expired = sleep_on_all(fds, n, e, when, ctx);
	}
	leave_all(e, n);
	if (e != few)
		free(e);
	return (int)ready;
}

static int
poll_acquire(struct pollfd *fds, size_t n, int64_t when, weft_context *ctx)
{
	int ready = poll_each(fds, n, when, ctx);

	if (ready > 0)
		tsan_io_acquire(ready);
	return ready;
}

public int
weft_poll(struct pollfd *fds, size_t n, int64_t when)
{
	return poll_acquire(fds, n, when ? when : WEFT_NEVER, NULL);
}

public int
weft_try_poll(struct pollfd *fds, size_t n)
{
	return poll_acquire(fds, n, 0, NULL);
}

public int
weft_poll_context(struct pollfd *fds, size_t n, weft_context *ctx)
{
	return poll_acquire(fds, n, WEFT_NEVER, ctx);
}

/* SPDX-License-Identifier: MIT */
/*
 * The loop of every call that may have to wait: try, and wait if there is
 * nothing to be had.
 */
#ifndef FDIO_H
#define FDIO_H

#include <errno.h>
#include <poll.h>

#include "desc.h"
#include "fdcall.h"
#include "preempt.h"
#include "sched.h"

/* One try: a result or -errno; -EAGAIN: it has to wait. */
typedef long fdio_try(struct desc *d, void *arg);

/* fn, in which the kernel may block. */
long fdio_blocking(fdio_try *fn, struct desc *d, void *arg);

/* One that is blocking itself: true if the call may be made now. */
bool fdio_ready_now(struct desc *d, enum dir dir);

/*
 * An error that the caller is not told, since he is told of the bytes before
 * it. Most come again by themselves. But that a connection has died the kernel
 * says once; after that there is an end of file, as if all had been read, and
 * -EPIPE. So it is kept for whoever finds one of these: fdio_take_error gives it, or
 * n. Within a call.
 */
void fdio_save_error(struct desc *d, enum dir dir, long err);
long fdio_take_error(struct desc *d, long n);

/*
 * Has a read of n bytes, of those it wanted, left nothing to read? Of a TCP
 * socket less than that says so, unless it is odd. (Also if memory to read into
 * was missing in the middle, which is wrong until more arrives. A write does
 * not take that for an answer: memory that is not there makes it short, and no
 * event would come. It tries once more before it waits.)
 */
static always_inline bool
fdio_is_all(struct desc *d, size_t n, size_t want)
{
	return n < want && a_load_relaxed(&d->kind) == KIND_TCP &&
	    !(a_load_relaxed(&d->flags) & HUP_OR_PRI);
}

/*
 * `want` is how much a read asks for; 0: cannot tell. Within a call; fn is
 * inlined.
 */
static always_inline long
fdio_loop(struct desc *d, enum dir dir, fdio_try *fn, void *arg, size_t want)
{
	for (;;) {
		uint32_t seen;
		long n;

		if (desc_expired(d, dir))
			return -ETIMEDOUT;
		if (desc_try(d, dir, &seen)) {
			n = fn(d, arg);
			if (likely(n >= 0)) {
				if (dir == DIR_IN && n > 0 &&
				    fdio_is_all(d, (size_t)n, want))
					desc_drained(d, dir, seen);
				return n;
			}
			if (n == -EINTR)
				continue;
			if (n != -EAGAIN)
				return n;
			desc_drained(d, dir, seen);
		}
		n = desc_wait(d, dir);
		if (n)
			return n;
	}
}

/* The whole call, on a number. */
static always_inline long
fdio_call(int fd, enum dir dir, fdio_try *fn, void *arg, size_t want)
{
	struct desc *d;
	long n;

	checkpoint();
	n = desc_enter(fd, &d);
	if (unlikely(n))
		return n;
	n = fdio_loop(d, dir, fn, arg, want);
	desc_leave(d);
	return n;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The loop of every call that may have to wait: try, and wait if that would
 * block.
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

/* Calls fn, in which the kernel may block, as a blocking call. */
long fdio_blocking(fdio_try *fn, struct desc *d, void *arg);

/* Of a descriptor without O_NONBLOCK: true if a call would not block now. */
bool fdio_ready_now(struct desc *d, enum dir dir);

/*
 * An error that is not reported, since the call returns the bytes before it.
 * Most errors occur again. But the kernel reports only once that a connection
 * has died; after that there is an end of file, as if all had been read, or
 * -EPIPE. So the error is kept for a later call that finds one of these:
 * fdio_take_error returns it, or n. Within a call.
 */
void fdio_save_error(struct desc *d, enum dir dir, long err);
long fdio_take_error(struct desc *d, long n);

/*
 * Has a read of n bytes, of those it wanted, left nothing to read? On a TCP
 * socket a short read says so, unless HUP_OR_PRI is set. (A read is also short
 * if part of its buffer is not mapped; then this is wrong until more arrives.
 * For a write a short count is no answer: an unmapped buffer makes it short,
 * and no event would come. It tries once more before it waits.)
 */
static always_inline bool
fdio_is_all(struct desc *d, size_t n, size_t want)
{
	return n < want && a_load_relaxed(&d->kind) == KIND_TCP &&
	    !(a_load_relaxed(&d->flags) & HUP_OR_PRI);
}

/*
 * `want` is how many bytes a read asks for; 0: unknown. Within a call; fn is
 * inlined.
 */
static always_inline long
fdio_loop(struct desc *d, enum dir dir, fdio_try *fn, void *arg, size_t want)
{
	for (;;) {
		uint32_t seen;
		long n;

		n = desc_limit_error(d, dir);
		if (unlikely(n))
			return n;
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

/* The whole call, on an fd. */
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

/* SPDX-License-Identifier: MIT */
/* See fdio.h. */
#include "fdio.h"

#include <time.h>

#include "blocking.h"
#include "os.h"
#include "tsan_io.h"

char tsan_io_point;

/* Slow calls are learned by address (blocking.c): each kind has its own. */
long
fdio_blocking(fdio_try *fn, struct desc *d, void *arg)
{
	long result;

	blocking_enter((const void *)(uintptr_t)fn);
	result = fn(d, arg);
	blocking_leave();
	return result;
}

bool
fdio_ready_now(struct desc *d, enum dir dir)
{
	struct pollfd p = { .fd = d->fd,
	    .events = dir == DIR_IN ? POLLIN : POLLOUT };

	return fd_poll_now(&p, 1) != 0;
}

/* ---- errors that were not reported ---- */

/* Neither end of it can send any more. */
static bool
is_hung_up(struct desc *d)
{
	struct pollfd p = { .fd = d->fd };

	return fd_poll_now(&p, 1) == 1 && p.revents & POLLHUP;
}

/* -ETIMEDOUT may also mean our deadline. */
cold void
fdio_save_error(struct desc *d, enum dir dir, long err)
{
	if (a_load_relaxed(&d->kind) > KIND_SOCKET)
		return;
	switch (err) {
	case -ETIMEDOUT:
		if (desc_limit_error(d, dir))
			return;
		break;
	case -ECONNRESET: case -ECONNABORTED: case -EHOSTUNREACH:
	case -ENETUNREACH: case -EHOSTDOWN: case -ENETDOWN:
		break;
	default:
		return;
	}
	if (is_hung_up(d))
		a_store_relaxed(&d->error, (uint8_t)-err);
}

cold long
fdio_take_error(struct desc *d, long n)
{
	uint8_t err = a_load_relaxed(&d->error);

	/* relaxed: it is only a number; exactly one caller gets it */
	return err && a_cas_relaxed(&d->error, err, 0) ? -err : n;
}

/* ---- waiting without a runtime ---- */

cold int
fdio_wait_no_runtime(struct desc *d, enum dir dir)
{
	struct pollfd p = { .fd = d->fd,
	    .events = dir == DIR_IN ? POLLIN : POLLOUT };
	int64_t when = desc_earliest(d, dir);
	long n;

	do {
		int64_t left = when != NEVER_NS ? os_left_ns(when) : 0;
		struct timespec ts = { left / 1000000000, left % 1000000000 };

		n = syscall6(SYS_ppoll, (long)&p, 1,
		    when != NEVER_NS ? (long)&ts : 0, 0, 0, 0);
	} while (n == -EINTR);
	if (n == 0)
		return desc_limit_holds(d) ? -ETIMEDOUT : 0;
	a_and_relaxed(&d->ready[dir], ~(uint32_t)DRAINED);
	return n < 0 ? (int)n : p.revents & POLLNVAL ? -EBADF : 0;
}

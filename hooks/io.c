/* SPDX-License-Identifier: MIT */
/* See io.h. */
#define _GNU_SOURCE 1
#include "io.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "atomic.h"
#include "counts.h"
#include "real.h"
#include "wait.h"

bool
io_is_nonblocking(struct io *io)
{
	int flags = fcntl(io->fd, F_GETFL);

	return flags < 0 || flags & O_NONBLOCK;
}

/* any thread, atomic: the program has set a limit in time, or a least number of
 * bytes, of any socket */
static abool limits_used, least_used;

public int
setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && (option == SO_RCVTIMEO ||
	    option == SO_SNDTIMEO))
		/* relaxed: before the call that uses it, on the same socket */
		a_store_relaxed(&limits_used, true);
	if (level == SOL_SOCKET && option == SO_RCVLOWAT)
		a_store_relaxed(&least_used, true);
	return real()->setsockopt(fd, level, option, value, len);
}

/* Until when the program lets it wait: the option is 0 if there is no limit. */
static int64_t
limit(const struct io *io)
{
	struct timeval tv = {0};
	socklen_t len = sizeof tv;

	if (likely(!a_load_relaxed(&limits_used)))
		return WEFT_NEVER;
	if (getsockopt(io->fd, SOL_SOCKET, io->events == POLLIN ? SO_RCVTIMEO :
	    SO_SNDTIMEO, &tv, &len) || (!tv.tv_sec && !tv.tv_usec))
		return WEFT_NEVER;
	if (tv.tv_sec > INT64_MAX / WEFT_SECOND - 1)
		return WEFT_NEVER;
	return weft_deadline(tv.tv_sec * WEFT_SECOND + tv.tv_usec * WEFT_US);
}

/* A read waits for more than one byte: that only the kernel can do. */
static bool
has_least(const struct io *io)
{
	int least = 1;
	socklen_t len = sizeof least;

	return io->events == POLLIN && !getsockopt(io->fd, SOL_SOCKET,
	    SO_RCVLOWAT, &least, &len) && least > 1;
}

bool
io_is_ready(struct io *io)
{
	struct pollfd p = { .fd = io->fd, .events = io->events };

	return poll_now(&p, 1) != 0;
}

bool
io_has_failed(struct io *io)
{
	struct pollfd p = { .fd = io->fd };

	return poll_now(&p, 1) > 0 && p.revents & (POLLERR | POLLHUP);
}

long
io_block(struct io *io)
{
	bool announce = wait_how() == WAIT_PARK;

	if (announce)
		wait_announce();
	io->result = io->block(io);
	if (announce)
		wait_announced();
	io->ended = true;
	return io->result;
}

/*
 * Events that change nothing would make it try for ever: a datagram to a local
 * socket whose queue is full is one such case, where the failed try itself is
 * an event. Then it blocks.
 */
static long
attempt(void *arg)
{
	enum { OFTEN = 4 };
	struct io *io = arg;
	long r = io->attempt(io);

	if (r == -EAGAIN && !io->ended && ++io->in_vain >= OFTEN &&
	    io_is_ready(io))
		io_block(io);
	return io->ended ? 0 : r;
}

/* Without a limit: in the loop of libweft's own calls. */
static long
run_parked(struct io *io)
{
	bool kept = wait_keep_thread(io->caller);
	long r;

	count(parks);
	r = weft_fd_call_(io->fd, io->events == POLLOUT, attempt, io, io->want);
	wait_kept_thread(kept);
	if (r == -EAGAIN)
		return io_block(io);
	return io->ended ? io->result : r;
}

/* Until `when`, which is the caller's own: -EAGAIN then, as the kernel. */
static long
run_until(struct io *io, int64_t when)
{
	long r;

	do {
		r = wait_fd(io->fd, io->events, when, io->caller);
		if (r)
			return r == -ETIMEDOUT ? -EAGAIN :
			    r == -EBADF ? r : io_block(io);
		r = attempt(io);
	} while (r == -EAGAIN);
	return io->ended ? io->result : r;
}

static long
run(struct io *io)
{
	int64_t when;
	long r;

	if (unlikely(a_load_relaxed(&least_used)) && has_least(io))
		return io_block(io);
	r = io->attempt(io);
	if (likely(r != -EAGAIN) || io->ended || io_is_nonblocking(io))
		return r;
	if (wait_how() == WAIT_REAL)
		return io->block(io);
	when = limit(io);
	return when == WEFT_NEVER ? run_parked(io) : run_until(io, when);
}

/* Tries that found nothing have left their errors in errno. */
long
io_run(struct io *io)
{
	int before = errno;
	long r = run(io);

	if (r >= 0)
		errno = before;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* See io.h. */
#define _GNU_SOURCE 1
#include "io.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "real.h"
#include "wait.h"

static bool
is_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || flags & O_NONBLOCK;
}

/* Until when the program lets it wait: the option is 0 if there is no limit. */
static int64_t
limit(const struct io *io)
{
	struct timeval tv = {0};
	socklen_t len = sizeof tv;

	if (getsockopt(io->fd, SOL_SOCKET, io->events == POLLIN ? SO_RCVTIMEO :
	    SO_SNDTIMEO, &tv, &len) || (!tv.tv_sec && !tv.tv_usec))
		return WEFT_NEVER;
	if (tv.tv_sec > INT64_MAX / WEFT_SECOND - 1)
		return WEFT_NEVER;
	return weft_deadline(tv.tv_sec * WEFT_SECOND + tv.tv_usec * WEFT_US);
}

bool
io_is_ready(struct io *io)
{
	struct pollfd p = { .fd = io->fd, .events = io->events };

	return real()->poll(&p, 1, 0) != 0;
}

long
io_block(struct io *io)
{
	long r;

	if (wait_how() == WAIT_REAL)
		return io->block(io);
	wait_announce();
	r = io->block(io);
	wait_announced();
	return r;
}

long
io_run(struct io *io)
{
	int64_t when = 0;	/* not asked yet */

	for (;;) {
		long r = io->attempt(io);

		if (likely(r != -EAGAIN))
			return r;
		if (!when) {
			if (is_nonblocking(io->fd))
				return -EAGAIN;
			if (wait_how() == WAIT_REAL)
				return io->block(io);
			when = limit(io);
		}
		r = wait_fd(io->fd, io->events, when, io->caller);
		if (r == -ETIMEDOUT)
			return -EAGAIN;
		if (r == -EBADF)
			return r;
		if (unlikely(r))
			return io_block(io);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * A call on one descriptor that may have to wait: tried without waiting, and
 * repeated after each wait.
 *
 * A descriptor that the program made non-blocking keeps its meaning: the call
 * returns EAGAIN. That is asked only when a try found nothing, and so are the
 * limits that the program has set by SO_RCVTIMEO and SO_SNDTIMEO.
 */
#ifndef IO_H
#define IO_H

#include <poll.h>

#include "core.h"

struct io {
	/* constant */
	int fd;
	short events;		/* POLLIN: it reads; POLLOUT: it writes */
	const void *caller;	/* where the hook was called from */
	/*
	 * One try: a result or -errno; -EAGAIN: it has to wait. And the
	 * system's call, which may block, for the rest of the work; the same.
	 */
	long (*attempt)(struct io *io);
	long (*block)(struct io *io);
	/* how many bytes a read asks for: fewer have drained a TCP socket; 0:
	 * unknown */
	size_t want;
	/* the call itself */
	unsigned in_vain;	/* tries that found nothing */
	bool ended;		/* by a call that may have blocked: its result
				 * counts, also if it is -EAGAIN */
	long result;
};

/*
 * Until it has a result or -errno; with a result errno is what it was, which
 * callers rely on (OpenSSL looks at it after a read of 0). On a goroutine.
 */
long io_run(struct io *io);

/* Its `block`, announced if the caller may park; that ends it. For attempts. */
long io_block(struct io *io);
bool io_is_nonblocking(struct io *io);
/* poll(2) says that it would not block now. The same. */
bool io_is_ready(struct io *io);
/*
 * A connection that has failed. A call that has transferred a part asks before
 * it goes on, since the next try would take the error, which belongs to the
 * next call.
 */
bool io_has_failed(struct io *io);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * connect, accept, accept4. Neither has a form that does not wait.
 *
 * connect: the socket is made non-blocking for the moment of one system call,
 * and only if it is to wait is the rest of the way waited for by poll. Another
 * user of the same socket could see O_NONBLOCK meanwhile; but a socket that is
 * being connected rarely has one.
 *
 * accept: poll says whether there is a connection. Several goroutines may be
 * told of the same one, so that asking and taking are one step under a lock.
 * Another process can still be faster: then the call blocks its thread,
 * announced.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sys/socket.h>

#include "io.h"
#include "number.h"
#include "real.h"
#include "wait.h"

/* ---- connect ---- */

struct connecting {
	struct io io;
	/* constant */
	const struct sockaddr *to;
	socklen_t len;
	/* the call itself */
	bool begun;
};

static long
block_connect(struct io *io)
{
	struct connecting *c = container_of(io, struct connecting, io);

	return raw_result(real()->connect(io->fd, c->to, c->len));
}

/* One call that does not wait. */
static long
begin(struct io *io)
{
	int flags = fcntl(io->fd, F_GETFL);
	long r;

	fcntl(io->fd, F_SETFL, flags | O_NONBLOCK);
	r = block_connect(io);
	fcntl(io->fd, F_SETFL, flags);
	return r;
}

/*
 * When it is ready a second call has the outcome, and does not wait. A local
 * socket whose queue is full gives EAGAIN, and no event would tell that there
 * is room: so it blocks.
 */
static long
try_connect(struct io *io)
{
	struct connecting *c = container_of(io, struct connecting, io);
	long r;

	if (c->begun)
		return io_is_ready(io) ? block_connect(io) : -EAGAIN;
	r = begin(io);
	if (r == -EAGAIN)
		return io_block(io);
	if (r != -EINPROGRESS && r != -EALREADY)
		return r;
	c->begun = true;
	return -EAGAIN;
}

/* Non-blocking, or where it cannot park: the system's call. */
static bool
is_ours(int fd)
{
	int flags = on_goroutine() ? fcntl(fd, F_GETFL) : -1;

	return flags >= 0 && !(flags & O_NONBLOCK) && wait_how() == WAIT_PARK;
}

/* SO_SNDTIMEO: the kernel says that it goes on. */
public int
connect(int fd, const struct sockaddr *to, socklen_t len)
{
	struct connecting c = {
		.io = { .fd = fd, .events = POLLOUT,
		    .caller = __builtin_return_address(0),
		    .attempt = try_connect, .block = block_connect },
		.to = to, .len = len
	};
	long r;

	if (!is_ours(fd))
		return real()->connect(fd, to, len);
	r = io_run(&c.io);
	return (int)libc_result(r == -EAGAIN && c.begun ? -EINPROGRESS : r);
}

/* ---- accept ---- */

struct accepting {
	struct io io;
	/* constant */
	struct sockaddr *from;
	socklen_t *from_len;
	int flags;
};

enum { ACCEPT_LOCKS = 65536 };

/*
 * Held from asking to taking; by the descriptor's number. If the call blocks
 * nevertheless the lock stays held: others that want it would have to wait for
 * the same listener. Memory that is never touched is none.
 */
static weft_mutex asking[ACCEPT_LOCKS];

static long
block_accept(struct io *io)
{
	struct accepting *a = container_of(io, struct accepting, io);

	return raw_result(real()->accept4(io->fd, a->from, a->from_len,
	    a->flags));
}

static long
try_accept(struct io *io)
{
	weft_mutex *m = &asking[(unsigned)io->fd % ACCEPT_LOCKS];
	long r = -EAGAIN;

	weft_mutex_lock(m);
	if (io_is_ready(io))
		r = io_block(io);
	weft_mutex_unlock(m);
	return r;
}

/* Anything else fails at once. */
static bool
is_listener(int fd, int flags)
{
	int listens = 0;
	socklen_t len = sizeof listens;

	return !(flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) &&
	    !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) &&
	    listens;
}

static int
accept_one(int fd, struct sockaddr *from, socklen_t *from_len, int flags,
    const void *caller)
{
	struct accepting a = {
		.io = { .fd = fd, .events = POLLIN, .caller = caller,
		    .attempt = try_accept, .block = block_accept },
		.from = from, .from_len = from_len, .flags = flags
	};
	long r = is_ours(fd) && is_listener(fd, flags) ? io_run(&a.io) :
	    block_accept(&a.io);

	return number_is_new((int)libc_result(r));
}

public int
accept(int fd, struct sockaddr *restrict from, socklen_t *restrict from_len)
{
	if (!on_goroutine())
		return number_is_new(real()->accept(fd, from, from_len));
	return accept_one(fd, from, from_len, 0, __builtin_return_address(0));
}

public int
accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict from_len,
    int flags)
{
	if (!on_goroutine())
		return number_is_new(real()->accept4(fd, from, from_len,
		    flags));
	return accept_one(fd, from, from_len, flags,
	    __builtin_return_address(0));
}

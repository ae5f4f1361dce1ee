/* SPDX-License-Identifier: MIT */
/*
 * read, write, readv, writev.
 *
 * What the descriptor is becomes known by trying:
 *
 *	AS_SOCKET	recvmsg and sendmsg with MSG_DONTWAIT
 *	AS_FILE		ENOTSOCK, a file, a directory or a block device: the
 *			system's call, announced. (RWF_NOWAIT would return what
 *			is in memory, and not what was asked for.)
 *	AS_NOWAIT	anything else: preadv2 and pwritev2 with RWF_NOWAIT
 *	AS_POLLED	EOPNOTSUPP: poll; if it is ready, the system's call,
 *			announced, since it may block nevertheless
 *
 * A write to a blocking descriptor returns when all is written. So it goes on
 * after a part; an error after some bytes is not returned but their number, and
 * the error is left for the next call, as the kernel does. The vectors of the
 * caller are read only after the kernel has accepted them, so bad addresses
 * give EFAULT.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io.h"
#include "real.h"

enum { MAX_RW = 0x7ffff000 };	/* more in one call is cut by the kernel */
enum { NOWAIT = 8 };		/* RWF_NOWAIT */

enum as { AS_SOCKET, AS_FILE, AS_NOWAIT, AS_POLLED };

struct stream {
	struct io io;
	/* constant */
	const struct iovec *v;
	int n;
	/* the call itself */
	enum as as;
	size_t done;		/* bytes written */
};

static struct stream *
stream_of(struct io *io)
{
	return container_of(io, struct stream, io);
}

static size_t
total(const struct stream *s)
{
	size_t sum = 0;

	for (int i = 0; i < s->n; i++)
		sum += s->v[i].iov_len;
	return sum < MAX_RW ? sum : MAX_RW;
}

/* The part that begins after `done` bytes: *first is its first vector, if that
 * is cut. Returns the rest of the vectors and how many there are. */
static const struct iovec *
rest(const struct stream *s, struct iovec *first, int *n)
{
	size_t skip = s->done;
	int i = 0;

	while (i < s->n && skip >= s->v[i].iov_len && skip)
		skip -= s->v[i++].iov_len;
	*n = s->n - i;
	if (!skip)
		return s->v + i;
	*n = 1;
	first->iov_base = (char *)s->v[i].iov_base + skip;
	first->iov_len = s->v[i].iov_len - skip;
	return first;
}

static enum as
no_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	    S_ISBLK(st.st_mode) ? AS_FILE : AS_NOWAIT;
}

/* The kernel has refused the way of asking: another one is next. */
static bool
is_other_kind(struct stream *s, long r)
{
	if (s->as == AS_SOCKET && r == -ENOTSOCK)
		s->as = no_socket(s->io.fd);
	else if (s->as == AS_NOWAIT && (r == -EOPNOTSUPP || r == -ENOSYS))
		s->as = AS_POLLED;
	else
		return false;
	return true;
}

/* The kernel may also refuse to wait because one of its own locks is taken,
 * which no event would end. */
static long
after_nowait(struct io *io, long r)
{
	return r == -EAGAIN && io_is_ready(io) ? io_block(io) : r;
}

/* The system's call, if it would not wait. */
static long
polled(struct io *io)
{
	return io_is_ready(io) || io_is_nonblocking(io) ? io_block(io) :
	    -EAGAIN;
}

/* ---- reading ---- */

static long
block_read(struct io *io)
{
	struct stream *s = stream_of(io);

	return raw_result(real()->readv(io->fd, s->v, s->n));
}

/* A socket returns 0 for no bytes at once; recvmsg would wait. */
static long
after_recv(struct stream *s, long r)
{
	return r == -EAGAIN && total(s) == 0 ? 0 : r;
}

static long
read_as(struct io *io)
{
	struct stream *s = stream_of(io);
	struct msghdr msg = { .msg_iov = (struct iovec *)s->v,
	    .msg_iovlen = (size_t)s->n };

	switch (s->as) {
	case AS_SOCKET:
		return after_recv(s, raw_result(io->want ?
		    real()->recv(io->fd, s->v->iov_base, s->v->iov_len,
		    MSG_DONTWAIT) :
		    real()->recvmsg(io->fd, &msg, MSG_DONTWAIT)));
	case AS_FILE:
		return io_block(io);
	case AS_NOWAIT:
		return after_nowait(io, raw_result(preadv2(io->fd, s->v, s->n,
		    -1, NOWAIT)));
	default:
		return polled(io);
	}
}

static long
try_read(struct io *io)
{
	long r;

	do
		r = read_as(io);
	while (unlikely(r < 0) && is_other_kind(stream_of(io), r));
	return r;
}

/* `want` as in struct io. */
static ssize_t
read_vectors(int fd, const struct iovec *v, int n, size_t want,
    const void *caller)
{
	struct stream s = {
		.io = { .fd = fd, .events = POLLIN, .caller = caller,
		    .attempt = try_read, .block = block_read, .want = want },
		.v = v, .n = n
	};

	return libc_result(io_run(&s.io));
}

public ssize_t
read(int fd, void *buf, size_t n)
{
	struct iovec v = { buf, n };

	if (!on_goroutine() || n == 0 || n > MAX_RW)
		return real()->read(fd, buf, n);
	return read_vectors(fd, &v, 1, n, __builtin_return_address(0));
}

public ssize_t
readv(int fd, const struct iovec *v, int n)
{
	if (!on_goroutine() || n <= 0 || n > IOV_MAX)
		return real()->readv(fd, v, n);
	return read_vectors(fd, v, n, 0, __builtin_return_address(0));
}

/* ---- writing ---- */

static long
block_write(struct io *io)
{
	struct stream *s = stream_of(io);
	struct iovec first;
	int n;
	const struct iovec *v = s->done ? rest(s, &first, &n) :
	    (n = s->n, s->v);
	long r = raw_result(real()->writev(io->fd, v, n));

	if (r < 0)
		return s->done ? (long)s->done : r;
	/* Cut vectors are written in more than one call, and so blocked. */
	s->done += (size_t)r;
	return s->done < total(s) && r ? block_write(io) : (long)s->done;
}

/* The kernel signals SIGPIPE only if nothing was written before. */
static long
write_as(struct io *io)
{
	struct stream *s = stream_of(io);
	struct iovec first;
	struct msghdr msg = { .msg_iov = (struct iovec *)s->v,
	    .msg_iovlen = (size_t)s->n };
	int n = s->n, flags = MSG_DONTWAIT | (s->done ? MSG_NOSIGNAL : 0);

	if (s->done) {
		msg.msg_iov = (struct iovec *)rest(s, &first, &n);
		msg.msg_iovlen = (size_t)n;
	}
	switch (s->as) {
	case AS_SOCKET:
		return raw_result(n == 1 && msg.msg_iov != s->v ?
		    real()->send(io->fd, msg.msg_iov->iov_base,
		    msg.msg_iov->iov_len, flags) :
		    real()->sendmsg(io->fd, &msg, flags));
	case AS_NOWAIT:
		return raw_result(pwritev2(io->fd, msg.msg_iov, n, -1, NOWAIT));
	default:
		return -EOPNOTSUPP;
	}
}

static long
try_write(struct io *io)
{
	struct stream *s = stream_of(io);
	long r;

	for (;;) {
		if (s->as == AS_FILE)
			return io_block(io);
		if (s->as == AS_POLLED)
			return polled(io);
		if (s->done && io_has_failed(io))
			return (long)s->done;
		r = write_as(io);
		if (r < 0 && is_other_kind(s, r))
			continue;
		if (r == -EAGAIN && s->as == AS_NOWAIT)
			return after_nowait(io, r);
		if (r < 0)
			return s->done && r != -EAGAIN ? (long)s->done : r;
		s->done += (size_t)r;
		if (s->done >= total(s) || r == 0)
			return (long)s->done;
	}
}

static ssize_t
write_vectors(int fd, const struct iovec *v, int n, const void *caller)
{
	struct stream s = {
		.io = { .fd = fd, .events = POLLOUT, .caller = caller,
		    .attempt = try_write, .block = block_write },
		.v = v, .n = n
	};
	long r = io_run(&s.io);

	return libc_result(r < 0 && s.done ? (long)s.done : r);
}

public ssize_t
write(int fd, const void *buf, size_t n)
{
	struct iovec v = { (void *)buf, n };

	if (!on_goroutine() || n == 0 || n > MAX_RW)
		return real()->write(fd, buf, n);
	return write_vectors(fd, &v, 1, __builtin_return_address(0));
}

public ssize_t
writev(int fd, const struct iovec *v, int n)
{
	if (!on_goroutine() || n <= 0 || n > IOV_MAX)
		return real()->writev(fd, v, n);
	return write_vectors(fd, v, n, __builtin_return_address(0));
}

/* ---- fortified ---- */

noreturn void __chk_fail(void);
public ssize_t __read_chk(int fd, void *buf, size_t n, size_t room);

public ssize_t
__read_chk(int fd, void *buf, size_t n, size_t room)
{
	struct iovec v = { buf, n };

	if (n > room)
		__chk_fail();
	if (!on_goroutine() || n == 0 || n > MAX_RW)
		return real()->read(fd, buf, n);
	return read_vectors(fd, &v, 1, n, __builtin_return_address(0));
}

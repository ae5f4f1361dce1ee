/* SPDX-License-Identifier: MIT */
/*
 * recv, recvfrom, recvmsg, send, sendto, sendmsg: the same calls with
 * MSG_DONTWAIT, until they do something.
 *
 * On a blocking stream a send returns when all is sent, and a receive with
 * MSG_WAITALL when all has arrived: they go on after a part.
 */
#define _GNU_SOURCE 1
#include <sys/socket.h>

#include "io.h"
#include "real.h"

/* With these a call never waits, or (peek at all of it) has to be the
 * kernel's; MSG_FASTOPEN connects. */
enum {
	NEVER_WAITS = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB,
	PEEKS_ALL = MSG_PEEK | MSG_WAITALL,
	SENDS_AS_IS = MSG_DONTWAIT | MSG_FASTOPEN
};

struct transfer {
	struct io io;
	/* constant */
	int flags;
	const void *p;		/* of sendto */
	void *buf;		/* of recvfrom */
	size_t len;
	struct sockaddr *from;
	socklen_t *from_len;
	const struct sockaddr *to;
	socklen_t to_len;
	struct msghdr *msg;	/* not NULL: recvmsg, sendmsg */
	/* the call itself */
	size_t done;
};

static struct transfer *
transfer_of(struct io *io)
{
	return container_of(io, struct transfer, io);
}

static bool
is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof type;

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	    type == SOCK_STREAM;
}

/* A part was transferred: is there more to do? The result if not. */
static bool
goes_on(struct transfer *t, long r, size_t all)
{
	t->done += (size_t)r;
	return r > 0 && t->done < all && is_stream(t->io.fd) &&
	    !io_has_failed(&t->io);
}

/* Ends a transfer: after some bytes their number is the result. */
static ssize_t
result(struct transfer *t, long r)
{
	return libc_result(r < 0 && t->done ? (long)t->done : r);
}

/* ---- receiving ---- */

static long
receive(struct io *io, int more)
{
	struct transfer *t = transfer_of(io);
	int flags = t->flags | more;

	if (t->msg)
		return raw_result(real()->recvmsg(io->fd, t->msg, flags));
	if (!t->from)
		return raw_result(real()->recv(io->fd, (char *)t->buf + t->done,
		    t->len - t->done, flags));
	return raw_result(real()->recvfrom(io->fd, (char *)t->buf + t->done,
	    t->len - t->done, flags, t->from, t->from_len));
}

static long
block_receive(struct io *io)
{
	struct transfer *t = transfer_of(io);
	long r = receive(io, 0);

	return r < 0 ? r : (long)t->done + r;
}

static long
try_receive(struct io *io)
{
	struct transfer *t = transfer_of(io);
	long r;

	if ((t->flags & PEEKS_ALL) == PEEKS_ALL ||
	    (t->msg && t->flags & MSG_WAITALL))
		return io_block(io);
	if (t->done && io_has_failed(io))
		return (long)t->done;
	do {
		r = receive(io, MSG_DONTWAIT);
		if (r < 0 || !(t->flags & MSG_WAITALL))
			return r;
	} while (goes_on(t, r, t->len));
	return (long)t->done;
}

static ssize_t
receive_from(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
    socklen_t *from_len, const void *caller)
{
	struct transfer t = {
		.io = { .fd = fd, .events = POLLIN, .caller = caller,
		    .attempt = try_receive, .block = block_receive,
		    .want = flags ? 0 : len },
		.flags = flags, .buf = buf, .len = len, .from = from,
		.from_len = from_len
	};

	return result(&t, io_run(&t.io));
}

public ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	if (!on_goroutine() || flags & NEVER_WAITS)
		return real()->recv(fd, buf, len, flags);
	return receive_from(fd, buf, len, flags, NULL, NULL,
	    __builtin_return_address(0));
}

public ssize_t
recvfrom(int fd, void *restrict buf, size_t len, int flags,
    struct sockaddr *restrict from, socklen_t *restrict from_len)
{
	if (!on_goroutine() || flags & NEVER_WAITS)
		return real()->recvfrom(fd, buf, len, flags, from, from_len);
	return receive_from(fd, buf, len, flags, from, from_len,
	    __builtin_return_address(0));
}

public ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct transfer t = {
		.io = { .fd = fd, .events = POLLIN,
		    .caller = __builtin_return_address(0),
		    .attempt = try_receive, .block = block_receive },
		.flags = flags, .msg = msg
	};

	if (!on_goroutine() || flags & NEVER_WAITS || !msg)
		return real()->recvmsg(fd, msg, flags);
	return result(&t, io_run(&t.io));
}

/* ---- sending ---- */

/* The kernel signals SIGPIPE only if nothing was sent before. */
static long
transmit(struct io *io, int more)
{
	struct transfer *t = transfer_of(io);
	int flags = t->flags | more | (t->done ? MSG_NOSIGNAL : 0);

	return raw_result(real()->sendto(io->fd, (const char *)t->p + t->done,
	    t->len - t->done, flags, t->to, t->to_len));
}

static long
block_send(struct io *io)
{
	struct transfer *t = transfer_of(io);
	long r = transmit(io, 0);

	return r < 0 ? r : (long)t->done + r;
}

/* With TCP_FASTOPEN_CONNECT a send may have to connect first. */
static long
still_connecting(long r)
{
	return r == -EINPROGRESS ? -EAGAIN : r;
}

static long
try_send(struct io *io)
{
	struct transfer *t = transfer_of(io);
	long r;

	if (t->done && io_has_failed(io))
		return (long)t->done;
	do {
		r = still_connecting(transmit(io, MSG_DONTWAIT));
		if (r < 0)
			return t->done && r != -EAGAIN ? (long)t->done : r;
		if ((size_t)r + t->done == t->len)
			return (long)t->len;
	} while (goes_on(t, r, t->len));
	return (long)t->done;
}

static ssize_t
send_to(int fd, const void *p, size_t len, int flags,
    const struct sockaddr *to, socklen_t to_len, const void *caller)
{
	struct transfer t = {
		.io = { .fd = fd, .events = POLLOUT, .caller = caller,
		    .attempt = try_send, .block = block_send },
		.flags = flags, .p = p, .len = len, .to = to, .to_len = to_len
	};

	return result(&t, io_run(&t.io));
}

public ssize_t
send(int fd, const void *p, size_t len, int flags)
{
	if (!on_goroutine() || flags & SENDS_AS_IS)
		return real()->send(fd, p, len, flags);
	return send_to(fd, p, len, flags, NULL, 0, __builtin_return_address(0));
}

public ssize_t
sendto(int fd, const void *p, size_t len, int flags, const struct sockaddr *to,
    socklen_t to_len)
{
	if (!on_goroutine() || flags & SENDS_AS_IS)
		return real()->sendto(fd, p, len, flags, to, to_len);
	return send_to(fd, p, len, flags, to, to_len,
	    __builtin_return_address(0));
}

/* ---- messages ---- */

static size_t
msg_bytes(const struct msghdr *msg)
{
	size_t sum = 0;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		sum += msg->msg_iov[i].iov_len;
	return sum;
}

/* After a part: the rest of the vector that was cut, and then those after it.
 * The control data went with the first part. */
static long
transmit_rest(struct transfer *t, int more)
{
	struct msghdr msg = { .msg_name = t->msg->msg_name,
	    .msg_namelen = t->msg->msg_namelen };
	int flags = t->flags | more | MSG_NOSIGNAL;
	size_t skip = t->done, i = 0;
	struct iovec cut;

	while (skip && skip >= t->msg->msg_iov[i].iov_len)
		skip -= t->msg->msg_iov[i++].iov_len;
	msg.msg_iov = t->msg->msg_iov + i;
	msg.msg_iovlen = t->msg->msg_iovlen - i;
	if (skip) {
		cut.iov_base = (char *)msg.msg_iov->iov_base + skip;
		cut.iov_len = msg.msg_iov->iov_len - skip;
		msg.msg_iov = &cut;
		msg.msg_iovlen = 1;
	}
	return raw_result(real()->sendmsg(t->io.fd, &msg, flags));
}

static long
transmit_msg(struct transfer *t, int more)
{
	if (t->done)
		return transmit_rest(t, more);
	return raw_result(real()->sendmsg(t->io.fd, t->msg, t->flags | more));
}

static long
send_msg_parts(struct transfer *t, int more)
{
	long r;

	if (t->done && io_has_failed(&t->io))
		return (long)t->done;
	do {
		r = still_connecting(transmit_msg(t, more));
		if (r < 0)
			return t->done && r != -EAGAIN ? (long)t->done : r;
	} while (goes_on(t, r, msg_bytes(t->msg)));
	return (long)t->done;
}

static long
try_send_msg(struct io *io)
{
	return send_msg_parts(transfer_of(io), MSG_DONTWAIT);
}

static long
block_send_msg(struct io *io)
{
	return send_msg_parts(transfer_of(io), 0);
}

public ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct transfer t = {
		.io = { .fd = fd, .events = POLLOUT,
		    .caller = __builtin_return_address(0),
		    .attempt = try_send_msg, .block = block_send_msg },
		.flags = flags, .msg = (struct msghdr *)msg
	};

	if (!on_goroutine() || flags & SENDS_AS_IS || !msg)
		return real()->sendmsg(fd, msg, flags);
	return result(&t, io_run(&t.io));
}

/* ---- fortified ---- */

noreturn void __chk_fail(void);
public ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room,
    int flags);
public ssize_t __recvfrom_chk(int fd, void *restrict buf, size_t len,
    size_t room, int flags, struct sockaddr *restrict from,
    socklen_t *restrict from_len);

public ssize_t
__recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	if (len > room)
		__chk_fail();
	if (!on_goroutine() || flags & NEVER_WAITS)
		return real()->recv(fd, buf, len, flags);
	return receive_from(fd, buf, len, flags, NULL, NULL,
	    __builtin_return_address(0));
}

public ssize_t
__recvfrom_chk(int fd, void *restrict buf, size_t len, size_t room, int flags,
    struct sockaddr *restrict from, socklen_t *restrict from_len)
{
	if (len > room)
		__chk_fail();
	if (!on_goroutine() || flags & NEVER_WAITS)
		return real()->recvfrom(fd, buf, len, flags, from, from_len);
	return receive_from(fd, buf, len, flags, from, from_len,
	    __builtin_return_address(0));
}

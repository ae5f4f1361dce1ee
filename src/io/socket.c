/* SPDX-License-Identifier: MIT */
/*
 * The calls that only sockets have. Each try has MSG_DONTWAIT; if the caller
 * passed it too, the call does not wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "fdio.h"
#include "preempt.h"
#include "start.h"
#include "tsan_io.h"
#include "weft.h"

#define MS INT64_C(1000000)

/* Other queues of the socket, which the readiness words do not cover. */
enum { OTHER_QUEUES = MSG_OOB | MSG_ERRQUEUE };

struct message {
	void *p;		/* the bytes, or a struct msghdr */
	size_t n;
	int flags;
	struct sockaddr *addr;
	socklen_t *len;		/* to receive */
	socklen_t to_len;	/* to send */
};

/*
 * One try, which the kernel is asked for even if DRAINED is on: the event may
 * not have been fetched. What it finds is noted, so that a wait which follows
 * needs no second try. Not for other queues.
 */
static always_inline long
try_now(struct desc *d, enum dir dir, fdio_try *fn, struct message *m,
    size_t want)
{
	uint32_t seen;
	long n;

	desc_try(d, dir, &seen);
	n = fn(d, m);
	if (n == -EAGAIN || (dir == DIR_IN && n > 0 &&
	    fdio_is_all(d, (size_t)n, want)))
		desc_drained(d, dir, seen);
	return n;
}

/* The whole call; waits if it has to and may. `want` as in fdio_loop. */
static always_inline ssize_t
call(int fd, enum dir dir, fdio_try *fn, struct message *m, size_t want)
{
	bool now = m->flags & MSG_DONTWAIT, other = m->flags & OTHER_QUEUES;
	struct desc *d;
	long n;

	m->flags |= MSG_DONTWAIT | (dir == DIR_OUT ? MSG_NOSIGNAL : 0);
	if (m->flags & MSG_PEEK)
		want = 0;
	checkpoint();
	n = desc_enter(fd, &d);
	if (unlikely(n))
		return n;
	if (!now && !other)
		n = fdio_loop(d, dir, fn, m, want);
	else if (!(n = desc_limit_error(d, dir)))
		n = other ? fn(d, m) : try_now(d, dir, fn, m, want);
	desc_leave(d);
	return n;
}

/* ---- receiving ---- */

static long
try_recvfrom(struct desc *d, void *arg)
{
	const struct message *m = arg;
	long n = syscall6(SYS_recvfrom, d->fd, (long)m->p, (long)m->n,
	    m->flags, (long)m->addr, (long)m->len);

	return likely(n != 0) || !m->n ? n : fdio_take_error(d, n);
}

/*
 * MSG_WAITALL may take several calls, between which the number must not be
 * reused: counts the caller as a user. NULL: not needed, or not open.
 */
static always_inline struct desc *
hold(int fd, int flags)
{
	struct desc *d = NULL;

	if (unlikely(flags & MSG_WAITALL) && desc_enter(fd, &d))
		d = NULL;
	return d;
}

/* Does a call that received a part have to wait for the rest? */
static bool
wants_rest(int fd, int flags)
{
	int type = 0;
	unsigned len = sizeof type;

	return flags & MSG_WAITALL &&
	    !(flags & (MSG_PEEK | MSG_DONTWAIT | OTHER_QUEUES)) &&
	    fd_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	    type == SOCK_STREAM;
}

/* Receives until there is an error or the end. d: of hold(). */
static ssize_t
recv_rest(int fd, struct desc *d, struct message *m, ssize_t n)
{
	ssize_t total = n;

	while (n > 0 && (size_t)n < m->n) {
		m->p = (char *)m->p + n;
		m->n -= (size_t)n;
		m->flags &= ~MSG_DONTWAIT;
		n = call(fd, DIR_IN, try_recvfrom, m, m->n);
		total += n > 0 ? n : 0;
	}
	if (n < 0 && d)
		fdio_save_error(d, DIR_IN, n);
	return total;
}

public ssize_t
weft_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
    socklen_t *from_len)
{
	struct message m = { buf, len, flags, from, from_len, 0 };
	struct desc *d = hold(fd, flags);
	ssize_t n = call(fd, DIR_IN, try_recvfrom, &m, len);

	if (n > 0 && (size_t)n < len && wants_rest(fd, flags))
		n = recv_rest(fd, d, &m, n);
	if (unlikely(d))
		desc_leave(d);
	return tsan_io_acquire(n);
}

public ssize_t
weft_sock_recv(int fd, void *buf, size_t len, int flags)
{
	return weft_recvfrom(fd, buf, len, flags, NULL, NULL);
}

static long
try_recvmsg(struct desc *d, void *arg)
{
	const struct message *m = arg;
	long n = syscall6(SYS_recvmsg, d->fd, (long)m->p, m->flags, 0, 0, 0);

	return likely(n != 0) ? n : fdio_take_error(d, n);
}

/* Receives into what n bytes have left of the parts. d: of hold(). */
static ssize_t
recv_parts(int fd, struct desc *d, const struct msghdr *msg, int flags,
    ssize_t n)
{
	size_t skip = (size_t)n;
	ssize_t total = n;

	for (size_t i = 0; i < (size_t)msg->msg_iovlen && n > 0; i++) {
		const struct iovec *v = &msg->msg_iov[i];
		size_t len = v->iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		len -= skip;
		n = weft_sock_recv(fd, (char *)v->iov_base + skip, len, flags);
		skip = 0;
		total += n > 0 ? n : 0;
		if ((size_t)n != len)
			break;
	}
	if (n < 0 && d)
		fdio_save_error(d, DIR_IN, n);
	return total;
}

/* Ancillary data ends the message, as in the kernel. */
public ssize_t
weft_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct message m = { .p = msg, .flags = flags };
	struct desc *d = hold(fd, flags);
	ssize_t n = call(fd, DIR_IN, try_recvmsg, &m, 0);

	if (n > 0 && flags & MSG_WAITALL && !msg->msg_controllen &&
	    wants_rest(fd, flags))
		n = recv_parts(fd, d, msg, flags, n);
	if (unlikely(d))
		desc_leave(d);
	return tsan_io_acquire(n);
}

/* ---- sending ---- */

static long
try_sendto(struct desc *d, void *arg)
{
	const struct message *m = arg;
	long n = syscall6(SYS_sendto, d->fd, (long)m->p, (long)m->n, m->flags,
	    (long)m->addr, m->to_len);

	return likely(n != -EPIPE) ? n : fdio_take_error(d, n);
}

public ssize_t
weft_sendto(int fd, const void *buf, size_t len, int flags,
    const struct sockaddr *to, socklen_t to_len)
{
	struct message m = { (void *)(uintptr_t)buf, len, flags,
	    (struct sockaddr *)(uintptr_t)to, NULL, to_len };

	tsan_io_release();
	return tsan_io_wrote(call(fd, DIR_OUT, try_sendto, &m, 0));
}

public ssize_t
weft_sock_send(int fd, const void *buf, size_t len, int flags)
{
	return weft_sendto(fd, buf, len, flags, NULL, 0);
}

static long
try_sendmsg(struct desc *d, void *arg)
{
	const struct message *m = arg;
	long n = syscall6(SYS_sendmsg, d->fd, (long)m->p, m->flags, 0, 0, 0);

	return likely(n != -EPIPE) ? n : fdio_take_error(d, n);
}

public ssize_t
weft_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct message m = { .p = (void *)(uintptr_t)msg, .flags = flags };

	tsan_io_release();
	return tsan_io_wrote(call(fd, DIR_OUT, try_sendmsg, &m, 0));
}

/* ---- connections ---- */

/* accept and connect have no flag not to block. Within a call. */
static int
set_nonblock(struct desc *d)
{
	long flags;

	if (likely(a_load_relaxed(&d->flags) & NONBLOCK))
		return 0;
	if (a_load_relaxed(&d->kind) > KIND_SOCKET)
		return -ENOTSOCK;
	flags = fd_control(d->fd, F_GETFL, 0);
	if (flags >= 0 && !(flags & O_NONBLOCK))
		flags = fd_control(d->fd, F_SETFL, flags | O_NONBLOCK);
	if (flags < 0)
		return (int)flags;
	desc_flag(d, NONBLOCK);
	return 0;
}

/* The earlier one of `until` and the limits of the descriptor. */
static int64_t
first_of(struct desc *d, enum dir dir, int64_t until)
{
	int64_t when = desc_earliest(d, dir);

	return when < until ? when : until;
}

static void
nothing(void *unused)
{
	(void)unused;
}

/*
 * Sleeps in the queue of that direction until that time, or a limit, or until
 * the descriptor is closed, its limits are changed, or there is an event, which
 * means nothing here. The limits are read after it has entered the queue: a
 * change that comes later wakes it. Returns at once if one of these has just
 * happened, or no event would be reported.
 */
static void
sleep_in_queue(struct desc *d, enum dir dir, int64_t until)
{
	struct sleeper s;
	struct waiter w;
	uint32_t seen;

	sleeper_init(&s);
	sleeper_set_multi(&s);
	waiter_init(&w, &s, d);
	desc_try(d, dir, &seen);
	if (!desc_enqueue(d, dir, seen, &w))
		return;
	hard_pause();
	if (!desc_limit_error(d, dir)) {
		sleeper_arm(&s, first_of(d, dir, until));
		sleeper_sleep_with(&s, nothing, NULL,
		    dir == DIR_IN ? WAIT_READ : WAIT_WRITE);
		sleeper_disarm(&s);
	}
	desc_dequeue(d, dir, &w);
}

/*
 * Exponential back-off before the next try of what no event announces; not
 * beyond a limit. 0; -EBADF: it was closed; or as desc_limit_error. If it
 * cannot be registered (which may need a descriptor, too), or no runtime is
 * running, these are noticed after the sleep.
 */
static int
back_off(struct desc *d, enum dir dir, int64_t *ns)
{
	int64_t until = weft_deadline(*ns);

	*ns = *ns < 32 * MS ? *ns * 2 : 50 * MS;
	do {
		int err = desc_register(d);

		if (err == -EBADF)
			return err;
		if (err || !sched_is_up())
			weft_sleep_until(first_of(d, dir, until));
		else
			sleep_in_queue(d, dir, until);
		if (a_load_relaxed(&d->refs) & CLOSING)
			return -EBADF;
		err = desc_limit_error(d, dir);
		if (err)
			return err;
	} while (weft_now() < until);
	return 0;
}

static long
try_accept(struct desc *d, void *arg)
{
	const struct message *m = arg;

	return syscall6(SYS_accept4, d->fd, (long)m->addr, (long)m->len,
	    SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0);
}

/* An error of the connection, which is lost: accept the next one. */
static bool
of_connection(long err)
{
	switch (err) {
	case -ECONNABORTED: case -EPROTO: case -ENETDOWN: case -EHOSTDOWN:
	case -ENONET: case -EHOSTUNREACH: case -ENETUNREACH:
		return true;
	}
	return false;
}

/* A shortage of this process: the connection stays in the queue. */
static bool
of_us(long err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOBUFS ||
	    err == -ENOMEM;
}

static long
accept_one(struct desc *d, struct message *m)
{
	socklen_t room = m->len ? *m->len : 0;
	int64_t pause = MS;
	long n = set_nonblock(d);

	while (!n) {
		n = fdio_loop(d, DIR_IN, try_accept, m, 0);
		if (n >= 0)
			break;
		if (m->len)
			*m->len = room;
		if (of_connection(n))
			n = 0;
		else if (of_us(n))
			n = back_off(d, DIR_IN, &pause);
	}
	return n;
}

/* 0 is a valid result of accept_one: a descriptor. */
public int
weft_accept(int fd, struct sockaddr *from, socklen_t *from_len)
{
	struct message m = { .addr = from, .len = from_len };
	struct desc *d;
	bool tcp;
	long n;

	checkpoint();
	n = desc_enter(fd, &d);
	if (n)
		return (int)n;
	n = accept_one(d, &m);
	tcp = a_load_relaxed(&d->kind) == KIND_TCP;
	desc_leave(d);
	if (n >= 0 && tcp)
		desc_new_tcp((int)n);
	else if (n >= 0)
		desc_new_fd((int)n);
	return (int)tsan_io_acquire(n);
}

static long
connect_now(struct desc *d, const struct message *m)
{
	return syscall6(SYS_connect, d->fd, (long)m->addr, m->to_len, 0, 0, 0);
}

/* A connect is in progress: is it finished? */
static long
try_connected(struct desc *d, void *arg)
{
	int err = 0;
	unsigned len = sizeof err;
	long n;

	if (!fdio_ready_now(d, DIR_OUT))
		return -EAGAIN;
	n = fd_getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	if (n || err)
		return n ? n : -err;
	n = connect_now(d, arg);
	return n == -EISCONN ? 0 : n == -EALREADY ? -EAGAIN : n;
}

/*
 * A UNIX socket whose listener has no room gives -EAGAIN and no event; for
 * other sockets -EAGAIN means that there is no local port, which is final.
 */
static long
connect_one(struct desc *d, struct message *m)
{
	int64_t pause = MS / 8;
	long n = set_nonblock(d);

	while (!n) {
		n = desc_limit_error(d, DIR_OUT);
		if (n)
			return n;
		n = connect_now(d, m);
		if (n == -EINPROGRESS || n == -EINTR || n == -EALREADY)
			return fdio_loop(d, DIR_OUT, try_connected, m, 0);
		if (n != -EAGAIN || m->addr->sa_family != AF_UNIX)
			return n;
		n = back_off(d, DIR_OUT, &pause);
	}
	return n;
}

public int
weft_connect(int fd, const struct sockaddr *to, socklen_t to_len)
{
	struct message m = { .addr = (struct sockaddr *)(uintptr_t)to,
	    .to_len = to_len };
	struct desc *d;
	long n;

	tsan_io_release();
	checkpoint();
	n = desc_enter(fd, &d);
	if (n)
		return (int)n;
	n = connect_one(d, &m);
	desc_leave(d);
	return (int)n;
}

/*
 * Wakes writers that wait for room, since there will be none: for a UNIX socket
 * that is full the kernel reports no event.
 */
public int
weft_shutdown(int fd, int how)
{
	struct desc *d;
	long n;

	tsan_io_release();
	checkpoint();
	n = desc_enter(fd, &d);
	if (n)
		return (int)n;
	n = syscall6(SYS_shutdown, fd, how, 0, 0, 0, 0);
	if (!n && how != SHUT_RD)
		desc_wake_dir(d, DIR_OUT);
	desc_leave(d);
	return (int)n;
}

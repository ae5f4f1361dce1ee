/* SPDX-License-Identifier: MIT */
/*
 * Calls on sockets, and those that make and close descriptors, through the
 * hooks, with bad input: the results are the system's. See bad_input.h for how
 * to read the table.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include "bad_input.h"

enum { ODD_FLAGS = 0x800000 };	/* no flag of these calls */

/* ---- recv, recvfrom, recvmsg ---- */

EACH(RD, recv(fd, buf, 8, 0))
EACH(RD, recv(fd, buf, 0, MSG_DONTWAIT))
EACH(0, recv(fd, buf, 8, MSG_DONTWAIT))
EACH(RD, recvmsg(fd, message(in, bytes_of(in, 3), 3), 0))

CASE(STREAM_DATA, recv(fd, NULL, 8, 0))
CASE(STREAM_DATA, recv(fd, EDGE, 8, 0))
CASE(STREAM_DATA, recv(fd, buf, SIZE_MAX, 0))
CASE(STREAM_DATA, recv(fd, buf, SSIZE_MAX, 0))
CASE(STREAM_DATA, recv(fd, buf, 8, -1))
CASE(STREAM_DATA, recv(fd, buf, 8, ODD_FLAGS))
CASE(STREAM_DATA, recv(fd, buf, 8, MSG_PEEK))
CASE(STREAM_DATA, recv(fd, buf, 8, MSG_PEEK | MSG_DONTWAIT))
CASE(STREAM_DATA, recv(fd, buf, 2, MSG_TRUNC))
CASE(STREAM_DATA, recv(fd, buf, 5, MSG_WAITALL))
CASE(STREAM_DATA, recv(fd, buf, 8, MSG_WAITALL | MSG_DONTWAIT))
CASE(STREAM_DATA, recv(fd, buf, 8, MSG_OOB))
CASE(STREAM_DATA, recv(fd, buf, 8, MSG_ERRQUEUE))
CASE(STREAM_DATA_EOF, recv(fd, buf, 8, MSG_WAITALL))
CASE(STREAM_DATA_EOF, recv(fd, buf, 8, MSG_WAITALL | MSG_PEEK))
CASE(STREAM_EOF, recv(fd, buf, 8, MSG_WAITALL))
CASE(STREAM_EMPTY_NB, recv(fd, buf, 8, MSG_WAITALL))
CASE(STREAM_EMPTY_NB, recv(fd, buf, 8, MSG_PEEK))
CASE(STREAM_EMPTY_NB, recv(fd, buf, 8, MSG_OOB))
CASE_WAITS(STREAM_LIMIT, recv(fd, buf, 8, 0))
CASE_WAITS(STREAM_LIMIT, recv(fd, buf, 8, MSG_PEEK))
CASE_WAITS(STREAM_LIMIT, recv(fd, buf, 8, MSG_WAITALL))
CASE(TCP_DATA, recv(fd, NULL, 8, 0))
CASE(TCP_DATA, recv(fd, EDGE, 8, 0))
CASE(TCP_DATA, recv(fd, buf, SIZE_MAX, 0))
CASE(TCP_DATA, recv(fd, buf, 8, -1))
CASE(TCP_DATA, recv(fd, buf, 8, MSG_PEEK))
CASE(TCP_DATA, recv(fd, buf, 2, MSG_TRUNC))
CASE(TCP_DATA, recv(fd, NULL, 5, MSG_TRUNC))
CASE(TCP_DATA, recv(fd, buf, 5, MSG_WAITALL))
CASE(TCP_DATA, recv(fd, buf, 8, MSG_OOB))
CASE(TCP_DATA, recv(fd, buf, 8, MSG_ERRQUEUE))
CASE(TCP_DATA_EOF, recv(fd, buf, 8, MSG_WAITALL))
CASE(TCP_DATA_EOF, recv(fd, buf, 8, MSG_WAITALL | MSG_PEEK))
CASE(TCP_URGENT, recv(fd, buf, 8, MSG_OOB))
CASE(TCP_URGENT, recv(fd, buf, 8, MSG_OOB | MSG_PEEK))
CASE(TCP_URGENT, recv(fd, buf, 8, 0))
CASE(TCP_URGENT, recv(fd, buf, 0, MSG_OOB))
CASE(TCP_EMPTY_NB, recv(fd, buf, 8, MSG_OOB))
CASE_WAITS(TCP_LIMIT, recv(fd, buf, 8, 0))
CASE_WAITS(TCP_LIMIT, recv(fd, buf, 8, MSG_WAITALL))
CASE_WAITS(TCP_LIMIT, recv(fd, buf, 8, MSG_PEEK))
CASE(UDP_DATA, recv(fd, buf, 2, 0))
CASE(UDP_DATA, recv(fd, buf, 2, MSG_TRUNC))
CASE(UDP_DATA, recv(fd, buf, 2, MSG_TRUNC | MSG_PEEK))
CASE(UDP_DATA, recv(fd, NULL, 0, MSG_TRUNC | MSG_PEEK))
CASE(UDP_DATA, recv(fd, NULL, 0, 0))
CASE(UDP_DATA, recv(fd, buf, 8, MSG_WAITALL))
CASE(UDP_DATA, recv(fd, buf, 8, MSG_OOB))
CASE(UDP_DATA, recv(fd, buf, 8, -1))
CASE(UDP_ZERO, recv(fd, buf, 8, MSG_TRUNC))
CASE(UDP_ZERO, recv(fd, NULL, 0, 0))
CASE(UDP_REFUSED, recv(fd, buf, 8, MSG_ERRQUEUE))
CASE(UDP_REFUSED, recv(fd, buf, 8, MSG_DONTWAIT))
CASE(UDP_EMPTY_NB, recv(fd, buf, 8, MSG_ERRQUEUE))
CASE_WAITS(UDP_LIMIT, recv(fd, buf, 8, 0))
CASE_WAITS(UDP_LIMIT, recv(fd, buf, 0, 0))
CASE_WAITS(UDP_LIMIT, recv(fd, buf, 8, MSG_WAITALL))
CASE(DGRAM_DATA, recv(fd, buf, 2, MSG_TRUNC))
CASE(DGRAM_DATA, recv(fd, buf, 8, MSG_OOB))
CASE(DGRAM_DATA, recv(fd, NULL, 8, 0))
CASE(SEQ_DATA, recv(fd, buf, 2, MSG_TRUNC))
CASE(SEQ_DATA, recv(fd, buf, 2, MSG_PEEK))
CASE(PIPE_DATA, recv(fd, NULL, SIZE_MAX, -1))
CASE(CLOSED, recv(fd, NULL, SIZE_MAX, -1))

#define ADDR (struct sockaddr *)&in->addr
CASE(UDP_DATA, recvfrom(fd, buf, 8, 0, (struct sockaddr *)BAD, &in->addr_len))
CASE(UDP_DATA, recvfrom(fd, buf, 8, 0, ADDR, NULL))
CASE(UDP_DATA, recvfrom(fd, buf, 8, 0, ADDR, (socklen_t *)BAD))
CASE(UDP_DATA, recvfrom(fd, buf, 8, 0, NULL, &in->addr_len))
CASE(STREAM_EMPTY_NB, recvfrom(fd, buf, 8, 0, ADDR, &in->addr_len))
CASE(PIPE_DATA, recvfrom(fd, buf, 8, 0, ADDR, &in->addr_len))
CASE_WAITS(UDP_LIMIT, recvfrom(fd, buf, 8, 0, ADDR, &in->addr_len))

static long
recv_address(struct in *in, socklen_t room)
{
	long r;

	in->addr_len = room;
	r = in->c->recvfrom(in->fd, in->buf, 8, 0, ADDR, &in->addr_len);
	note(in, in->addr_len);
	note(in, in->addr.ss_family);
	return r;
}

CASE_BODY(UDP_DATA, recvfrom_an_address)
{
	return recv_address(in, sizeof in->addr);
}

CASE_BODY(UDP_DATA, recvfrom_with_little_room)
{
	return recv_address(in, 3);
}

CASE_BODY(UDP_DATA, recvfrom_with_no_room) { return recv_address(in, 0); }

CASE_BODY(UDP_DATA, recvfrom_with_negative_room)
{
	return recv_address(in, (socklen_t)-1);
}

CASE_BODY(TCP_DATA, recvfrom_of_a_connection)
{
	return recv_address(in, sizeof in->addr);
}

CASE_BODY(DGRAM_DATA, recvfrom_of_no_name)
{
	return recv_address(in, sizeof in->addr);
}

CASE(STREAM_DATA, recvmsg(fd, NULL, 0))
CASE(STREAM_DATA, recvmsg(fd, (struct msghdr *)BAD, 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, NULL, 0), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, NULL, 1), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, (struct iovec *)BAD, 1), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, bytes_of(in, 1024), 1024), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, bytes_of(in, 1025), 1025), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, in->iov, SIZE_MAX), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, parts_of(in, 2, BAD, 3), 2), 0))
CASE(STREAM_DATA, recvmsg(fd, message(in, bytes_of(in, 3), 3), -1))
CASE(STREAM_DATA, recvmsg(fd, message(in, bytes_of(in, 3), 3), ODD_FLAGS))
CASE(STREAM_DATA, recvmsg(fd, message(in, bytes_of(in, 3), 3), MSG_PEEK))
CASE(TCP_DATA, recvmsg(fd, message(in, bytes_of(in, 1025), 1025), 0))
CASE(TCP_DATA, recvmsg(fd, message(in, bytes_of(in, 3), 3), MSG_OOB))
CASE(TCP_DATA, recvmsg(fd, (struct msghdr *)BAD, 0))
CASE_WAITS(STREAM_LIMIT, recvmsg(fd, message(in, bytes_of(in, 3), 3), 0))
CASE_WAITS(TCP_LIMIT, recvmsg(fd, message(in, bytes_of(in, 3), 3), 0))
CASE_WAITS(UDP_LIMIT, recvmsg(fd, message(in, bytes_of(in, 3), 3), 0))
CASE(STREAM_EMPTY_NB, recvmsg(fd, NULL, 0))
CASE(CLOSED, recvmsg(fd, NULL, 0))
CASE(FILE_RW, recvmsg(fd, NULL, 0))

/* What it writes into the header. */
static long
recv_header(struct in *in, int flags)
{
	struct msghdr *m = message(in, bytes_of(in, 3), 3);
	long r;

	m->msg_name = &in->addr;
	m->msg_namelen = sizeof in->addr;
	r = in->c->recvmsg(in->fd, m, flags);
	note(in, m->msg_flags);
	note(in, m->msg_namelen);
	note(in, (long)m->msg_controllen);
	return r;
}

CASE_BODY(UDP_DATA, recvmsg_truncated) { return recv_header(in, 0); }
CASE_BODY(UDP_DATA, recvmsg_trunc) { return recv_header(in, MSG_TRUNC); }
CASE_BODY(UDP_DATA, recvmsg_cloexec)
{
	return recv_header(in, MSG_CMSG_CLOEXEC);
}
CASE_BODY(UDP_ZERO, recvmsg_empty) { return recv_header(in, 0); }
CASE_BODY(SEQ_DATA, recvmsg_packet) { return recv_header(in, 0); }
CASE_BODY(TCP_DATA, recvmsg_connection) { return recv_header(in, 0); }
CASE_BODY(TCP_RESET, recvmsg_reset) { return recv_header(in, 0); }
CASE_BODY(STREAM_EOF, recvmsg_end) { return recv_header(in, 0); }
CASE_BODY(STREAM_EMPTY_NB, recvmsg_nothing) { return recv_header(in, 0); }
CASE_BODY(STREAM_LIMIT, recvmsg_too_late) { return recv_header(in, 0); }

/* ---- send, sendto, sendmsg ---- */

EACH(WR, send(fd, buf, 8, 0))
EACH(WR, send(fd, buf, 8, MSG_NOSIGNAL))
EACH(WR, send(fd, buf, 0, 0))
EACH(WR, sendmsg(fd, message(in, bytes_of(in, 8), 0), MSG_NOSIGNAL))

CASE(STREAM_DATA, send(fd, NULL, 8, 0))
CASE(STREAM_DATA, send(fd, EDGE, 8, 0))
CASE(STREAM_DATA, send(fd, buf, 8, -1))
CASE(STREAM_DATA, send(fd, buf, 8, ODD_FLAGS))
CASE(STREAM_DATA, send(fd, buf, 8, MSG_OOB))
CASE(STREAM_DATA, send(fd, buf, 8, MSG_EOR | MSG_MORE))
CASE(STREAM_EMPTY_NB, send(fd, buf, SIZE_MAX, 0))
CASE(STREAM_FULL_NB, send(fd, buf, 8, MSG_DONTWAIT))
CASE(STREAM_FULL_LIMIT, send(fd, buf, 8, MSG_DONTWAIT))
CASE_WAITS(STREAM_FULL_LIMIT, send(fd, buf, 8, 0))
CASE_WAITS(STREAM_FULL_LIMIT, send(fd, NULL, 8, 0))
CASE(TCP_DATA, send(fd, NULL, 8, 0))
CASE(TCP_DATA, send(fd, EDGE, 8, 0))
CASE(TCP_DATA, send(fd, buf, 8, MSG_OOB))
CASE(TCP_DATA, send(fd, buf, 8, ODD_FLAGS))
CASE(UDP_DATA, send(fd, buf, 70000, 0))
CASE(UDP_DATA, send(fd, buf, 8, MSG_OOB))
CASE(UDP_DATA, send(fd, buf, SIZE_MAX, 0))
CASE(DGRAM_BROKEN, send(fd, buf, 8, 0))
CASE(SEQ_EOF, send(fd, buf, 8, 0))
CASE(SEQ_EOF, send(fd, buf, 8, MSG_NOSIGNAL))

CASE(UDP_NEW, sendto(fd, buf, 8, 0, NULL, 0))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, NULL, 16))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, (struct sockaddr *)BAD, 16))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, ADDR, 0))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, ADDR, 3))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, ADDR, sizeof in->addr))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, ADDR, 4096))
CASE(UDP_NEW, sendto(fd, buf, 8, 0, ADDR, (socklen_t)-1))
CASE(UDP_NEW, sendto(fd, buf, 8, -1, ADDR, 16))
CASE(STREAM_DATA, sendto(fd, buf, 8, 0, ADDR, 16))
CASE(TCP_DATA, sendto(fd, buf, 8, 0, ADDR, 16))
CASE(TCP_NEW, sendto(fd, buf, 8, 0, ADDR, 16))
CASE(CLOSED, sendto(fd, buf, 8, 0, ADDR, 16))
CASE(PIPE_W, sendto(fd, buf, 8, 0, ADDR, 16))

CASE(STREAM_DATA, sendmsg(fd, NULL, 0))
CASE(STREAM_DATA, sendmsg(fd, (struct msghdr *)BAD, 0))
CASE(STREAM_DATA, sendmsg(fd, message(in, bytes_of(in, 3), 3), 0))
CASE(TCP_DATA, sendmsg(fd, NULL, 0))
CASE(CLOSED, sendmsg(fd, NULL, 0))

/* Without control data, which would have to be right. */
static struct msghdr *
parts(struct in *in, struct iovec *iov, size_t n)
{
	message(in, iov, n)->msg_control = NULL;
	in->msg.msg_controllen = 0;
	return &in->msg;
}

CASE(STREAM_DATA, sendmsg(fd, parts(in, bytes_of(in, 3), 3), 0))
CASE(STREAM_DATA, sendmsg(fd, parts(in, NULL, 0), 0))
CASE(STREAM_DATA, sendmsg(fd, parts(in, NULL, 1), 0))
CASE(STREAM_DATA, sendmsg(fd, parts(in, bytes_of(in, 1025), 1025), 0))
CASE(STREAM_DATA, sendmsg(fd, parts(in, in->iov, SIZE_MAX), 0))
CASE(STREAM_DATA, sendmsg(fd, parts(in, parts_of(in, 2, BAD, 3), 2), 0))
CASE(STREAM_DATA, sendmsg(fd, parts(in, bytes_of(in, 3), 3), ODD_FLAGS))
CASE(STREAM_EOF, sendmsg(fd, parts(in, bytes_of(in, 3), 3), 0))
CASE(STREAM_EOF, sendmsg(fd, parts(in, bytes_of(in, 3), 3), MSG_NOSIGNAL))
CASE(TCP_DATA, sendmsg(fd, parts(in, bytes_of(in, 1025), 1025), 0))
CASE(TCP_DATA, sendmsg(fd, parts(in, parts_of(in, 2, BAD, 3), 2), 0))
CASE(UDP_DATA, sendmsg(fd, parts(in, NULL, 0), 0))
CASE(UDP_NEW, sendmsg(fd, parts(in, bytes_of(in, 3), 3), 0))
CASE_WAITS(STREAM_FULL_LIMIT, sendmsg(fd, parts(in, bytes_of(in, 3), 3), 0))

/* ---- accept ---- */

#define ACCEPT(k, id, call)						\
	CASE_BODY(k, id)						\
	{								\
		int fd = in->fd;					\
									\
		return opened(in, in->c->call);				\
	}

ACCEPT(LISTENER_READY, accept_plain, accept(fd, NULL, NULL))
ACCEPT(LISTENER_READY, accept4_flags,
    accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC))
ACCEPT(LISTENER_READY, accept4_bad_flags, accept4(fd, NULL, NULL, -1))
ACCEPT(LISTENER_READY, accept4_odd_flags, accept4(fd, NULL, NULL, 1))
ACCEPT(LISTENER_READY, accept_address,
    accept(fd, ADDR, &in->addr_len))
ACCEPT(LISTENER_READY, accept_bad_address,
    accept(fd, (struct sockaddr *)BAD, &in->addr_len))
ACCEPT(LISTENER_READY, accept_no_length, accept(fd, ADDR, NULL))
ACCEPT(LISTENER_READY, accept_bad_length, accept(fd, ADDR, (socklen_t *)BAD))
ACCEPT(LISTENER_READY_UNIX, accept_unix, accept(fd, ADDR, &in->addr_len))
ACCEPT(LISTENER, accept4_bad_flags_wait, accept4(fd, NULL, NULL, ODD_FLAGS))
ACCEPT(LISTENER_NB, accept_nothing_bad_address,
    accept(fd, (struct sockaddr *)BAD, &in->addr_len))
EACH(ACC, accept4(fd, NULL, NULL, 1))
CASE_WAITS(LISTENER_LIMIT, accept(fd, NULL, NULL))
CASE_WAITS(LISTENER_LIMIT, accept4(fd, NULL, NULL, SOCK_NONBLOCK))

/* On all that is no listener. */
#define NOT_READY(k) ((k) != LISTENER_READY && (k) != LISTENER_READY_UNIX)
static long
accept_any(struct in *in)
{
	return opened(in, in->c->accept(in->fd, ADDR, &in->addr_len));
}

__attribute__((constructor)) static void
register_accepts(void)
{
	for (int k = 0; k < KINDS; k++)
		if ((kinds[k].ends & ACC) && NOT_READY(k))
			register_case("accept(fd, ADDR, &len)", k, 0,
			    accept_any);
}

static long
accept_room(struct in *in, socklen_t room)
{
	long r;

	in->addr_len = room;
	r = opened(in, in->c->accept(in->fd, ADDR, &in->addr_len));
	note(in, in->addr_len);
	note(in, in->addr.ss_family);
	return r;
}

CASE_BODY(LISTENER_READY, accept_room_0) { return accept_room(in, 0); }
CASE_BODY(LISTENER_READY, accept_room_3) { return accept_room(in, 3); }
CASE_BODY(LISTENER_READY, accept_room_200) { return accept_room(in, 128); }
CASE_BODY(LISTENER_READY, accept_room_negative)
{
	return accept_room(in, (socklen_t)-1);
}

/* ---- connect ---- */

EACH(0, connect(fd, NULL, 0))
EACH(0, connect(fd, (struct sockaddr *)BAD, 16))
CASE(TCP_NEW, connect(fd, ADDR, 0))
CASE(TCP_NEW, connect(fd, ADDR, 3))
CASE(TCP_NEW, connect(fd, ADDR, 4096))
CASE(TCP_NEW, connect(fd, ADDR, (socklen_t)-1))
CASE(TCP_NEW, connect(fd, ADDR, sizeof in->addr))
CASE(UNIX_NEW, connect(fd, ADDR, 16))

static long
connect_to(struct in *in, wire_addr w)
{
	return in->c->connect(in->fd, &w.a.any, w.len);
}

/* Nothing listens there: it is bound, and that is all. */
static long
connect_refused(struct in *in)
{
	wire_addr w = wire_loopback(AF_INET);
	int bound = wire_bound(SOCK_STREAM, &w);
	long r = connect_to(in, w);
	int err = errno;

	sys_close(bound);
	errno = err;
	return r;
}

CASE_BODY(TCP_NEW, connect_to_no_listener) { return connect_refused(in); }
CASE_BODY(TCP_DATA, connect_again) { return connect_refused(in); }
CASE_BODY(LISTENER, connect_a_listener) { return connect_refused(in); }
CASE_BODY(UDP_NEW, connect_udp) { return connect_refused(in); }
CASE_BODY(STREAM_DATA, connect_other_family) { return connect_refused(in); }
CASE_BODY(UNIX_NEW, connect_new_other_family)
{
	return connect_refused(in);
}
CASE_BODY(PIPE_DATA, connect_a_pipe) { return connect_refused(in); }
CASE_BODY(CLOSED, connect_closed) { return connect_refused(in); }
CASE_BODY(UNIX_NEW, connect_to_no_path)
{
	return connect_to(in, wire_unix(false));
}
CASE_BODY(UNIX_NEW, connect_to_no_name)
{
	return connect_to(in, wire_unix(true));
}

CASE_BODY(TCP_NEW, connect_twice_refused)
{
	note(in, connect_refused(in));
	note(in, errno);
	return connect_refused(in);
}

/* To one that listens: made at once, or begun. */
static long
connect_listening(struct in *in)
{
	wire_addr w = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &w, 4);
	long r = connect_to(in, w);
	int err = errno;

	if (r == -1)
		settle(in->fd, POLLOUT);
	note(in, sys_connect(in->fd, &w.a.any, w.len));
	note(in, errno);
	sys_close(ear);
	errno = err;
	return r;
}

CASE_BODY(TCP_NEW, connect_twice) { return connect_listening(in); }

CASE_BODY(TCP_NEW, connect_non_blocking)
{
	long r;

	set_nonblocking(in->fd);
	r = connect_listening(in);
	note(in, errno);
	fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
	return r;
}

/* The queue of a unix listener is full: it waits, or would. */
static long
connect_full(struct in *in)
{
	wire_addr w = wire_unix(true);
	int ear = wire_listen(SOCK_STREAM, &w, 0), first, err;
	long r;

	first = sys_socket(AF_UNIX, SOCK_STREAM, 0);
	EQ(sys_connect(first, &w.a.any, w.len), 0);
	r = connect_to(in, w);
	err = errno;
	sys_close(first);
	sys_close(ear);
	errno = err;
	return r;
}

CASE_BODY(UNIX_NEW, connect_full_non_blocking)
{
	long r;

	set_nonblocking(in->fd);
	r = connect_full(in);
	note(in, errno);
	fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
	return r;
}

CASE_MS_(UNIX_NEW, TIMEO_MS, "connect_full_limit", connect_full_limit)
{
	set_limits(in->fd);
	return connect_full(in);
}

/* ---- close, dup, and what makes descriptors ---- */

/* By a high number, which is nothing else's before it is closed again. */
static long
close_twice(struct in *in)
{
	int fd = fcntl(in->fd, F_DUPFD, 650);
	long r;

	if (fd < 0)
		return in->c->close(in->fd);
	r = in->c->close(fd);
	note(in, in->c->close(fd));
	note(in, errno);
	return r;
}

static long
close_itself(struct in *in)
{
	long r = in->c->close(in->fd);

	in->fd = -1;
	return r;
}

static long
dup_and_close(struct in *in)
{
	return opened(in, in->c->dup(in->fd));
}

static long
dup2_high(struct in *in)
{
	return opened(in, in->c->dup2(in->fd, 600));
}

static long
dup2_itself(struct in *in)
{
	return in->c->dup2(in->fd, in->fd) == in->fd ? 0 : -1;
}

static long
dup3_high(struct in *in)
{
	return opened(in, in->c->dup3(in->fd, 600, O_CLOEXEC));
}

static long
dup2_onto_it(struct in *in)
{
	int null = open("/dev/null", O_RDWR), err;
	long r = in->c->dup2(null, in->fd) < 0 ? -1 : 0;

	err = errno;
	sys_close(null);
	errno = err;
	return r;
}

__attribute__((constructor)) static void
register_numbers(void)
{
	for (int k = 0; k < KINDS; k++) {
		register_case("close(fd), twice", k, 0, close_twice);
		register_case("close(fd)", k, 0, close_itself);
		register_case("dup(fd)", k, 0, dup_and_close);
		register_case("dup2(fd, 600)", k, 0, dup2_high);
		register_case("dup2(fd, fd)", k, 0, dup2_itself);
		register_case("dup3(fd, 600, O_CLOEXEC)", k, 0, dup3_high);
		register_case("dup2(another, fd)", k, 0, dup2_onto_it);
	}
}

CASE(PIPE_DATA, dup2(fd, -1))
CASE(PIPE_DATA, dup2(fd, INT_MAX))
CASE(PIPE_DATA, dup3(fd, fd, 0))
CASE(PIPE_DATA, dup3(fd, 600, -1))
CASE(PIPE_DATA, dup3(fd, -1, 0))

CASE(MINUS_ONE, socket(-1, SOCK_STREAM, 0))
CASE(MINUS_ONE, socket(AF_INET, -1, 0))
CASE(MINUS_ONE, socket(AF_INET, 0, 0))
CASE(MINUS_ONE, socket(AF_INET, SOCK_STREAM, 99999))
CASE(MINUS_ONE, socket(AF_UNIX, SOCK_STREAM | ODD_FLAGS, 0))
CASE(MINUS_ONE, socketpair(AF_INET, SOCK_STREAM, 0, (int *)buf))
CASE(MINUS_ONE, socketpair(AF_UNIX, SOCK_STREAM, 0, NULL))
CASE(MINUS_ONE, socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)BAD))
CASE(MINUS_ONE, socketpair(AF_UNIX, -1, 0, (int *)buf))
CASE(MINUS_ONE, pipe(NULL))
CASE(MINUS_ONE, pipe((int *)BAD))
CASE(MINUS_ONE, pipe((int *)READ_ONLY))
CASE(MINUS_ONE, pipe2(NULL, 0))
CASE(MINUS_ONE, pipe2((int *)buf, -1))
CASE(MINUS_ONE, pipe2((int *)BAD, O_NONBLOCK))

/* ---- with the size of the object ---- */

EACH(RD, recv_chk(fd, buf, 8, PAGE, 0))
CASE(UDP_DATA, recvfrom_chk(fd, buf, 2, PAGE, MSG_TRUNC, ADDR, &in->addr_len))
CASE(STREAM_DATA, recv_chk(fd, BAD, 8, SIZE_MAX, 0))
CASE_WAITS(STREAM_LIMIT, recv_chk(fd, buf, 8, 8, 0))
CASE_WAITS(UDP_LIMIT, recvfrom_chk(fd, buf, 8, 8, 0, NULL, NULL))

DIES(recv_larger_than_the_object, 1, "buffer overflow detected")
{
	char c[4];

	lib_calls.recv_chk(0, c, 5, sizeof c, 0);
}

DIES(recvfrom_larger_than_the_object, 1, "buffer overflow detected")
{
	char c[4];

	lib_calls.recvfrom_chk(0, c, 5, sizeof c, 0, NULL, NULL);
}

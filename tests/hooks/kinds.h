/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of every kind and in every state, prepared for one call. Each is
 * made anew for each call, in the same way.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef KINDS_H
#define KINDS_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "calls.h"
#include "fd_pairs.h"

enum { TIMEO_MS = 30 };		/* of those with a time limit */

/* fd is what the call is made on, peer the other end; -1: there is none. */
struct made {
	int fd, peer;
};

struct kind {
	const char *name;
	void (*make)(struct made *m, int arg);
	int arg;
	unsigned ends;		/* calls that do not wait for ever on it */
};
enum { RD = 1, WR = 2, ACC = 4, ALL = 7 };

/* ---- what makers are made of ---- */

static inline void
set_limits(int fd)
{
	struct timeval tv = { 0, TIMEO_MS * 1000 };

	EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), 0);
	EQ(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv), 0);
}

/* What was sent over the loopback has arrived. */
static inline void
settle(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = (short)events };

	while (sys_poll(&p, 1, -1) != 1)
		;
}

static inline void
set_nonblocking(int fd)
{
	EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

/* Before its close: the other end gets a reset. */
static inline void
set_reset(int fd)
{
	struct linger l = { 1, 0 };

	EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l), 0);
}

static inline void
pair_of(struct made *m, int wire_kind)
{
	int end[2];

	wire(wire_kind, end);
	m->fd = end[0];
	m->peer = end[1];
}

static inline void
close_peer(struct made *m)
{
	EQ(close(m->peer), 0);
	m->peer = -1;
}

static inline void
swap_ends(struct made *m)
{
	int fd = m->fd;

	m->fd = m->peer;
	m->peer = fd;
}

static inline void
feed(struct made *m, const char *text, size_t n)
{
	EQ(write(m->peer, text, n), n);
	settle(m->fd, POLLIN);
}

/* ---- not files that can be waited for ---- */

static inline void
make_number(struct made *m, int number)
{
	m->fd = number;
}

/* High, so that it is not taken meanwhile. */
static inline void
make_closed(struct made *m, int arg)
{
	int fd = open("/dev/null", O_RDONLY);

	(void)arg;
	m->fd = fcntl(fd, F_DUPFD, 700);
	close(m->fd);
	close(fd);
}

static inline void
make_file(struct made *m, int arg)
{
	(void)arg;
	m->fd = memfd_create("kind", 0);
	EQ(write(m->fd, "0123456789", 10), 10);
	EQ(lseek(m->fd, 2, SEEK_SET), 2);
}

static inline void
make_program(struct made *m, int flags)
{
	m->fd = open("/proc/self/exe", flags);
}

static inline void
make_root(struct made *m, int flags)
{
	m->fd = open("/", flags);
}

static inline void make_null(struct made *m, int arg)
{
	m->fd = open("/dev/null", O_RDWR | arg);
}

static inline void make_zero(struct made *m, int arg)
{
	m->fd = open("/dev/zero", O_RDWR | arg);
}

static inline void make_full(struct made *m, int arg)
{
	m->fd = open("/dev/full", O_RDWR | arg);
}

static inline void
make_epoll(struct made *m, int arg)
{
	m->fd = epoll_create1(arg);
}

static inline void
make_eventfd(struct made *m, int value)
{
	m->fd = eventfd((unsigned)value, value ? 0 : EFD_NONBLOCK);
}

/* Not a number more fits into it. */
static inline void
make_eventfd_full(struct made *m, int arg)
{
	uint64_t most = UINT64_MAX - 1;

	m->fd = eventfd(0, arg);
	EQ(write(m->fd, &most, sizeof most), sizeof most);
}

static inline void
make_timerfd(struct made *m, int arg)
{
	m->fd = timerfd_create(CLOCK_MONOTONIC, arg);
}

static inline void
make_inotify(struct made *m, int arg)
{
	m->fd = inotify_init1(arg);
}

static inline void
make_signalfd(struct made *m, int arg)
{
	sigset_t none;

	sigemptyset(&none);
	m->fd = signalfd(-1, &none, arg);
}

/* ---- pairs, with the state of the end that is used ---- */

static inline void
make_data(struct made *m, int k)
{
	pair_of(m, k);
	feed(m, "hello", 5);
}

/* Two messages, the first of no bytes. */
static inline void
make_zero_message(struct made *m, int k)
{
	pair_of(m, k);
	EQ(send(m->peer, "", 0, 0), 0);
	EQ(send(m->peer, "xy", 2, 0), 2);
	settle(m->fd, POLLIN);
}

static inline void make_pair(struct made *m, int k) { pair_of(m, k); }

static inline void
make_writer(struct made *m, int k)
{
	pair_of(m, k);
	swap_ends(m);
}

static inline void
make_stuffed(struct made *m, int k)
{
	make_writer(m, k);
	wire_stuff(m->fd);
}

static inline void
make_ended(struct made *m, int k)
{
	pair_of(m, k);
	close_peer(m);
	settle(m->fd, POLLIN);
}

/* The other end wrote and then ended. */
static inline void
make_data_ended(struct made *m, int k)
{
	pair_of(m, k);
	feed(m, "hello", 5);
	close_peer(m);
	settle(m->fd, POLLIN | POLLRDHUP);
}

static inline void
make_writer_broken(struct made *m, int k)
{
	make_writer(m, k);
	close_peer(m);
}

static inline void
make_reset(struct made *m, int k)
{
	pair_of(m, k);
	if (k == TCP4)
		set_reset(m->peer);
	else
		EQ(write(m->fd, "?", 1), 1);	/* and that is not read */
	close_peer(m);
	settle(m->fd, POLLIN);
}

/* The peer has ended its direction only. */
static inline void
make_half(struct made *m, int k)
{
	pair_of(m, k);
	EQ(shutdown(m->peer, SHUT_WR), 0);
	settle(m->fd, POLLIN | POLLRDHUP);
}

/* Of streams: this end was shut down; arg: how. */
static inline void
make_shut(struct made *m, int how)
{
	pair_of(m, STREAM);
	EQ(shutdown(m->fd, how), 0);
}

static inline void
make_tcp_shut(struct made *m, int how)
{
	pair_of(m, TCP4);
	EQ(shutdown(m->fd, how), 0);
}

static inline void
make_limited(struct made *m, int k)
{
	pair_of(m, k);
	set_limits(m->fd);
}

static inline void
make_limited_full(struct made *m, int k)
{
	make_stuffed(m, k);
	set_limits(m->fd);
}

/* One urgent byte, and data before it. */
static inline void
make_urgent(struct made *m, int arg)
{
	(void)arg;
	pair_of(m, TCP4);
	feed(m, "hello", 5);
	EQ(send(m->peer, "!", 1, MSG_OOB), 1);
	settle(m->fd, POLLPRI);
}

/* ---- sockets without a peer ---- */

static inline void
make_tcp(struct made *m, int flags)
{
	m->fd = socket(AF_INET, SOCK_STREAM | flags, 0);
}

static inline void
make_udp(struct made *m, int flags)
{
	m->fd = socket(AF_INET, SOCK_DGRAM | flags, 0);
}

static inline void
make_unix(struct made *m, int type)
{
	m->fd = socket(AF_UNIX, type, 0);
}

/* Nothing is at the port that it sends to, and it was told so. */
static inline void
make_udp_refused(struct made *m, int flags)
{
	wire_addr a = wire_loopback(AF_INET);
	int gone = wire_bound(SOCK_DGRAM, &a);

	m->fd = socket(AF_INET, SOCK_DGRAM | flags, 0);
	EQ(connect(m->fd, &a.a.any, a.len), 0);
	close(gone);
	EQ(send(m->fd, "?", 1, 0), 1);
	settle(m->fd, POLLERR);
}

static inline void
make_listener(struct made *m, int flags)
{
	wire_addr a = wire_loopback(AF_INET);

	m->fd = wire_listen(SOCK_STREAM | flags, &a, 4);
}

static inline void
make_listener_limited(struct made *m, int arg)
{
	make_listener(m, arg);
	set_limits(m->fd);
}

/* One connection is there to be accepted. */
static inline void
make_listener_ready(struct made *m, int family)
{
	wire_addr a = family == AF_UNIX ? wire_unix(true) :
	    wire_loopback(family);

	m->fd = wire_listen(SOCK_STREAM, &a, 4);
	m->peer = socket(family, SOCK_STREAM, 0);
	EQ(connect(m->peer, &a.a.any, a.len), 0);
	settle(m->fd, POLLIN);
}

static inline void
make_listener_shut(struct made *m, int arg)
{
	make_listener(m, arg);
	EQ(shutdown(m->fd, SHUT_RD), 0);
}

/* Its other side has gone. */
static inline void
make_pty_hung_up(struct made *m, int arg)
{
	(void)arg;
	pair_of(m, PTY);
	close_peer(m);
}

static inline void
make_pty_nonblocking(struct made *m, int arg)
{
	(void)arg;
	pair_of(m, PTY);
	set_nonblocking(m->fd);
}

/* ---- all of them ---- */

enum { NB = SOCK_NONBLOCK };

#define KIND_LIST(K)							\
	K(MINUS_ONE, "-1", make_number, -1, ALL)			\
	K(MINUS_MOST, "INT_MIN", make_number, INT_MIN, ALL)		\
	K(BEYOND, "INT_MAX", make_number, INT_MAX, ALL)			\
	K(CLOSED, "a closed one", make_closed, 0, ALL)			\
	K(FILE_RW, "a file", make_file, 0, ALL)				\
	K(FILE_R, "a file to read", make_program, O_RDONLY, ALL)	\
	K(DIRECTORY, "a directory", make_root, O_DIRECTORY, ALL)	\
	K(PATH, "an O_PATH one", make_root, O_PATH, ALL)		\
	K(DEV_NULL, "/dev/null", make_null, 0, ALL)			\
	K(DEV_ZERO, "/dev/zero", make_zero, 0, ALL)			\
	K(DEV_FULL, "/dev/full", make_full, 0, ALL)			\
	K(EPOLL, "an epoll", make_epoll, 0, ALL)			\
	K(EVENTFD_1, "an eventfd of 1", make_eventfd, 1, ALL)		\
	K(EVENTFD_NB, "an empty eventfd, nb", make_eventfd, 0, ALL)	\
	K(EVENTFD_MAX, "a full eventfd, nb", make_eventfd_full,	\
	    EFD_NONBLOCK, ALL)						\
	K(TIMERFD_NB, "a timerfd, nb", make_timerfd, TFD_NONBLOCK, ALL)	\
	K(INOTIFY_NB, "an inotify, nb", make_inotify, IN_NONBLOCK, ALL)	\
	K(SIGNALFD_NB, "a signalfd, nb", make_signalfd, SFD_NONBLOCK,	\
	    ALL)							\
	K(PIPE_DATA, "a pipe with data", make_data, PIPE, ALL)		\
	K(PIPE_DATA_NB, "a pipe with data, nb", make_data, PIPE_NB, ALL) \
	K(PIPE_EOF, "a pipe without writers", make_ended, PIPE, ALL)	\
	K(PIPE_EMPTY_NB, "an empty pipe, nb", make_pair, PIPE_NB, ALL)	\
	K(PIPE_W, "a pipe to write to", make_writer, PIPE, ALL)		\
	K(PIPE_W_NB, "a pipe to write to, nb", make_writer, PIPE_NB,	\
	    ALL)							\
	K(PIPE_FULL_NB, "a full pipe, nb", make_stuffed, PIPE_NB, ALL)	\
	K(PIPE_BROKEN, "a pipe without readers", make_writer_broken,	\
	    PIPE, ALL)							\
	K(PTY_DATA, "a terminal with data", make_data, PTY, ALL)	\
	K(PTY_NB, "a terminal, nb", make_pty_nonblocking, 0, ALL)	\
	K(PTY_HUP, "a terminal hung up", make_pty_hung_up, 0, ALL)	\
	K(STREAM_DATA, "a stream with data", make_data, STREAM, ALL)	\
	K(STREAM_DATA_EOF, "a stream with data and an end",		\
	    make_data_ended, STREAM, ALL)				\
	K(STREAM_EOF, "a stream at its end", make_ended, STREAM, ALL)	\
	K(STREAM_HALF, "a stream half closed", make_half, STREAM, ALL)	\
	K(STREAM_RESET, "a stream with an unread byte closed",		\
	    make_reset, STREAM, ALL)					\
	K(STREAM_EMPTY_NB, "an empty stream, nb", make_pair, STREAM_NB,	\
	    ALL)							\
	K(STREAM_FULL_NB, "a full stream, nb", make_stuffed, STREAM_NB,	\
	    ALL)							\
	K(STREAM_SHUT_RD, "a stream shut for reading", make_shut,	\
	    SHUT_RD, ALL)						\
	K(STREAM_SHUT_WR, "a stream shut for writing", make_shut,	\
	    SHUT_WR, WR | ACC)						\
	K(STREAM_SHUT, "a stream shut", make_shut, SHUT_RDWR, ALL)	\
	K(STREAM_LIMIT, "a stream with a limit", make_limited, STREAM,	\
	    ALL)							\
	K(STREAM_FULL_LIMIT, "a full stream with a limit",		\
	    make_limited_full, STREAM, ALL)				\
	K(TCP_DATA, "a connection with data", make_data, TCP4, ALL)	\
	K(TCP_DATA_EOF, "a connection with data and an end",		\
	    make_data_ended, TCP4, ALL)					\
	K(TCP_EOF, "a connection at its end", make_ended, TCP4, RD | ACC) \
	K(TCP_HALF, "a connection half closed", make_half, TCP4, ALL)	\
	K(TCP_RESET, "a connection reset", make_reset, TCP4, ALL)	\
	K(TCP_URGENT, "a connection with urgent data", make_urgent, 0,	\
	    ALL)							\
	K(TCP_EMPTY_NB, "an empty connection, nb", make_pair, TCP4_NB,	\
	    ALL)							\
	K(TCP_SHUT_RD, "a connection shut for reading", make_tcp_shut,	\
	    SHUT_RD, ALL)						\
	K(TCP_SHUT_WR, "a connection shut for writing", make_tcp_shut,	\
	    SHUT_WR, WR | ACC)						\
	K(TCP_LIMIT, "a connection with a limit", make_limited, TCP4,	\
	    ALL)							\
	K(TCP_NEW, "an unconnected TCP socket", make_tcp, 0, ALL)	\
	K(UNIX_NEW, "an unconnected stream", make_unix, SOCK_STREAM,	\
	    ALL)							\
	K(UDP_NEW, "an unconnected UDP socket", make_udp, 0, WR | ACC)	\
	K(UDP_NEW_NB, "an unconnected UDP socket, nb", make_udp, NB,	\
	    ALL)							\
	K(UDP_DATA, "a UDP socket with data", make_data, UDP4, ALL)	\
	K(UDP_ZERO, "a UDP socket with an empty datagram",		\
	    make_zero_message, UDP4, ALL)				\
	K(UDP_EMPTY_NB, "an empty UDP socket, nb", make_pair, UDP4_NB,	\
	    ALL)							\
	K(UDP_LIMIT, "a UDP socket with a limit", make_limited, UDP4,	\
	    ALL)							\
	K(UDP_REFUSED, "a UDP socket with an error", make_udp_refused,	\
	    0, ALL)							\
	K(DGRAM_DATA, "a datagram socket with data", make_data, DGRAM,	\
	    ALL)							\
	K(DGRAM_ZERO, "a datagram socket with an empty datagram",	\
	    make_zero_message, DGRAM, ALL)				\
	K(DGRAM_EMPTY_NB, "an empty datagram socket, nb", make_pair,	\
	    DGRAM_NB, ALL)						\
	K(DGRAM_BROKEN, "a datagram socket without a peer",		\
	    make_writer_broken, DGRAM_NB, ALL)				\
	K(SEQ_DATA, "packets", make_data, SEQPACKET, ALL)		\
	K(SEQ_ZERO, "an empty packet", make_zero_message, SEQPACKET,	\
	    ALL)							\
	K(SEQ_EOF, "packets at their end", make_ended, SEQPACKET, ALL)	\
	K(LISTENER, "a listener", make_listener, 0, RD | WR)		\
	K(LISTENER_NB, "a listener, nb", make_listener, NB, ALL)	\
	K(LISTENER_LIMIT, "a listener with a limit",			\
	    make_listener_limited, 0, ALL)				\
	K(LISTENER_READY, "a listener with a connection",		\
	    make_listener_ready, AF_INET, ALL)				\
	K(LISTENER_READY_UNIX, "a unix listener with a connection",	\
	    make_listener_ready, AF_UNIX, ALL)				\
	K(LISTENER_SHUT, "a listener shut down", make_listener_shut, 0,	\
	    ALL)

#define KIND_NAME(id, name, make, arg, ends) id,
#define KIND_ROW(id, name, make, arg, ends) { name, make, arg, ends },

enum { KIND_LIST(KIND_NAME) KINDS };
static const struct kind kinds[] = { KIND_LIST(KIND_ROW) };

static inline struct made
kind_make(int k)
{
	struct made m = { -1, -1 };

	kinds[k].make(&m, kinds[k].arg);
	return m;
}

#endif

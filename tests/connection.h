/* SPDX-License-Identifier: MIT */
/*
 * Connections for tests. All is made with plain calls, so that weft knows only
 * the descriptors that a test gives to it, and is closed accordingly: with
 * close() what weft has never seen.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "open_fds.h"
#include "samples.h"
#include "stats_now.h"
#include "t.h"

/* What a test cannot go on without. */
static inline int
need_(int r, const char *what, int line)
{
	if (r < 0) {
		fprintf(stderr, "# line %d: %s: %d\n", line, what,
		    r == -1 ? -errno : r);
		abort();
	}
	return r;
}
#define NEED(x) need_(x, #x, __LINE__)

/* 127.0.0.host, all of which are this machine. */
static inline struct sockaddr_in
loopback(int host, int port)
{
	struct sockaddr_in a;

	memset(&a, 0, sizeof a);
	a.sin_family = AF_INET;
	a.sin_port = htons((uint16_t)port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)host);
	return a;
}

static inline int
port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof a;

	NEED(getsockname(fd, (struct sockaddr *)&a, &len));
	return ntohs(a.sin_port);
}

/*
 * A socket that is not connected yet. Its congestion control is the one that
 * all kernels have: others measure how fast the other side reads, and wait.
 */
static inline int
plain_socket(void)
{
	int fd = NEED(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	NEED(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
	return fd;
}

static inline int
plain_listen(int host, int backlog)
{
	struct sockaddr_in a = loopback(host, 0);
	int fd = plain_socket();

	NEED(bind(fd, (struct sockaddr *)&a, sizeof a));
	NEED(listen(fd, backlog));
	return fd;
}

static inline void
set_tcp(int fd, int option, int value)
{
	NEED(setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value));
}

static inline int
plain_connect(int host, int port)
{
	struct sockaddr_in a = loopback(host, port);
	int fd = plain_socket();

	set_tcp(fd, TCP_NODELAY, 1);
	NEED(connect(fd, (struct sockaddr *)&a, sizeof a));
	return fd;
}

/*
 * Both ends of a TCP connection, blocking. Its segments are small: with those
 * of the loopback, of 64 KiB, a narrow one would wait for TCP's timers.
 */
static inline void
tcp_pair(int fd[2])
{
	int l = plain_listen(1, 1);
	struct sockaddr_in a = loopback(1, port_of(l));

	fd[1] = plain_socket();
	set_tcp(l, TCP_MAXSEG, 1000);
	set_tcp(fd[1], TCP_MAXSEG, 1000);
	NEED(connect(fd[1], (struct sockaddr *)&a, sizeof a));
	fd[0] = NEED(accept4(l, NULL, NULL, SOCK_CLOEXEC));
	set_tcp(fd[0], TCP_NODELAY, 1);
	set_tcp(fd[1], TCP_NODELAY, 1);
	NEED(close(l));
}

static inline void
unix_pair(int fd[2])
{
	NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
}

/*
 * Little room to send into. (To receive into it cannot become less any more:
 * TCP would lose what it has promised to take, and wait for its timers.)
 */
static inline void
make_narrow(int fd)
{
	int bytes = 8192;

	NEED(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes));
}

/* From now on closing it resets the connection. */
static inline void
make_rude(int fd)
{
	struct linger l = { 1, 0 };

	NEED(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l));
}

static inline void
reset(int fd)
{
	make_rude(fd);
	NEED(close(fd));
}

/* Waits, as a goroutine, until so many wait for a descriptor. */
static inline void
await_waiting(int64_t n)
{
	while (io_now().waiting < n)
		weft_sleep(100 * WEFT_US);
}

static inline void
limit_fds(rlim_t n)
{
	struct rlimit r;

	NEED(getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
	NEED(setrlimit(RLIMIT_NOFILE, &r));
}

/* A number from the environment. */
static inline long
from_env(const char *name, long otherwise)
{
	const char *s = getenv(name);

	return s && *s ? atol(s) : otherwise;
}

/* The i-th byte of what is sent: a stream in which no shift fits. */
static inline unsigned char
wave(uint64_t i)
{
	i *= UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned char)(i >> 56);
}

static inline void
fill_wave(unsigned char *buf, size_t n, uint64_t from)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = wave(from + i);
}

/* How many bytes are as they must be. */
static inline size_t
check_wave(const unsigned char *buf, size_t n, uint64_t from)
{
	for (size_t i = 0; i < n; i++)
		if (buf[i] != wave(from + i))
			return i;
	return n;
}

/* ---- times, to be printed ---- */

static inline void
print_times(const char *what, int64_t *ns, size_t n)
{
	if (n == 0)
		return;
	qsort(ns, n, sizeof ns[0], ascending);
	printf("# %s: %zu, p50 %.1f us, p99 %.1f us, most %.1f us\n", what, n,
	    (double)ns[n / 2] / 1e3, (double)ns[n * 99 / 100] / 1e3,
	    (double)ns[n - 1] / 1e3);
	fflush(stdout);
}

#endif

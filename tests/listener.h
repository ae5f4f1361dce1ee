/* SPDX-License-Identifier: MIT */
/* For tests of connections: listeners, and what is left of all that. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "open_fds.h"
#include "t.h"

/*
 * The library's own descriptors are made with the first call, so that what is
 * open before a test and after it can be compared.
 */
static inline int
open_fds_before(void)
{
	int fd[2];
	char c = 0;

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	EQ(weft_write(fd[0], &c, 1), 1);
	EQ(weft_read(fd[1], &c, 1), 1);
	weft_set_read_deadline(fd[1], weft_deadline(WEFT_US));
	EQ(weft_read(fd[1], &c, 1), -ETIMEDOUT);
	weft_close(fd[0]);
	weft_close(fd[1]);
	return count_fds();
}

/* All goroutines but the caller have ended: those that were on the way out. */
static inline void
wait_alone(void)
{
	while (weft_goroutines() > 1)
		weft_sleep(WEFT_MS);
}

/* "127.0.0.1:port" of a listener. */
static inline const char *
at(int listener)
{
	static char text[WEFT_ADDRESS_TEXT];

	return weft_local_address(listener, text, sizeof text);
}

/* Whether there is version 6 here. */
static inline bool
has_v6(void)
{
	int fd = weft_listen("tcp6", "[::1]:0");

	if (fd >= 0)
		weft_close(fd);
	return fd >= 0;
}

/*
 * Has a listener with a backlog of 1 take no more: whoever connects to it
 * waits. Fills `fd` with those that keep it full, and returns how many these
 * are. The kernel takes one more than the backlog; if the last of them was
 * slow to get into the queue, another.
 */
enum { FILLING = 16 };
static inline int
fill(int listener, int *fd)
{
	int n = 0;

	do {
		fd[n] = weft_dial_with("tcp", at(listener),
		    .until = n < 2 ? 0 : weft_deadline(50 * WEFT_MS));
	} while (fd[n] >= 0 && ++n < FILLING);
	EQ(n < FILLING ? fd[n] : 0, -ETIMEDOUT);
	OK(n >= 2);
	return n;
}

static inline void
close_all(int *fd, int n)
{
	for (int i = 0; i < n; i++)
		EQ(weft_close(fd[i]), 0);
}

/*
 * A port of 127.0.0.1 that refuses: a socket has it, and does not listen. One
 * that was closed may be given to the next that asks for any port, of this
 * program or of another. Closed with close().
 */
static inline int
refusing(int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	EQ(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static inline bool
is_free_of_version_6(int port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, err;

	EQ(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on), 0);
	err = bind(fd, (struct sockaddr *)&a, sizeof a);
	EQ(close(fd), 0);
	return err == 0;
}

/* The same with a port that nobody has of version 6, to listen there. */
static inline int
refusing_4_only(int *port)
{
	int fd;

	while (fd = refusing(port), !is_free_of_version_6(*port))
		EQ(close(fd), 0);
	return fd;
}

/* "host:port", in one of four buffers. */
static inline const char *
with_port(const char *host, int port)
{
	static char text[4][300];
	static int turn;
	char *t = text[turn = (turn + 1) % 4];

	snprintf(t, sizeof text[0], "%s:%d", host, port);
	return t;
}

/* The same text; shows both if not. */
static inline bool
is(const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return true;
	fprintf(stderr, "# \"%s\" and \"%s\"\n", a, b);
	return false;
}

static inline int
option(int fd, int level, int name)
{
	int v = -1;
	socklen_t len = sizeof v;

	EQ(getsockopt(fd, level, name, &v, &len), 0);
	return v;
}

/* As a goroutine: after fn no more descriptors are open than before. */
static inline void
leaves_no_fds(void (*fn)(void))
{
	int before = open_fds_before();

	fn();
	wait_alone();
	EQ(count_fds(), before);
}

/* One byte goes from one end to the other. */
static inline bool
joined(int a, int b)
{
	char c = 'a';

	return weft_write(a, &c, 1) == 1 && weft_read(b, &c, 1) == 1 &&
	    c == 'a';
}

#endif

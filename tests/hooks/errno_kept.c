/* SPDX-License-Identifier: MIT */
/*
 * A call that succeeds leaves errno as it was, also if it had to wait, as the
 * system's do. OpenSSL sets errno to 0, reads, and takes an EAGAIN that it then
 * finds beside the end of the stream for an invitation to read again.
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "connection.h"
#include "run_env.h"
#include "t.h"

enum { MARK = 12345 };		/* no error has this number */

/* With that errno before it. */
#define KEEPS(call, result) do {					\
	errno = MARK;							\
	EQ(call, result);						\
	EQ(errno, MARK);						\
} while (0)

static void
write_then_close(int fd)
{
	await_waiting(1);
	KEEPS(write(fd, "x", 1), 1);
	await_waiting(1);
	KEEPS(close(fd), 0);
}

static void
read_both(int end[2])
{
	char byte;

	weft_go(write_then_close, end[1]);
	KEEPS(read(end[0], &byte, 1), 1);
	KEEPS(read(end[0], &byte, 1), 0);
	KEEPS(read(end[0], &byte, 1), 0);
	KEEPS(close(end[0]), 0);
}

static void
reads(void)
{
	int end[2];

	unix_pair(end);
	read_both(end);
	tcp_pair(end);
	read_both(end);
	KEEPS(pipe(end), 0);
	read_both(end);
}
GTEST(reading, 2) { reads(); }
ETEST(reading_moving, 2, "WEFT_MIGRATE=1") { reads(); }

static void
recv_both(int end[2])
{
	char byte;

	weft_go(write_then_close, end[1]);
	KEEPS(recv(end[0], &byte, 1, 0), 1);
	KEEPS(recv(end[0], &byte, 1, 0), 0);
	KEEPS(close(end[0]), 0);
}

static void
wait_for(int end[2])
{
	struct pollfd p = { end[0], POLLIN, 0 };
	fd_set set;

	weft_go(write_then_close, end[1]);
	KEEPS(poll(&p, 1, -1), 1);
	KEEPS(read(end[0], &(char){0}, 1), 1);
	FD_ZERO(&set);
	FD_SET(end[0], &set);
	KEEPS(select(end[0] + 1, &set, NULL, NULL, NULL), 1);
	KEEPS(close(end[0]), 0);
}

static void
receives(void)
{
	int end[2];

	unix_pair(end);
	recv_both(end);
	unix_pair(end);
	wait_for(end);
}
GTEST(receiving, 2) { receives(); }
ETEST(receiving_moving, 2, "WEFT_MIGRATE=1") { receives(); }

static void
connects(void)
{
	int listener = plain_listen(1, 1), fd = plain_socket(), other;
	struct sockaddr_in a = loopback(1, port_of(listener));

	KEEPS(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	errno = MARK;
	other = accept(listener, NULL, NULL);
	EQ(errno, MARK);
	OK(other >= 0);
	close(fd);
	close(other);
	close(listener);
}
GTEST(connecting, 2) { connects(); }

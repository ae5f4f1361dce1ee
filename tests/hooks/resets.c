/* SPDX-License-Identifier: MIT */
/*
 * Errors of connections are reported as often as the system's calls report
 * them: that which ends a transfer after a part of it by the next call, that of
 * a connect by each connect.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft.h>

#include "connection.h"
#include "fd_pairs.h"
#include "run_env.h"
#include "t.h"

/* More than buffers hold. */
enum { BIG = 32 << 20 };

/* ---- a reset after a part ---- */

static void
reset_when_awaited(int fd)
{
	await_waiting(1);
	reset(fd);
}

/* The same, and takes a part of what is sent. */
static void
take_and_reset(int fd)
{
	char buf[1000];

	await_waiting(1);
	OK(read(fd, buf, sizeof buf) > 0);
	reset(fd);
}

static void
reset_write(void)
{
	char *big = calloc(1, BIG), c;
	int end[2];
	ssize_t n;

	signal(SIGPIPE, SIG_IGN);
	tcp_pair(end);
	weft_go(take_and_reset, end[1]);
	n = write(end[0], big, BIG);
	OK(n > 0 && n < BIG);
	EQ(read(end[0], &c, 1), -1);
	EQ(errno, ECONNRESET);
	EQ(close(end[0]), 0);
	free(big);
}

GTEST(after_a_part_of_a_write, 1) { reset_write(); }
ETEST(after_a_part_of_a_write_that_moves, 2, "WEFT_MIGRATE=1")
{
	reset_write();
}

static void
reset_recv(void)
{
	char buf[100];
	int end[2];

	tcp_pair(end);
	EQ(write(end[1], "12345", 5), 5);
	while (recv(end[0], buf, 5, MSG_PEEK | MSG_DONTWAIT) != 5)
		weft_yield();
	weft_go(reset_when_awaited, end[1]);
	EQ(recv(end[0], buf, sizeof buf, MSG_WAITALL), 5);
	EQ(recv(end[0], buf, sizeof buf, 0), -1);
	EQ(errno, ECONNRESET);
	EQ(recv(end[0], buf, sizeof buf, 0), 0);
	EQ(close(end[0]), 0);
}

GTEST(after_a_part_of_all, 1) { reset_recv(); }
ETEST(after_a_part_of_all_that_moves, 2, "WEFT_MIGRATE=1") { reset_recv(); }

/* ---- connect once more ---- */

GTEST(refused_each_time, 1)
{
	wire_addr a = wire_loopback(AF_INET);
	int bound = wire_bound(SOCK_STREAM, &a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (int i = 0; i < 4; i++) {
		EQ(connect(fd, &a.a.any, a.len), -1);
		EQ(errno, ECONNREFUSED);
	}
	EQ(close(fd), 0);
	EQ(close(bound), 0);
}

/* With a limit, too, after which a connect is to be repeated. */
static void
connect_again(bool limited)
{
	struct timeval limit = { 20, 0 };
	wire_addr a = wire_loopback(AF_INET);
	int listener = wire_listen(SOCK_STREAM, &a, 4);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (limited)
		EQ(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
		    sizeof limit), 0);
	EQ(connect(fd, &a.a.any, a.len), 0);
	for (int i = 0; i < 2; i++) {
		EQ(connect(fd, &a.a.any, a.len), -1);
		EQ(errno, EISCONN);
	}
	EQ(close(fd), 0);
	EQ(close(listener), 0);
}

GTEST(connected_before, 1) { connect_again(false); }
GTEST(connected_before_with_a_limit, 1) { connect_again(true); }

/* ---- connect by sending ---- */

static int
send_first(const wire_addr *a, bool hooked)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int n;

	n = hooked ?
	    (int)sendto(fd, "hi", 2, MSG_FASTOPEN, &a->a.any, a->len) :
	    (int)syscall(SYS_sendto, fd, "hi", 2, MSG_FASTOPEN, &a->a.any,
	    a->len);
	n = n < 0 ? -errno : n;
	EQ(close(fd), 0);
	return n;
}

/* Machines differ in what they allow. */
GTEST(fast_open, 1)
{
	wire_addr a = wire_loopback(AF_INET);
	int listener = wire_listen(SOCK_STREAM, &a, 8);
	int n = send_first(&a, false);

	for (int i = 0; i < 3; i++)
		EQ(send_first(&a, true), n);
	OK(n != -EINPROGRESS);
	EQ(close(listener), 0);
}

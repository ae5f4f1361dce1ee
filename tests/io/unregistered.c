/* SPDX-License-Identifier: MIT */
/*
 * A connection that never has to wait is never registered with the poller; and
 * a try (MSG_DONTWAIT) that finds nothing is remembered by the wait that
 * follows, not by the next try.
 */
#include "listener.h"

#include <errno.h>
#include <poll.h>

/* Connections that are registered now, or were. */
static uint64_t
registered(void)
{
	weft_io_stats s;

	weft_io_stats_read(&s, sizeof s);
	return s.registered;
}

/* The bytes are there: the kernel has delivered them. */
static void
await_bytes(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	EQ(poll(&p, 1, -1), 1);
}

/* A connection by libc, with a request in it: its descriptor here, and the
 * peer's is accepted. */
static int
connect_with(int listener, const char *request, int *accepted)
{
	int fd = weft_dial("tcp", at(listener));

	OK(fd >= 0);
	EQ(weft_write(fd, request, strlen(request)), strlen(request));
	*accepted = weft_accept(listener, NULL, NULL);
	OK(*accepted >= 0);
	return fd;
}

GTEST(one_request, 2)
{
	int listener = weft_listen("tcp", "127.0.0.1:0"), fd, peer;
	char buf[16];

	OK(listener >= 0);
	for (int i = 0; i < 100; i++) {
		fd = connect_with(listener, "hello", &peer);
		uint64_t before = registered();

		await_bytes(peer);
		EQ(weft_sock_recv(peer, buf, sizeof buf, 0), 5);
		EQ(weft_sock_send(peer, "world", 5, 0), 5);
		EQ(registered(), before);
		EQ(weft_close(peer), 0);
		EQ(weft_read_full(fd, buf, 5, NULL), 5);
		OK(memcmp(buf, "world", 5) == 0);
		EQ(weft_read(fd, buf, 1), 0);
		weft_close(fd);
	}
	weft_close(listener);
}

/* ---- a try, and a wait ------------------------------------------------- */

static void
send_later(int fd)
{
	weft_sleep(WEFT_MS);
	EQ(weft_write(fd, "x", 1), 1);
}

static void
try_and_wait(int fd, int peer)
{
	char buf[16];

	for (int i = 0; i < 20; i++) {
		EQ(weft_sock_recv(fd, buf, sizeof buf, MSG_DONTWAIT),
		    -EAGAIN);
		weft_go(send_later, peer);
		EQ(weft_sock_recv(fd, buf, sizeof buf, 0), 1);
		/* What is there is found, whether or not a thread has been
		 * told of it. */
		EQ(weft_sock_recv(fd, buf, sizeof buf, MSG_DONTWAIT),
		    -EAGAIN);
		EQ(write(peer, "yz", 2), 2);
		await_bytes(fd);
		EQ(weft_sock_recv(fd, buf, 1, MSG_DONTWAIT), 1);
		EQ(weft_sock_recv(fd, buf, sizeof buf, 0), 1);
	}
}

GTEST(try_and_wait_tcp, 2)
{
	int listener = weft_listen("tcp", "127.0.0.1:0"), fd, peer;
	char c;

	OK(listener >= 0);
	fd = connect_with(listener, "a", &peer);
	EQ(weft_read(peer, &c, 1), 1);
	try_and_wait(peer, fd);
	try_and_wait(fd, peer);
	weft_close(fd);
	weft_close(peer);
	weft_close(listener);
}

GTEST(try_and_wait_unix, 2)
{
	int fd[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	try_and_wait(fd[0], fd[1]);
	weft_close(fd[0]);
	weft_close(fd[1]);
}

/* ---- a try, and a goroutine that begins -------------------------------- */

static void
answer(int fd)
{
	char buf[16];
	ssize_t n = weft_sock_recv(fd, buf, sizeof buf, 0);

	EQ(n, 4);
	EQ(weft_write(fd, buf, (size_t)n), n);
}

GTEST(try_and_go_readable, 2)
{
	int listener = weft_listen("tcp", "127.0.0.1:0"), fd, peer;
	char buf[16];

	OK(listener >= 0);
	for (int i = 0; i < 50; i++) {
		fd = connect_with(listener, "a", &peer);
		EQ(weft_read(peer, buf, 1), 1);
		EQ(weft_sock_recv(peer, buf, sizeof buf, MSG_DONTWAIT),
		    -EAGAIN);
		/* Before it is registered, or after that. */
		if (i % 2)
			EQ(write(fd, "ping", 4), 4);
		OK(weft_go_readable(peer, answer, peer) > 0);
		if (i % 2 == 0)
			EQ(write(fd, "ping", 4), 4);
		EQ(weft_read_full(fd, buf, 4, NULL), 4);
		weft_close(fd);
		weft_close(peer);
	}
	weft_close(listener);
}

/* ---- a send that is only tried ----------------------------------------- */

static void
read_all(int fd, size_t *total)
{
	char buf[4096];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		*total += (size_t)n;
	EQ(n, 0);
	weft_close(fd);
}

GTEST(try_and_send, 2)
{
	int listener = weft_listen("tcp", "127.0.0.1:0"), fd, peer;
	static char buf[65536];
	size_t sent = 0, total = 0;
	ssize_t n;

	OK(listener >= 0);
	fd = connect_with(listener, "a", &peer);
	EQ(weft_read(peer, buf, 1), 1);
	while ((n = weft_sock_send(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
		sent += (size_t)n;
	EQ(n, -EAGAIN);
	weft_go(read_all, peer, &total);
	EQ(weft_write_full(fd, buf, sizeof buf, NULL), sizeof buf);
	weft_close(fd);
	wait_alone();
	EQ(total, sent + sizeof buf);
	weft_close(listener);
}

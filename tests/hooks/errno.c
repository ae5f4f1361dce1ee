/* SPDX-License-Identifier: MIT */
/*
 * errno in code that knows nothing of weft: this file does not include weft.h,
 * so the compiler may keep errno's address over a call, and with it the thread
 * on which it was asked for. A hooked call that fails at once returns there,
 * although every call of the runtime moves the goroutine. After one that has
 * parked errno is right in a function that did not use it before (docs/hooks.md
 * says so).
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "t.h"

/* What is needed of weft, by hand. */
int64_t weft_spawn(const void *opt, size_t opt_bytes, void (*fn)(void *),
    const void *arg, size_t size);
int64_t weft_goroutines(void);
void weft_yield(void);

enum { GOROUTINES = 50, ROUNDS = 20 };

__attribute__((constructor)) static void
move_always(void)
{
	setenv("WEFT_MIGRATE", "1", 1);
}

static int wrong;

/*
 * As libraries do it: call, look, and before that maybe errno = 0. In a
 * function of its own, since errno's address may not be kept longer than over
 * one call that fails.
 */
#define TRY(id, ...) TRY_(id, (void)0, __VA_ARGS__)
#define TRY_AT_ONCE(id, ...) TRY_(id, errno = 0, __VA_ARGS__)
#define TRY_(id, before, ...)						\
	__attribute__((noinline)) static int			\
	try_##id(int fd)						\
	{								\
		char c = 0;						\
		struct iovec v = { &c, 1 };				\
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };	\
		struct timespec bad = { 0, 1000000000 };		\
		struct timeval past = { -1, 0 };			\
		struct epoll_event e;					\
									\
		(void)fd, (void)m, (void)bad, (void)past, (void)e;	\
		before;							\
		if ((__VA_ARGS__) != -1)				\
			return 0;					\
		return errno;						\
	}

TRY(read, read(fd, &c, 1))
TRY(readv, readv(fd, &v, 1))
TRY(recv, recv(fd, &c, 1, 0))
TRY(recvfrom, recvfrom(fd, &c, 1, 0, NULL, NULL))
TRY(recvmsg, recvmsg(fd, &m, 0))
TRY(write, write(fd, &c, 1))
TRY(writev, writev(fd, &v, 1))
TRY(send, send(fd, &c, 1, MSG_NOSIGNAL))
TRY(sendto, sendto(fd, &c, 1, 0, NULL, 0))
TRY(sendmsg, sendmsg(fd, &m, 0))
TRY(accept, accept(fd, NULL, NULL))
TRY(accept4, accept4(fd, NULL, NULL, 0))
TRY_AT_ONCE(read_now, read(fd, &c, 1))
TRY_AT_ONCE(recv_now, recv(fd, &c, 1, 0))
TRY_AT_ONCE(write_now, write(fd, &c, 1))
TRY_AT_ONCE(connect_null, connect(fd, NULL, 0))
TRY_AT_ONCE(ppoll, ppoll(NULL, 0, &bad, NULL))
TRY_AT_ONCE(select, select(0, NULL, NULL, NULL, &past))
TRY_AT_ONCE(pselect, pselect(fd, NULL, NULL, NULL, NULL, NULL))
TRY_AT_ONCE(nanosleep, nanosleep(&bad, NULL))
TRY_AT_ONCE(epoll_wait, epoll_wait(fd, &e, 1, 1))
TRY_AT_ONCE(close, close(fd))
TRY_AT_ONCE(dup2, dup2(fd, 5))
TRY_AT_ONCE(socket, socket(fd, 0, 0))

static void
fails(const char *call, int got, int error)
{
	if (got == error)
		return;
	fprintf(stderr, "# %s: %s, not %s\n", call, strerrorname_np(got),
	    strerrorname_np(error));
	__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

#define FAILS(id, fd, error) fails(#id, try_##id(fd), error)

/* ---- pairs with a limit, so that calls park and then fail ---- */

static void
pair(int end[2])
{
	struct timeval tv = { 0, 2000 };

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	EQ(setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), 0);
	EQ(setsockopt(end[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv), 0);
}

static void
fill(int fd)
{
	char room[4096] = {0};

	while (send(fd, room, sizeof room, MSG_DONTWAIT) > 0)
		;
	while (send(fd, room, 1, MSG_DONTWAIT) > 0)
		;
}

static void
drop(int end[2])
{
	EQ(close(end[0]), 0);
	EQ(close(end[1]), 0);
}

static void
too_late(void)
{
	int end[2];

	pair(end);
	FAILS(read, end[0], EAGAIN);
	FAILS(readv, end[0], EAGAIN);
	FAILS(recv, end[0], EAGAIN);
	FAILS(recvfrom, end[0], EAGAIN);
	FAILS(recvmsg, end[0], EAGAIN);
	fill(end[0]);
	FAILS(write, end[0], EAGAIN);
	FAILS(writev, end[0], EAGAIN);
	FAILS(send, end[0], EAGAIN);
	FAILS(sendto, end[0], EAGAIN);
	FAILS(sendmsg, end[0], EAGAIN);
	drop(end);
}

static int
listener(struct sockaddr_in *a)
{
	struct timeval tv = { 0, 2000 };
	socklen_t len = sizeof *a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(a, 0, sizeof *a);
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EQ(bind(fd, (struct sockaddr *)a, sizeof *a), 0);
	EQ(getsockname(fd, (struct sockaddr *)a, &len), 0);
	EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), 0);
	return fd;
}

__attribute__((noinline)) static int
try_connect(int fd, const struct sockaddr_in *a)
{
	if (connect(fd, (const struct sockaddr *)a, sizeof *a) != -1)
		return 0;
	return errno;
}

/* Bound, not listening: refused. Listening: none comes. */
static void
no_connection(void)
{
	struct sockaddr_in a;
	int fd = listener(&a), c = socket(AF_INET, SOCK_STREAM, 0);

	fails("connect", try_connect(c, &a), ECONNREFUSED);
	EQ(listen(fd, 4), 0);
	FAILS(accept, fd, EAGAIN);
	FAILS(accept4, fd, EAGAIN);
	EQ(close(c), 0);
	EQ(close(fd), 0);
}

/* The other end goes while this one waits. */
static void
close_end(void *arg)
{
	for (int i = 0; i < 3; i++)
		weft_yield();
	EQ(close(*(int *)arg), 0);
}

static void
broken(void)
{
	int end[2], got;

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	fill(end[0]);
	weft_spawn(NULL, 0, close_end, &end[1], sizeof end[1]);
	got = try_send(end[0]);
	/* What it had not read resets the connection, too. */
	fails("send to none", got, got == ECONNRESET ? got : EPIPE);
	EQ(close(end[0]), 0);
}

/* Those that fail at once, between calls that park. */
static void
bad_arguments(void)
{
	struct pollfd p = { .fd = -1 };

	usleep(1);
	FAILS(read_now, -1, EBADF);
	FAILS(recv_now, -1, EBADF);
	FAILS(write_now, -1, EBADF);
	EQ(poll(&p, 1, 1), 0);
	FAILS(ppoll, -1, EINVAL);
	FAILS(select, -1, EINVAL);
	FAILS(pselect, -1, EINVAL);
	sched_yield();
	FAILS(nanosleep, -1, EINVAL);
	FAILS(epoll_wait, -1, EBADF);
	FAILS(close, -1, EBADF);
	FAILS(dup2, -1, EBADF);
	FAILS(socket, -1, EAFNOSUPPORT);
	FAILS(connect_null, -1, EBADF);
}

static void
fail_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < t_scale(ROUNDS); i++) {
		too_late();
		no_connection();
		broken();
		bad_arguments();
	}
}

static void
fail_on_many(void)
{
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_spawn(NULL, 0, fail_often, NULL, 0) > 0);
	while (weft_goroutines() > 1)
		usleep(1000);
	EQ(wrong, 0);
}

GTEST(errors_are_right, 1) { fail_on_many(); }
GTEST(errors_are_right_on_four, 4) { fail_on_many(); }

/* SPDX-License-Identifier: MIT */
/*
 * Each hooked call that waits parks its goroutine: a hundred of them wait at
 * the same time, on one P and on few threads, and get what they wait for. The
 * descriptors stay as the program made them.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include "calls.h"
#include "counter.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "run_env.h"

enum { MANY = 100, FEW = 8 };

/* ---- calls that wait for a byte ---- */

struct reads {
	const char *name;
	ssize_t (*read)(int fd, char *c);
	unsigned on;		/* kinds of descriptors */
};
enum { SOCKETS = 1, OTHERS = 2, NON_BLOCKING = 4, ANY = 7 };

#define READS(id, ...)							\
	static ssize_t							\
	by_##id(int fd, char *c)					\
	{								\
		return __VA_ARGS__;					\
	}

READS(read, read(fd, c, 1))
READS(readv, readv(fd, &(struct iovec){ c, 1 }, 1))
READS(recv, recv(fd, c, 1, 0))
READS(recv_waitall, recv(fd, c, 1, MSG_WAITALL))
READS(recvfrom, recvfrom(fd, c, 1, 0, NULL, NULL))
READS(read_chk, __read_chk(fd, c, 1, 1))
READS(recv_chk, __recv_chk(fd, c, 1, 1, 0))
READS(recvfrom_chk, __recvfrom_chk(fd, c, 1, 1, 0, NULL, NULL))

static ssize_t
by_recvmsg(int fd, char *c)
{
	struct iovec v = { c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return recvmsg(fd, &m, 0);
}

static ssize_t
by_peek(int fd, char *c)
{
	EQ(recv(fd, c, 1, MSG_PEEK), 1);
	return recv(fd, c, 1, 0);
}

/* Readiness first; the byte is there then. */
#define READY(id, ...)							\
	static ssize_t							\
	by_##id(int fd, char *c)					\
	{								\
		struct pollfd p = { .fd = fd, .events = POLLIN };	\
		struct timespec hour = { 3600, 0 };			\
		struct timeval tv = { 3600, 0 };			\
		fd_set set;						\
									\
		(void)p, (void)hour, (void)tv;				\
		FD_ZERO(&set);						\
		FD_SET(fd, &set);					\
		EQ(__VA_ARGS__, 1);					\
		return read(fd, c, 1);					\
	}

READY(poll, poll(&p, 1, -1))
READY(poll_hour, poll(&p, 1, 3600000))
READY(ppoll, ppoll(&p, 1, NULL, NULL))
READY(ppoll_hour, ppoll(&p, 1, &hour, NULL))
READY(poll_chk, __poll_chk(&p, 1, -1, sizeof p))
READY(ppoll_chk, __ppoll_chk(&p, 1, &hour, NULL, sizeof p))
READY(select, select(fd + 1, &set, NULL, NULL, NULL))
READY(select_hour, select(fd + 1, &set, NULL, NULL, &tv))
READY(pselect, pselect(fd + 1, &set, NULL, NULL, NULL, NULL))
READY(pselect_hour, pselect(fd + 1, &set, NULL, NULL, &hour, NULL))

static ssize_t
by_epoll(int fd, char *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd }, got;
	int ep = epoll_create1(0);
	ssize_t n;

	EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	EQ(epoll_wait(ep, &got, 1, -1), 1);
	EQ(got.data.fd, fd);
	n = read(fd, c, 1);
	close(ep);
	return n;
}

#define ROW(id, on) { #id, by_##id, on }
static const struct reads reads[] = {
	ROW(read, SOCKETS | OTHERS), ROW(readv, SOCKETS | OTHERS),
	ROW(recv, SOCKETS), ROW(recv_waitall, SOCKETS), ROW(peek, SOCKETS),
	ROW(recvfrom, SOCKETS), ROW(recvmsg, SOCKETS),
	ROW(read_chk, SOCKETS | OTHERS), ROW(recv_chk, SOCKETS),
	ROW(recvfrom_chk, SOCKETS), ROW(poll, ANY), ROW(poll_hour, ANY),
	ROW(ppoll, ANY), ROW(ppoll_hour, ANY), ROW(poll_chk, ANY),
	ROW(ppoll_chk, ANY), ROW(select, ANY), ROW(select_hour, ANY),
	ROW(pselect, ANY), ROW(pselect_hour, ANY), ROW(epoll, ANY),
};
enum { READS = sizeof reads / sizeof reads[0] };

static bool
is_non_blocking(int k)
{
	return strstr(wire_name(k), "non-blocking") != NULL;
}

static bool
goes_with(const struct reads *r, int k)
{
	if (is_non_blocking(k) && !(r->on & NON_BLOCKING))
		return false;
	return (r->on & (wire_is_socket(k) ? SOCKETS : OTHERS)) != 0;
}

static void
reader(const struct reads *r, int k, int fd, int want, weft_waitgroup *wg)
{
	int was = fcntl(fd, F_GETFL);
	char c = 0;

	if (r->read(fd, &c) != 1 || c != (char)want ||
	    fcntl(fd, F_GETFL) != was)
		t_fail(wire_name(k), want, r->name);
	weft_waitgroup_done(wg);
}

static void
drop(int end[2])
{
	EQ(close(end[0]), 0);
	EQ(close(end[1]), 0);
}

/* n goroutines wait in that call, all parked; then each gets its byte. */
static void
read_parked(const struct reads *r, int k, int n)
{
	uint64_t parks = hooks_now().parks;
	weft_waitgroup wg = {0};
	int end[MANY][2];

	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++) {
		wire(k, end[i]);
		weft_go(reader, r, k, end[i][0], i, &wg);
	}
	if (!GETS_TO(parks, parks + (uint64_t)n))
		t_fail(wire_name(k), 0, r->name);
	FEW_THREADS();
	for (int i = n; i-- > 0; )
		EQ(write(end[i][1], &(char){ (char)i }, 1), 1);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < n; i++)
		drop(end[i]);
}

/* All calls, on one kind, a hundred each. */
static void
read_all_calls(int k)
{
	for (int i = 0; i < READS; i++)
		if (goes_with(&reads[i], k))
			read_parked(&reads[i], k, (int)t_scale(MANY));
}

GTEST(many_readers_of_pipes, 1) { read_all_calls(PIPE); }
GTEST(many_readers_of_streams, 1) { read_all_calls(STREAM); }
GTEST(many_readers_of_connections, 1) { read_all_calls(TCP4); }
GTEST(many_readers_of_datagrams, 1) { read_all_calls(UDP4); }

/* All calls on all kinds, a few each. */
static void
read_all_kinds(void)
{
	int end[2];

	for (int k = 0; k < WIRES; k++) {
		if (!wire_make(k, end)) {
			fprintf(stderr, "# no %s here\n", wire_name(k));
			continue;
		}
		drop(end);
		for (int i = 0; i < READS; i++)
			if (goes_with(&reads[i], k))
				read_parked(&reads[i], k, FEW);
	}
}

GTEST(readers_of_all_kinds, 1) { read_all_kinds(); }
ETEST(readers_that_move, 2, "WEFT_MIGRATE=1") { read_all_kinds(); }

/* ---- calls that wait for room ---- */

#define WRITES(id, ...)							\
	static ssize_t							\
	to_##id(int fd, const char *p, size_t n)			\
	{								\
		return __VA_ARGS__;					\
	}

WRITES(write, write(fd, p, n))
WRITES(send, send(fd, p, n, 0))
WRITES(sendto, sendto(fd, p, n, 0, NULL, 0))
WRITES(writev, writev(fd, &(struct iovec){ (void *)(uintptr_t)p, n }, 1))

static ssize_t
to_sendmsg(int fd, const char *p, size_t n)
{
	struct iovec v[2] = { { (void *)(uintptr_t)p, n / 2 },
		{ (void *)(uintptr_t)(p + n / 2), n - n / 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	return sendmsg(fd, &m, 0);
}

static const struct writes {
	const char *name;
	ssize_t (*write)(int fd, const char *p, size_t n);
	bool sockets;
} writes[] = {
	{ "write", to_write, false }, { "writev", to_writev, false },
	{ "send", to_send, true }, { "sendto", to_sendto, true },
	{ "sendmsg", to_sendmsg, true },
};
enum { WRITES = sizeof writes / sizeof writes[0], BIG = 1 << 20 };

/* All of it at once, as a blocking write does it; with each byte right. */
static void
writer(const struct writes *w, int k, int fd, weft_waitgroup *wg)
{
	size_t n = wire_has_messages(k) ? 1000 : BIG;
	char *p = malloc(n);

	for (size_t at = 0; at < BIG; at += n) {
		ssize_t got;

		n = n < BIG - at ? n : BIG - at;
		wire_fill(p, n, at);
		got = w->write(fd, p, n);
		if (got != (ssize_t)n)
			t_fail(wire_name(k), (int)got, w->name);
	}
	free(p);
	weft_waitgroup_done(wg);
}

static void
take(int fd)
{
	char p[5000];
	ssize_t n;

	for (size_t at = 0; at < BIG; at += (size_t)n) {
		n = read(fd, p, sizeof p);
		if (n <= 0) {
			EQ(n, 1);
			return;
		}
		OK(wire_same(p, (size_t)n, at));
	}
}

/* What is sent to a datagram socket over IP may be lost. */
static bool
keeps_all(int k)
{
	return k != UDP4 && k != UDP6 && k != PTY && !is_non_blocking(k);
}

static void
write_parked(const struct writes *w, int k, int n)
{
	uint64_t parks = hooks_now().parks;
	weft_waitgroup wg = {0};
	int end[MANY][2], was[MANY];

	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++) {
		wire(k, end[i]);
		was[i] = fcntl(end[i][1], F_GETFL);
		weft_go(writer, w, k, end[i][1], &wg);
	}
	if (!GETS_TO(parks, parks + (uint64_t)n))
		t_fail(wire_name(k), 0, w->name);
	FEW_THREADS();
	for (int i = 0; i < n; i++)
		take(end[i][0]);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < n; i++) {
		EQ(fcntl(end[i][1], F_GETFL), was[i]);
		drop(end[i]);
	}
}

/* A FIFO blocks its thread: the kernel cannot be asked not to wait. */
static void
write_all_kinds(void)
{
	for (int k = 0; k < WIRES; k++)
		for (int i = 0; i < WRITES; i++)
			if (keeps_all(k) && k != FIFO &&
			    (wire_is_socket(k) || !writes[i].sockets))
				write_parked(&writes[i], k, 3);
}

GTEST(many_writers, 1)
{
	write_parked(&writes[0], PIPE, (int)t_scale(MANY));
	write_parked(&writes[0], STREAM, (int)t_scale(MANY));
}

GTEST(writers_of_all_kinds, 1) { write_all_kinds(); }
ETEST(writers_that_move, 2, "WEFT_MIGRATE=1") { write_all_kinds(); }

/* ---- an end while they wait ---- */

static void
read_end(int fd, weft_waitgroup *wg)
{
	char c;

	EQ(read(fd, &c, 1), 0);
	weft_waitgroup_done(wg);
}

static void
close_while_read(int k, int rd, int wr)
{
	uint64_t parks = hooks_now().parks;
	weft_waitgroup wg = {0};

	(void)k;
	weft_waitgroup_add(&wg, 1);
	weft_go(read_end, rd, &wg);
	OK(GETS_TO(parks, parks + 1));
	EQ(close(wr), 0);
	weft_waitgroup_wait(&wg);
}

GTEST(the_end_is_read, 1)
{
	for (int k = 0; k < WIRES; k++) {
		int end[2];

		if (is_non_blocking(k) || !wire_ends(k) || !wire_make(k, end))
			continue;
		close_while_read(k, end[0], end[1]);
		EQ(close(end[0]), 0);
	}
}

static void
shut_by_other(int fd, uint64_t parks)
{
	OK(GETS_TO(parks, parks + 1));
	EQ(shutdown(fd, SHUT_RDWR), 0);
}

GTEST(shutdown_ends_a_read, 1)
{
	int end[2];
	char c;

	wire(TCP4, end);
	weft_go(shut_by_other, end[0], hooks_now().parks);
	EQ(read(end[0], &c, 1), 0);
	drop(end);
}

static int sigpipes;

static void
on_sigpipe(int sig)
{
	(void)sig;
	counter_add(&sigpipes, 1);
}

static void
close_by_other(int fd, uint64_t parks)
{
	OK(GETS_TO(parks, parks + 1));
	EQ(close(fd), 0);
}

/* The reader goes while the writer waits for room. */
GTEST(no_reader_is_left, 1)
{
	struct sigaction sa = { .sa_handler = on_sigpipe };
	int end[2];

	EQ(sigaction(SIGPIPE, &sa, NULL), 0);
	wire(PIPE, end);
	wire_stuff(end[1]);
	weft_go(close_by_other, end[0], hooks_now().parks);
	EQ(write(end[1], "x", 1), -1);
	EQ(errno, EPIPE);
	EQ(sigpipes, 1);
	close(end[1]);
	wire(STREAM, end);
	wire_stuff(end[1]);
	weft_go(close_by_other, end[0], hooks_now().parks);
	EQ(send(end[1], "x", 1, MSG_NOSIGNAL), -1);
	EQ(errno, EPIPE);
	EQ(sigpipes, 1);
}

/* What was written before there was no reader is counted. */
GTEST(part_of_a_write, 1)
{
	struct sigaction sa = { .sa_handler = on_sigpipe };
	char *p = calloc(1, BIG);
	int end[2];

	EQ(sigaction(SIGPIPE, &sa, NULL), 0);
	wire(PIPE, end);
	EQ(fcntl(end[1], F_SETPIPE_SZ, 65536), 65536);
	weft_go(close_by_other, end[0], hooks_now().parks);
	EQ(write(end[1], p, BIG), 65536);
	free(p);
}

/* ---- MSG_WAITALL: in parts, from another goroutine ---- */

static void
write_parts(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		EQ(write(fd, &(char){ wire_byte((size_t)i) }, 1), 1);
		weft_yield();
	}
}

static void
wait_all(int k)
{
	char p[300];
	int end[2];

	wire(k, end);
	weft_go(write_parts, end[1], 300);
	EQ(recv(end[0], p, 300, MSG_WAITALL), 300);
	OK(wire_same(p, 300, 0));
	drop(end);
}

GTEST(waitall_of_a_stream, 1) { wait_all(STREAM); }
GTEST(waitall_of_a_connection, 1) { wait_all(TCP4); }

GTEST(waitall_and_peek, 1)
{
	char p[200];
	int end[2];

	wire(TCP4, end);
	weft_go(write_parts, end[1], 200);
	EQ(recv(end[0], p, 200, MSG_WAITALL | MSG_PEEK), 200);
	EQ(recv(end[0], p, 200, MSG_WAITALL), 200);
	OK(wire_same(p, 200, 0));
	drop(end);
}

/* ---- one descriptor, several waiters ---- */

static void
read_one(int fd, char *seen, weft_waitgroup *wg)
{
	unsigned char c;

	EQ(read(fd, &c, 1), 1);
	EQ(__atomic_fetch_add(&seen[c], 1, __ATOMIC_RELAXED), 0);
	weft_waitgroup_done(wg);
}

GTEST(many_readers_of_one_pipe, 2)
{
	uint64_t parks = hooks_now().parks;
	weft_waitgroup wg = {0};
	char seen[256] = {0};
	int end[2];

	wire(PIPE, end);
	weft_waitgroup_add(&wg, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(read_one, end[0], seen, &wg);
	OK(GETS_TO(parks, parks + MANY));
	FEW_THREADS();
	for (int i = 0; i < MANY; i++)
		EQ(write(end[1], &(char){ (char)i }, 1), 1);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < MANY; i++)
		EQ(seen[i], 1);
	drop(end);
}

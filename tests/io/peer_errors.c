/* SPDX-License-Identifier: MIT */
/*
 * Peers that reset, close half, stall, send crumbs, or are gone before they
 * were accepted. Calls that wait are told, and what was sent arrives.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>

#include "connection.h"

static weft_waitgroup all;

/* What a call in a goroutine of its own came to. */
struct outcome {
	int fd;
	ssize_t got;
	int64_t at;
	char buf[64];
};

static void
reads(struct outcome *o)
{
	o->got = weft_read(o->fd, o->buf, sizeof o->buf);
	o->at = weft_now();
	weft_waitgroup_done(&all);
}

/* Writes until it fails. */
static void
writes(struct outcome *o)
{
	static const char zeros[65536];

	do
		o->got = weft_write(o->fd, zeros, sizeof zeros);
	while (o->got > 0);
	weft_waitgroup_done(&all);
}

static void
go(void (*fn)(struct outcome *o), struct outcome *o, int fd)
{
	o->fd = fd;
	weft_waitgroup_add(&all, 1);
	weft_go(fn, o);
}

/* ---- resets ---- */

static void
reset_while_reading(void)
{
	struct outcome o[3];
	int fd[2];

	tcp_pair(fd);
	for (int i = 0; i < 3; i++)
		go(reads, &o[i], fd[0]);
	await_waiting(3);
	reset(fd[1]);
	weft_waitgroup_wait(&all);
	/* The kernel tells the first, for the others it is the end. */
	for (int i = 0, told = 0; i < 3; i++) {
		told += o[i].got == -ECONNRESET;
		OK(o[i].got == -ECONNRESET || o[i].got == 0);
		OK(i < 2 || told > 0);
	}
	EQ(weft_close(fd[0]), 0);
}
ON_ALL(reset_while_reading)

static void
reset_while_both_wait(void)
{
	struct outcome r, w;
	int fd[2];

	tcp_pair(fd);
	make_narrow(fd[0]);
	go(reads, &r, fd[0]);
	go(writes, &w, fd[0]);
	await_waiting(2);
	reset(fd[1]);
	weft_waitgroup_wait(&all);
	/* The kernel tells one of them; if that was after a part of a write,
	 * the next write has the second word. */
	OK(r.got == -ECONNRESET || r.got == 0);
	OK(w.got == -ECONNRESET || w.got == -EPIPE);
	EQ(weft_close(fd[0]), 0);
}
ON_ALL(reset_while_both_wait)

/* What came before it is there to be read. */
GTEST(reset_before_reading, 2)
{
	char buf[16];
	int fd[2];

	tcp_pair(fd);
	EQ(write(fd[1], "abc", 3), 3);
	reset(fd[1]);
	EQ(weft_read(fd[0], buf, sizeof buf), 3);
	EQ(weft_read(fd[0], buf, sizeof buf), -ECONNRESET);
	EQ(weft_read(fd[0], buf, sizeof buf), 0);
	EQ(weft_write(fd[0], "x", 1), -EPIPE);
	EQ(weft_close(fd[0]), 0);
}

/* A peer that closes with something unread resets, too. */
GTEST(peer_did_not_read, 2)
{
	struct outcome o;
	int fd[2];

	tcp_pair(fd);
	EQ(weft_write(fd[0], "unread", 6), 6);
	go(reads, &o, fd[0]);
	await_waiting(1);
	NEED(close(fd[1]));
	weft_waitgroup_wait(&all);
	EQ(o.got, -ECONNRESET);
	EQ(weft_close(fd[0]), 0);
}

/* Without a SIGPIPE, which would end the test. */
static void
no_signal_on(int fd)
{
	ssize_t n;

	signal(SIGPIPE, SIG_DFL);
	while ((n = weft_write(fd, "xyz", 3)) > 0)
		;
	OK(n == -EPIPE || n == -ECONNRESET);
	EQ(weft_write(fd, "xyz", 3), -EPIPE);
	EQ(weft_sock_send(fd, "xyz", 3, 0), -EPIPE);
	EQ(weft_close(fd), 0);
}

GTEST(write_after_peer_closed, 2)
{
	int fd[2];

	tcp_pair(fd);
	NEED(close(fd[1]));
	no_signal_on(fd[0]);
	unix_pair(fd);
	NEED(close(fd[1]));
	no_signal_on(fd[0]);
}

/* ---- half of it closed ---- */

static void
peer_closed_half(void)
{
	struct outcome o[3];
	char buf[16];
	int fd[2];

	tcp_pair(fd);
	for (int i = 0; i < 3; i++)
		go(reads, &o[i], fd[0]);
	await_waiting(3);
	NEED(shutdown(fd[1], SHUT_WR));
	weft_waitgroup_wait(&all);
	for (int i = 0; i < 3; i++)
		EQ(o[i].got, 0);
	/* The other half goes on. */
	EQ(weft_write_full(fd[0], "still here", 10, NULL), 10);
	EQ(read(fd[1], buf, sizeof buf), 10);
	EQ(weft_read(fd[0], buf, sizeof buf), 0);
	EQ(weft_close(fd[0]), 0);
	EQ(read(fd[1], buf, sizeof buf), 0);
	NEED(close(fd[1]));
}
ON_ALL(peer_closed_half)

static void
closed_half_here(void)
{
	struct outcome o;
	char buf[16];
	int fd[2];

	tcp_pair(fd);
	go(reads, &o, fd[0]);
	await_waiting(1);
	EQ(weft_shutdown(fd[0], SHUT_WR), 0);
	EQ(weft_write(fd[0], "x", 1), -EPIPE);
	EQ(read(fd[1], buf, sizeof buf), 0);
	EQ(io_now().waiting, 1);
	EQ(write(fd[1], "late", 4), 4);
	weft_waitgroup_wait(&all);
	EQ(o.got, 4);
	go(reads, &o, fd[0]);
	await_waiting(1);
	EQ(weft_shutdown(fd[0], SHUT_RD), 0);
	weft_waitgroup_wait(&all);
	EQ(o.got, 0);
	EQ(weft_close(fd[0]), 0);
	NEED(close(fd[1]));
}
ON_ALL(closed_half_here)

/* A writer that waits for room learns that there will be none. */
static void
closed_half_while_writing(void (*make)(int *))
{
	struct outcome o;
	int fd[2];

	make(fd);
	make_narrow(fd[0]);
	go(writes, &o, fd[0]);
	await_waiting(1);
	EQ(weft_shutdown(fd[0], SHUT_WR), 0);
	weft_waitgroup_wait(&all);
	EQ(o.got, -EPIPE);
	EQ(weft_close(fd[0]), 0);
	NEED(close(fd[1]));
}

GTEST(tcp_closed_half_while_writing, 2) { closed_half_while_writing(tcp_pair); }
/* (The kernel does not tell a poller of this one.) */
GTEST(unix_closed_half_while_writing, 2)
{
	closed_half_while_writing(unix_pair);
}

/* ---- stalls ---- */

/* Half of a message, */
static void
reads_eight(struct outcome *o)
{
	size_t done = 99;

	o->got = weft_read_full(o->fd, o->buf, 8, &done);
	o->at = weft_now();
	EQ(done, 4);
	weft_waitgroup_done(&all);
}

/* ... and then nothing for longer than we wait: from when that began. */
static void
peer_stalls(void)
{
	struct outcome o = {0};
	int64_t when;
	char c;
	int fd[2];

	tcp_pair(fd);
	o.fd = fd[0];
	EQ(write(fd[1], "half", 4), 4);
	EQ(weft_wait_readable(fd[0]), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(reads_eight, &o);
	await_waiting(1);
	when = weft_deadline(20 * WEFT_MS);
	EQ(weft_set_read_deadline(fd[0], when), 0);
	weft_waitgroup_wait(&all);
	EQ(o.got, -ETIMEDOUT);
	OK(o.at >= when);
	/* It stays until it is changed; the other direction has none. */
	EQ(weft_read(fd[0], &c, 1), -ETIMEDOUT);
	EQ(weft_write(fd[0], "x", 1), 1);
	EQ(weft_set_read_deadline(fd[0], WEFT_NEVER), 0);
	EQ(write(fd[1], "more", 4), 4);
	EQ(weft_read_full(fd[0], o.buf + 4, 4, NULL), 4);
	OK(!memcmp(o.buf, "halfmore", 8));
	EQ(weft_close(fd[0]), 0);
	NEED(close(fd[1]));
}
ON_ALL(peer_stalls)

/* ---- crumbs ---- */

enum { CRUMBS = 4000 };

static void *
sends_crumbs(void *arg)
{
	for (uint64_t i = 0; i < (uint64_t)t_scale(CRUMBS); i++) {
		unsigned char c = wave(i);

		EQ(write(*(int *)arg, &c, 1), 1);
	}
	NEED(close(*(int *)arg));
	return NULL;
}

/* A thread sends single bytes, each a segment. */
static void
byte_by_byte(void)
{
	static unsigned char buf[CRUMBS];
	size_t want = (size_t)t_scale(CRUMBS);
	pthread_t t;
	int fd[2];

	tcp_pair(fd);
	NEED(-pthread_create(&t, NULL, sends_crumbs, &fd[1]));
	EQ(weft_read_full(fd[0], buf, want, NULL), want);
	EQ(check_wave(buf, want, 0), want);
	EQ(weft_read(fd[0], buf, 1), 0);
	pthread_join(t, NULL);
	EQ(weft_close(fd[0]), 0);
}
ON_ALL(byte_by_byte)

static void
sends_lines(int fd, int n)
{
	char line[32];

	for (int i = 0; i < n; i++) {
		int len = snprintf(line, sizeof line, "line %d\n", i);

		for (int k = 0; k < len; k++)
			EQ(weft_write(fd, line + k, 1), 1);
	}
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
lines_in_crumbs(void)
{
	int fd[2], n = (int)t_scale(300);
	char want[32], *line;

	tcp_pair(fd);
	weft_reader r = WEFT_READER(fd[0]);
	weft_waitgroup_add(&all, 1);
	weft_go(sends_lines, fd[1], n);
	for (int i = 0; i < n; i++) {
		int len = snprintf(want, sizeof want, "line %d\n", i);

		EQ(weft_reader_line(&r, &line), len);
		OK(!memcmp(line, want, (size_t)len));
	}
	EQ(weft_reader_line(&r, &line), 0);
	weft_reader_free(&r);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd[0]), 0);
}
ON_ALL(lines_in_crumbs)

/* ---- gone before they were accepted, or never there ---- */

/*
 * Some in a queue are dead. Linux hands them out like the others; a kernel
 * that says -ECONNABORTED is right, too. The living are all served.
 */
static void
vanish_before_accept(void)
{
	enum { DEAD = 20, ALIVE = 5 };
	int l = plain_listen(1, 64), port = port_of(l), alive[ALIVE];
	int greeted = 0, gone = 0;
	char c;

	for (int i = 0; i < DEAD + ALIVE; i++)
		if (i % 5 == 4)
			alive[i / 5] = plain_connect(1, port);
		else
			reset(plain_connect(1, port));
	for (int i = 0; i < ALIVE; i++)
		EQ(write(alive[i], "h", 1), 1);
	while (greeted + gone < DEAD + ALIVE) {
		int fd = weft_accept(l, NULL, NULL);
		ssize_t n;

		OK(fd >= 0 || fd == -ECONNABORTED);
		n = fd < 0 ? fd : weft_read(fd, &c, 1);
		*(n == 1 ? &greeted : &gone) += 1;
		if (fd >= 0)
			EQ(weft_close(fd), 0);
	}
	EQ(greeted, ALIVE);
	for (int i = 0; i < ALIVE; i++)
		NEED(close(alive[i]));
	EQ(weft_close(l), 0);
}
ON_ALL(vanish_before_accept)

/* A goroutine waits in accept, and the client is gone when it looks. */
static void
accepts(int l, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = weft_accept(l, NULL, NULL);

		OK(fd >= 0 || fd == -ECONNABORTED);
		if (fd >= 0)
			EQ(weft_close(fd), 0);
	}
	weft_waitgroup_done(&all);
}

GTEST(vanish_at_accept, 2)
{
	int l = plain_listen(1, 4096), port = port_of(l);
	int n = (int)t_scale(2000);

	weft_waitgroup_add(&all, 1);
	weft_go(accepts, l, n);
	for (int i = 0; i < n; i++)
		reset(plain_connect(1, port));
	weft_waitgroup_wait(&all);
	EQ(weft_close(l), 0);
}

static int
try_connect(int fd, int port)
{
	struct sockaddr_in a = loopback(1, port);

	return weft_connect(fd, (struct sockaddr *)&a, sizeof a);
}

GTEST(listener_closed, 2)
{
	int l = plain_listen(1, 1), port = port_of(l), fd = plain_socket();

	NEED(close(l));
	EQ(try_connect(fd, port), -ECONNREFUSED);
	EQ(weft_close(fd), 0);
}

/* Its queue is full: the kernel drops new clients, and connect waits. */
GTEST(listener_stalls, 2)
{
	int l = plain_listen(1, 0), port = port_of(l), fd[4], r = 0, n = 0;
	int64_t when = 0;

	while (n < 4 && r == 0) {
		fd[n] = plain_socket();
		when = weft_deadline(20 * WEFT_MS);
		EQ(weft_set_deadline(fd[n], when), 0);
		r = try_connect(fd[n++], port);
	}
	EQ(r, -ETIMEDOUT);
	OK(weft_now() >= when);
	while (n > 0)
		EQ(weft_close(fd[--n]), 0);
	NEED(close(l));
}

/* A connect that waits is ended by weft_close. */
static void
connects(struct outcome *o)
{
	o->got = try_connect(o->fd, (int)o->got);
	weft_waitgroup_done(&all);
}

GTEST(closed_while_connecting, 2)
{
	int l = plain_listen(1, 0), n = 3;
	struct outcome o[3];

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++) {
		o[i] = (struct outcome){ plain_socket(), port_of(l), 0, "" };
		weft_go(connects, &o[i]);
	}
	await_waiting(1);
	for (int i = 0; i < n; i++)
		EQ(weft_close(o[i].fd), 0);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < n; i++)
		OK(o[i].got == 0 || o[i].got == -EBADF);
	NEED(close(l));
}

/* ---- datagrams to a port without a socket ---- */

static int
udp_socket(int port)
{
	struct sockaddr_in a = loopback(1, port);
	int fd = NEED(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	NEED(bind(fd, (struct sockaddr *)&a, sizeof a));
	return fd;
}

static void
port_unreachable(void)
{
	int there = udp_socket(0), port = port_of(there), fd = udp_socket(0);
	struct sockaddr_in to = loopback(1, port);
	struct sockaddr_in back = loopback(1, port_of(fd));
	struct outcome o;

	NEED(close(there));
	EQ(weft_connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	go(reads, &o, fd);
	await_waiting(1);
	EQ(weft_write(fd, "anybody?", 8), 8);
	weft_waitgroup_wait(&all);
	EQ(o.got, -ECONNREFUSED);
	/* The error is over, and when the port has a socket it goes on. */
	there = udp_socket(port);
	go(reads, &o, fd);
	await_waiting(1);
	EQ(sendto(there, "yes", 3, 0, (struct sockaddr *)&back, sizeof back),
	    3);
	weft_waitgroup_wait(&all);
	EQ(o.got, 3);
	EQ(weft_close(fd), 0);
	NEED(close(there));
}
ON_ALL(port_unreachable)

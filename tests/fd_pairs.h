/* SPDX-License-Identifier: MIT */
/*
 * Descriptors for tests: connected pairs of all kinds, bytes that tell where
 * they belong, and a way to see that a goroutine waits.
 */
#ifndef WIRES_H
#define WIRES_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

enum wire {
	PIPE, PIPE_NB, FIFO, STREAM, STREAM_NB, TCP4, TCP4_NB, TCP6, TCP6_NB,
	PTY,
	/* from here on a write is a message */
	DGRAM, DGRAM_NB, SEQPACKET, SEQPACKET_NB, UDP4, UDP4_NB, UDP6,
	WIRES
};

static inline const char *
wire_name(int k)
{
	static const char *const name[] = { "pipe", "pipe, non-blocking",
	    "fifo", "stream", "stream, non-blocking", "tcp4",
	    "tcp4, non-blocking", "tcp6", "tcp6, non-blocking", "pty", "dgram",
	    "dgram, non-blocking", "seqpacket", "seqpacket, non-blocking",
	    "udp4", "udp4, non-blocking", "udp6" };

	return name[k];
}

static inline bool wire_has_messages(int k) { return k >= DGRAM; }
static inline bool wire_is_socket(int k) { return k >= STREAM && k != PTY; }
/* Closing one end is an end of file at the other. */
static inline bool
wire_ends(int k)
{
	return k != PTY && k != DGRAM && k != DGRAM_NB && k != UDP4 &&
	    k != UDP4_NB && k != UDP6;
}

/* ---- made by number ---- */

/*
 * libc's calls tell ThreadSanitizer which thread made a descriptor; weft_close
 * does not say that it is gone: the next of that number looks like a race.
 */
static inline int
raw_socket(int family, int type)
{
	return (int)syscall(SYS_socket, family, type, 0);
}

static inline int
raw_pair(int type, int end[2])
{
	return (int)syscall(SYS_socketpair, AF_UNIX, type, 0, end);
}

static inline int
raw_pipe(int end[2], int flags)
{
	return (int)syscall(SYS_pipe2, end, flags);
}

/* ---- addresses ---- */

typedef struct wire_addr {
	socklen_t len;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_storage room;
	} a;
} wire_addr;

/* The loopback address of that family, port 0. */
static inline wire_addr
wire_loopback(int family)
{
	wire_addr w;

	memset(&w, 0, sizeof w);
	w.a.any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		w.a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		w.len = sizeof w.a.in;
	} else {
		w.a.in6.sin6_addr = in6addr_loopback;
		w.len = sizeof w.a.in6;
	}
	return w;
}

/* A path of its own in /tmp, or one without a file. */
static inline wire_addr
wire_unix(bool abstract)
{
	static int nr;
	wire_addr w;
	int n = __atomic_add_fetch(&nr, 1, __ATOMIC_RELAXED);

	memset(&w, 0, sizeof w);
	w.a.un.sun_family = AF_UNIX;
	n = snprintf(w.a.un.sun_path + abstract,
	    sizeof w.a.un.sun_path - 1, "/tmp/weft-wire-%d-%d", getpid(), n);
	w.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    (size_t)n + 1);
	return w;
}

/* Bound, and its address as the kernel knows it; -1 if it cannot be had. */
static inline int
wire_bound(int type, wire_addr *w)
{
	int fd = raw_socket(w->a.any.sa_family, type);

	if (fd >= 0 && bind(fd, &w->a.any, w->len) == 0 &&
	    (w->len = sizeof w->a,
	    getsockname(fd, &w->a.any, &w->len) == 0))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Listening: plain socket(), bind(), listen(). */
static inline int
wire_listen(int type, wire_addr *w, int backlog)
{
	int fd = wire_bound(type, w);

	if (fd >= 0)
		EQ(listen(fd, backlog), 0);
	return fd;
}

/* ---- pairs ---- */

static inline bool
wire_tcp(int family, int flags, int end[2])
{
	wire_addr w = wire_loopback(family);
	int ear = wire_listen(SOCK_STREAM, &w, 4);

	if (ear < 0)
		return false;
	end[0] = raw_socket(family, SOCK_STREAM);
	EQ(connect(end[0], &w.a.any, w.len), 0);
	end[1] = (int)syscall(SYS_accept4, ear, NULL, NULL, flags);
	OK(end[1] >= 0);
	if (flags)
		EQ(fcntl(end[0], F_SETFL, O_NONBLOCK), 0);
	close(ear);
	return true;
}

static inline bool
wire_udp(int family, int flags, int end[2])
{
	wire_addr a = wire_loopback(family), b = a;

	end[0] = wire_bound(SOCK_DGRAM | flags, &a);
	end[1] = wire_bound(SOCK_DGRAM | flags, &b);
	if (end[0] < 0)
		return false;
	EQ(connect(end[0], &b.a.any, b.len), 0);
	EQ(connect(end[1], &a.a.any, a.len), 0);
	return true;
}

/* Reads from the terminal what is written to its other side. */
static inline bool
wire_pty(int end[2])
{
	struct termios raw;
	char name[64];

	end[1] = posix_openpt(O_RDWR | O_NOCTTY);
	if (end[1] < 0 || grantpt(end[1]) || unlockpt(end[1]) ||
	    ptsname_r(end[1], name, sizeof name))
		return false;
	end[0] = open(name, O_RDWR | O_NOCTTY);
	if (end[0] < 0 || tcgetattr(end[0], &raw))
		return false;
	raw.c_iflag = raw.c_oflag = raw.c_lflag = 0;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	EQ(tcsetattr(end[0], TCSANOW, &raw), 0);
	return true;
}

/* Both ends blocking: opened for both first, so that no open waits. */
static inline bool
wire_fifo(int end[2])
{
	wire_addr w = wire_unix(false);
	const char *path = w.a.un.sun_path;
	int both;

	EQ(mkfifo(path, 0600), 0);
	both = open(path, O_RDWR);
	end[0] = open(path, O_RDONLY);
	end[1] = open(path, O_WRONLY);
	close(both);
	unlink(path);
	return end[0] >= 0 && end[1] >= 0;
}

/* What is written to end[1] is read from end[0]. False: not to be had here. */
static inline bool
wire_make(int k, int end[2])
{
	int nb = SOCK_NONBLOCK;

	end[0] = end[1] = -1;
	switch (k) {
	case PIPE: return raw_pipe(end, 0) == 0;
	case PIPE_NB: return raw_pipe(end, O_NONBLOCK) == 0;
	case FIFO: return wire_fifo(end);
	case STREAM: return !raw_pair(SOCK_STREAM, end);
	case STREAM_NB: return !raw_pair(SOCK_STREAM | nb, end);
	case TCP4: return wire_tcp(AF_INET, 0, end);
	case TCP4_NB: return wire_tcp(AF_INET, nb, end);
	case TCP6: return wire_tcp(AF_INET6, 0, end);
	case TCP6_NB: return wire_tcp(AF_INET6, nb, end);
	case PTY: return wire_pty(end);
	case DGRAM: return !raw_pair(SOCK_DGRAM, end);
	case DGRAM_NB: return !raw_pair(SOCK_DGRAM | nb, end);
	case SEQPACKET: return !raw_pair(SOCK_SEQPACKET, end);
	case SEQPACKET_NB:
		return !raw_pair(SOCK_SEQPACKET | nb, end);
	case UDP4: return wire_udp(AF_INET, 0, end);
	case UDP4_NB: return wire_udp(AF_INET, nb, end);
	case UDP6: return wire_udp(AF_INET6, 0, end);
	default: return false;
	}
}

/* The pair, or the test fails. */
static inline void
wire(int k, int end[2])
{
	if (!wire_make(k, end))
		t_fail(__FILE__, __LINE__, wire_name(k));
}

static inline void
wire_drop(int end[2])
{
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
}

/*
 * Which pipe or socket it is. That a number is in use says little: weft itself
 * uses one for a moment now and then, to ask the kernel something.
 */
static inline uint64_t
wire_id(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* The test needs b to be the number that a was; it mostly is. */
static inline void
wire_same_number(int a, int b)
{
	if (a != b)
		t_skip("the number was given to another user");
}

/*
 * Has fd duplicated to a number that is free. Not with dup2: the number may be
 * weft's for a moment (see wire_id), and weft would then close the duplicate.
 */
static inline void
dup_to_free(int fd, int number)
{
	int got;

	while ((got = fcntl(fd, F_DUPFD, number)) != number) {
		OK(got >= 0);
		close(got);
	}
}

/*
 * Calls fn with a pair of each kind that there is, and then sees that it left
 * O_NONBLOCK alone. If something failed says of which kind it was.
 */
static inline void
wire_each(void (*fn)(int k, int rd, int wr))
{
	for (int k = 0; k < WIRES; k++) {
		int end[2], was[2];

		if (!wire_make(k, end)) {
			fprintf(stderr, "# no %s here\n", wire_name(k));
			continue;
		}
		for (int i = 0; i < 2; i++)
			was[i] = fcntl(end[i], F_GETFL);
		fn(k, end[0], end[1]);
		for (int i = 0; i < 2; i++)
			if (fcntl(end[i], F_GETFL) != was[i])
				t_fail(__FILE__, __LINE__, wire_name(k));
		wire_drop(end);
	}
}

/* ---- bytes that tell where they belong ---- */

static inline char
wire_byte(size_t at)
{
	return (char)(at * 31 + (at >> 8) * 7 + (at >> 16) + 1);
}

static inline void
wire_fill(char *buf, size_t len, size_t at)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = wire_byte(at + i);
}

static inline bool
wire_same(const char *buf, size_t len, size_t at)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != wire_byte(at + i))
			return false;
	return true;
}

/* ---- a goroutine waits ---- */

static inline int64_t
wire_waiting(void)
{
	weft_io_stats s;

	weft_io_stats_read(&s, sizeof s);
	return s.waiting;
}

/*
 * Returns when so many goroutines wait for descriptors, however long that
 * takes: after a limit in time a goroutine that came late would meet a number
 * that is another file by then.
 */
static inline void
let_them_wait(int64_t n)
{
	while (wire_waiting() < n)
		weft_yield();
}

/*
 * Returns when so many wait, or after a while: for writers whose bytes may fit
 * without waiting, so that what follows is right either way.
 */
static inline void
let_them_fill(int64_t n)
{
	double limit = t_now() + 0.1;

	while (wire_waiting() < n && t_now() < limit)
		weft_yield();
}

/*
 * Fills it up, until not a byte more would go in without waiting. By hand:
 * no other goroutine may use it meanwhile.
 */
static inline void
wire_stuff(int fd)
{
	int was = fcntl(fd, F_GETFL);
	char buf[4096] = {0};

	EQ(fcntl(fd, F_SETFL, was | O_NONBLOCK), 0);
	while (write(fd, buf, sizeof buf) > 0)
		;
	while (write(fd, buf, 1) > 0)
		;
	EQ(fcntl(fd, F_SETFL, was), 0);
}

/* A goroutine that writes a byte once another one waits for a descriptor. */
static inline void
write_when_awaited(int fd, char c, weft_waitgroup *wg)
{
	let_them_wait(1);
	EQ(weft_write(fd, &c, 1), 1);
	weft_waitgroup_done(wg);
}

/* The same; it sets a deadline that is over, by that call. */
static inline void
expire_when_awaited(int fd, int (*set)(int fd, int64_t when),
    weft_waitgroup *wg)
{
	while (wire_waiting() == 0)
		weft_yield();
	EQ(set(fd, weft_now()), 0);
	weft_waitgroup_done(wg);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Accepting and making connections. */
#define _GNU_SOURCE 1
#include <sys/resource.h>

#include "fd_pairs.h"

static weft_waitgroup all;

static bool
nonblocking(int fd)
{
	return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static bool
same_address(const wire_addr *a, const wire_addr *b)
{
	return a->len == b->len && !memcmp(&a->a, &b->a, a->len);
}

/* ---- both sides wait, on one processor ---- */

static void
serve(int ear, int n)
{
	while (n-- > 0) {
		wire_addr from = { .len = sizeof from.a };
		wire_addr peer = { .len = sizeof peer.a };
		int fd = weft_accept(ear, &from.a.any, &from.len);
		char c = 0;

		OK(fd >= 0);
		OK(nonblocking(fd));
		EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
		EQ(getpeername(fd, &peer.a.any, &peer.len), 0);
		OK(same_address(&from, &peer));
		EQ(weft_read(fd, &c, 1), 1);
		EQ(weft_write(fd, &c, 1), 1);
		EQ(weft_read(fd, &c, 1), 0);
		EQ(weft_close(fd), 0);
	}
	OK(nonblocking(ear));
	weft_waitgroup_done(&all);
}

static void
visit(const wire_addr *to, int type)
{
	int fd = raw_socket(to->a.any.sa_family, type);
	char c = 'v';

	EQ(weft_connect(fd, &to->a.any, to->len), 0);
	OK(nonblocking(fd));
	EQ(weft_write(fd, &c, 1), 1);
	c = 0;
	EQ(weft_read(fd, &c, 1), 1);
	EQ(c, 'v');
	EQ(weft_close(fd), 0);
}

static void
visits(wire_addr at, int type, int n)
{
	int ear = wire_listen(type, &at, 16);

	if (ear < 0)
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(serve, ear, n);
	let_them_wait(1);
	for (int i = 0; i < n; i++)
		visit(&at, i % 2 ? type : type ^ SOCK_NONBLOCK);
	weft_waitgroup_wait(&all);
	EQ(weft_close(ear), 0);
}

static void
visit_all(void)
{
	int n = (int)t_scale(50) + 1;

	for (int nb = 0; nb <= SOCK_NONBLOCK; nb += SOCK_NONBLOCK) {
		wire_addr file = wire_unix(false);

		visits(wire_loopback(AF_INET), SOCK_STREAM | nb, n);
		visits(wire_loopback(AF_INET6), SOCK_STREAM | nb, n);
		visits(wire_unix(true), SOCK_STREAM | nb, n);
		visits(wire_unix(true), SOCK_SEQPACKET | nb, n);
		visits(file, SOCK_STREAM | nb, n);
		unlink(file.a.un.sun_path);
	}
}

ON_ALL(visit_all)

/* Many accept on one descriptor, many connect. */
static void
visit_often(const wire_addr *to, int n)
{
	while (n-- > 0)
		visit(to, SOCK_STREAM);
	weft_waitgroup_done(&all);
}

GTEST(many_accept_on_one_descriptor, 4)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 64), n = (int)t_scale(50) + 1;

	weft_waitgroup_add(&all, 16);
	for (int i = 0; i < 8; i++) {
		weft_go(serve, ear, n);
		weft_go(visit_often, &at, n);
	}
	weft_waitgroup_wait(&all);
	EQ(weft_close(ear), 0);
}

/* The address of the peer is not asked for. */
GTEST(accept_without_an_address, 1)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4);
	int fd = socket(AF_INET, SOCK_STREAM, 0), peer;

	EQ(weft_connect(fd, &at.a.any, at.len), 0);
	peer = weft_accept(ear, NULL, NULL);
	OK(peer >= 0);
	EQ(weft_connect(fd, &at.a.any, at.len), -EISCONN);
	EQ(weft_close(fd), 0);
	EQ(weft_close(peer), 0);
	EQ(weft_close(ear), 0);
}

/* ---- refused ---- */

GTEST(refused, 1)
{
	wire_addr at = wire_loopback(AF_INET), gone = wire_unix(false);
	int fd = wire_bound(SOCK_STREAM, &at);

	/* bound, but it does not listen */
	for (int nb = 0; nb <= SOCK_NONBLOCK; nb += SOCK_NONBLOCK) {
		int c = socket(AF_INET, SOCK_STREAM | nb, 0);

		EQ(weft_connect(c, &at.a.any, at.len), -ECONNREFUSED);
		EQ(weft_close(c), 0);
		c = socket(AF_UNIX, SOCK_STREAM | nb, 0);
		EQ(weft_connect(c, &gone.a.any, gone.len), -ENOENT);
		EQ(weft_connect(c, &at.a.any, at.len), -EINVAL);
		EQ(weft_close(c), 0);
	}
	EQ(weft_close(fd), 0);
}

GTEST(what_is_no_socket, 1)
{
	wire_addr at = wire_loopback(AF_INET);
	int end[2], fd = socket(AF_INET, SOCK_STREAM, 0);
	int udp = wire_bound(SOCK_DGRAM, &at);

	wire(PIPE, end);
	EQ(weft_accept(end[0], NULL, NULL), -ENOTSOCK);
	EQ(weft_connect(end[1], &at.a.any, at.len), -ENOTSOCK);
	/* which is no accepting one: left as it was */
	EQ(nonblocking(end[0]), false);
	EQ(weft_accept(fd, NULL, NULL), -EINVAL);
	EQ(weft_accept(udp, NULL, NULL), -EOPNOTSUPP);
	EQ(weft_connect(fd, &at.a.any, 2), -EINVAL);
	wire_drop(end);
	EQ(weft_close(fd), 0);
	EQ(weft_close(udp), 0);
}

/* A datagram socket is connected at once, and back. */
GTEST(connected_datagrams, 1)
{
	wire_addr a = wire_loopback(AF_INET), b = a;
	wire_addr none = { .len = sizeof(struct sockaddr) };
	int fa = wire_bound(SOCK_DGRAM, &a), fb = wire_bound(SOCK_DGRAM, &b);
	char c;

	EQ(weft_connect(fa, &b.a.any, b.len), 0);
	EQ(weft_write(fa, "u", 1), 1);
	EQ(weft_read(fb, &c, 1), 1);
	none.a.any.sa_family = AF_UNSPEC;
	EQ(weft_connect(fa, &none.a.any, none.len), 0);
	EQ(weft_write(fa, "u", 1), -EDESTADDRREQ);
	EQ(weft_close(fa), 0);
	EQ(weft_close(fb), 0);
}

/* ---- connections that hang ---- */

/*
 * A queue that is full does not answer any more: whoever connects then waits.
 * Fills it with plain connections and returns how many fitted.
 */
static int
stuff(const wire_addr *at, int *fd, int max)
{
	int n = 0;

	while (n < max) {
		struct pollfd p = { .events = POLLOUT };

		fd[n] = p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(fd[n], &at->a.any, at->len);
		n++;
		if (poll(&p, 1, 200) == 0)
			break;
	}
	return n;
}

static void
connect_to(const wire_addr *at, int fd, int expected)
{
	EQ(weft_connect(fd, &at->a.any, at->len), expected);
	weft_waitgroup_done(&all);
}

GTEST(hanging_connections_end, 1)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 0), fd[16];
	int n = stuff(&at, fd, 16), a = socket(AF_INET, SOCK_STREAM, 0);
	int b = socket(AF_INET, SOCK_STREAM, 0);
	int64_t when = weft_deadline(20 * WEFT_MS);

	OK(n < 16);
	/* by the deadline of writing */
	EQ(weft_set_write_deadline(a, when), 0);
	EQ(weft_connect(a, &at.a.any, at.len), -ETIMEDOUT);
	OK(weft_now() >= when);
	EQ(weft_close(a), 0);
	/* by closing it */
	weft_waitgroup_add(&all, 1);
	weft_go(connect_to, &at, b, -EBADF);
	let_them_wait(1);
	EQ(weft_close(b), 0);
	weft_waitgroup_wait(&all);
	while (n-- > 0)
		close(fd[n]);
	EQ(weft_close(ear), 0);
}

/* Made while a goroutine waits: the kernel asks again after a second. */
GTEST(hanging_connections_are_made, 1)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 0), fd[16];
	int n = stuff(&at, fd, 16), a = socket(AF_INET, SOCK_STREAM, 0);

	weft_waitgroup_add(&all, 1);
	weft_go(connect_to, &at, a, 0);
	let_them_wait(1);
	for (int i = 0; i < n - 1; i++)
		EQ(weft_close(weft_accept(ear, NULL, NULL)), 0);
	EQ(weft_set_read_deadline(ear, weft_deadline(20 * WEFT_SECOND)), 0);
	OK(weft_accept(ear, NULL, NULL) >= 0);
	OK(weft_accept(ear, NULL, NULL) >= 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(ear), 0);
}

/* The queue of a UNIX socket is full: connect waits until it is not. */
GTEST(full_queues_of_unix_sockets, 1)
{
	wire_addr at = wire_unix(true);
	int ear = wire_listen(SOCK_STREAM, &at, 0), fd[16], n = 0, last;

	do
		fd[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (connect(fd[n], &at.a.any, at.len) == 0 && ++n < 16);
	OK(n < 16);
	last = socket(AF_UNIX, SOCK_STREAM, 0);
	weft_waitgroup_add(&all, 1);
	weft_go(connect_to, &at, last, 0);
	weft_yield();
	weft_sleep(20 * WEFT_MS);
	for (int i = 0; i < n + 1; i++)
		OK(weft_accept(ear, NULL, NULL) >= 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(last), 0);
	/* the same, with a deadline */
	for (int i = 0; i < n; i++) {
		int c = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

		EQ(connect(c, &at.a.any, at.len), 0);
	}
	last = socket(AF_UNIX, SOCK_STREAM, 0);
	EQ(weft_set_write_deadline(last, weft_deadline(20 * WEFT_MS)), 0);
	EQ(weft_connect(last, &at.a.any, at.len), -ETIMEDOUT);
	EQ(weft_close(ear), 0);
}

/* ---- no descriptor left ---- */

static int
use_up(int *fd, int max)
{
	int n = 0;

	while (n < max && (fd[n] = dup(0)) >= 0)
		n++;
	return n;
}

static void
accept_one(int ear, long *accepted)
{
	int fd = weft_accept(ear, NULL, NULL);
	char c = 0;

	OK(fd >= 0);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(c, 'q');
	__atomic_store_n(accepted, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

GTEST(no_descriptor_left, 1)
{
	struct rlimit few = { 64, 64 };
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4), fd[64], n;
	int c = socket(AF_INET, SOCK_STREAM, 0);
	long accepted = 0;

	/* what weft needs for itself it has from here on */
	EQ(weft_set_read_deadline(ear, weft_deadline(WEFT_MS)), 0);
	EQ(weft_accept(ear, NULL, NULL), -ETIMEDOUT);
	EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	EQ(weft_connect(c, &at.a.any, at.len), 0);
	EQ(weft_write(c, "q", 1), 1);
	n = use_up(fd, 64);
	OK(n > 0);
	/* for as long as the deadline says; the connection is still there */
	EQ(weft_set_read_deadline(ear, weft_deadline(50 * WEFT_MS)), 0);
	EQ(weft_accept(ear, NULL, NULL), -ETIMEDOUT);
	EQ(weft_set_read_deadline(ear, WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(accept_one, ear, &accepted);
	weft_sleep(50 * WEFT_MS);
	EQ(__atomic_load_n(&accepted, __ATOMIC_ACQUIRE), 0);
	close(fd[0]);
	weft_waitgroup_wait(&all);
	EQ(accepted, 1);
	while (--n > 0)
		close(fd[n]);
	EQ(weft_close(ear), 0);
}

static void
accept_closed(int ear)
{
	EQ(weft_accept(ear, NULL, NULL), -EBADF);
	weft_waitgroup_done(&all);
}

/* Closing wakes a goroutine that waits for a free descriptor, too. */
GTEST(no_descriptor_left_and_closed, 1)
{
	struct rlimit few = { 64, 64 };
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4), fd[64];
	int c = socket(AF_INET, SOCK_STREAM, 0);

	EQ(weft_set_read_deadline(ear, weft_deadline(WEFT_MS)), 0);
	EQ(weft_accept(ear, NULL, NULL), -ETIMEDOUT);
	EQ(weft_set_read_deadline(ear, WEFT_NEVER), 0);
	EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	EQ(weft_connect(c, &at.a.any, at.len), 0);
	use_up(fd, 64);
	weft_waitgroup_add(&all, 1);
	weft_go(accept_closed, ear);
	weft_sleep(20 * WEFT_MS);
	EQ(weft_close(ear), 0);
	weft_waitgroup_wait(&all);
}

/* SPDX-License-Identifier: MIT */
/* Messages: flags, addresses, and both kinds of UNIX and of IP sockets. */
#define _GNU_SOURCE 1
#include "fd_expect.h"
#include "fd_pairs.h"

static weft_waitgroup all;

/* ---- send and recv on all kinds ---- */

static void
send_when_awaited(int fd, const char *text)
{
	let_them_wait(1);
	EQ(weft_sock_send(fd, text, strlen(text), 0), strlen(text));
	weft_waitgroup_done(&all);
}

static void
sent_and_received(int k, int rd, int wr)
{
	char buf[16] = {0};
	struct iovec v = { buf, 16 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (!wire_is_socket(k)) {
		EQ(weft_sock_recv(rd, buf, 1, 0), -ENOTSOCK);
		EQ(weft_sock_send(wr, buf, 1, 0), -ENOTSOCK);
		EQ(weft_recvfrom(rd, buf, 1, 0, NULL, NULL), -ENOTSOCK);
		EQ(weft_sendto(wr, buf, 1, 0, NULL, 0), -ENOTSOCK);
		EQ(weft_recvmsg(rd, &m, 0), -ENOTSOCK);
		EQ(weft_sendmsg(wr, &m, 0), -ENOTSOCK);
		EQ(weft_shutdown(rd, SHUT_RD), -ENOTSOCK);
		return;
	}
	weft_waitgroup_add(&all, 1);
	weft_go(send_when_awaited, wr, "hello");
	EQ(weft_sock_recv(rd, buf, 16, 0), 5);
	OK(!strcmp(buf, "hello"));
	weft_waitgroup_wait(&all);
	weft_waitgroup_add(&all, 1);
	weft_go(send_when_awaited, wr, "from");
	EQ(weft_recvfrom(rd, buf, 16, 0, NULL, NULL), 4);
	OK(!memcmp(buf, "from", 4));
	weft_waitgroup_wait(&all);
	weft_waitgroup_add(&all, 1);
	weft_go(send_when_awaited, wr, "message");
	EQ(weft_recvmsg(rd, &m, 0), 7);
	OK(!memcmp(buf, "message", 7));
	weft_waitgroup_wait(&all);
}

GTEST(send_and_receive_on_one, 1) { wire_each(sent_and_received); }
GTEST(send_and_receive_on_four, 4) { wire_each(sent_and_received); }

/* ---- flags ---- */

static void
peek_and_take(int k, int rd, int wr)
{
	char buf[16] = {0};

	if (!wire_is_socket(k))
		return;
	/* asked not to wait: said so by the user, whatever the descriptor */
	EQ(weft_sock_recv(rd, buf, 16, MSG_DONTWAIT), -EAGAIN);
	EQ(weft_recvfrom(rd, buf, 16, MSG_DONTWAIT, NULL, NULL), -EAGAIN);
	EQ(weft_sock_recv(rd, buf, 16, MSG_DONTWAIT | MSG_PEEK), -EAGAIN);
	weft_waitgroup_add(&all, 1);
	weft_go(send_when_awaited, wr, "hello");
	EQ(weft_sock_recv(rd, buf, 16, MSG_PEEK), 5);
	OK(!memcmp(buf, "hello", 5));
	weft_waitgroup_wait(&all);
	memset(buf, 0, sizeof buf);
	EQ(weft_sock_recv(rd, buf, 2, MSG_PEEK), 2);
	EQ(weft_sock_recv(rd, buf, 16, MSG_DONTWAIT), 5);
	OK(!memcmp(buf, "hello", 5));
	EQ(weft_sock_recv(rd, buf, 16, MSG_DONTWAIT), -EAGAIN);
	if (!wire_has_messages(k))
		return;
	EQ(weft_sock_send(wr, "hello", 5, 0), 5);
	EQ(weft_sock_recv(rd, buf, 3, MSG_TRUNC), 5);
}

GTEST(peek_and_dontwait, 1) { wire_each(peek_and_take); }

/* Full, and asked not to wait. */
static void
full_at_once(int k, int rd, int wr)
{
	char buf[4096] = {0};
	ssize_t n;

	(void)rd;
	if (!wire_is_socket(k) || k >= UDP4)
		return;
	do
		n = weft_sock_send(wr, buf, sizeof buf, MSG_DONTWAIT);
	while (n > 0);
	EQ(n, -EAGAIN);
}

GTEST(send_dontwait, 1) { wire_each(full_at_once); }

static void
send_in_pieces(int fd, int pieces, bool awaited)
{
	char buf[100];

	for (int i = 0; i < pieces; i++) {
		wire_fill(buf, 100, (size_t)i * 100);
		if (awaited)
			let_them_wait(1);
		EQ(weft_sock_send(fd, buf, 100, 0), 100);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

/* A call must be waiting for it, or it has not begun yet. */
/* All of it, though it comes in pieces, and waits in between. */
static void
wait_for_all(int k, int rd, int wr)
{
	char buf[2000] = {0};
	struct iovec v[] = { { buf, 700 }, { buf + 700, 1300 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	if (!wire_is_socket(k) || wire_has_messages(k))
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(send_in_pieces, wr, 20, true);
	EQ(weft_sock_recv(rd, buf, 2000, MSG_WAITALL), 2000);
	OK(wire_same(buf, 2000, 0));
	weft_waitgroup_wait(&all);
	memset(buf, 0, sizeof buf);
	weft_waitgroup_add(&all, 1);
	weft_go(send_in_pieces, wr, 20, true);
	EQ(weft_recvmsg(rd, &m, MSG_WAITALL), 2000);
	OK(wire_same(buf, 2000, 0));
	weft_waitgroup_wait(&all);
	memset(buf, 0, sizeof buf);
	/* with a deadline in between: what came is not lost */
	weft_waitgroup_add(&all, 2);
	send_in_pieces(wr, 3, false);
	while (recv(rd, buf, 300, MSG_PEEK | MSG_DONTWAIT) < 300)
		weft_yield();	/* TCP may let them wait for each other */
	weft_go(expire_when_awaited, rd, weft_set_read_deadline, &all);
	EQ(weft_sock_recv(rd, buf, 2000, MSG_WAITALL), 300);
	OK(wire_same(buf, 300, 0));
	weft_waitgroup_wait(&all);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
}

GTEST(wait_all_on_one, 1) { wire_each(wait_for_all); }
GTEST(wait_all_on_four, 4) { wire_each(wait_for_all); }

GTEST(wait_all_up_to_the_end, 1)
{
	char buf[2000];
	int end[2];

	for (int k = STREAM; k < PTY; k++) {
		if (!wire_make(k, end))
			continue;
		weft_waitgroup_add(&all, 1);
		send_in_pieces(end[1], 5, false);
		EQ(weft_close(end[1]), 0);
		EQ(weft_sock_recv(end[0], buf, 2000, MSG_WAITALL), 500);
		EQ(weft_sock_recv(end[0], buf, 2000, MSG_WAITALL), 0);
		EQ(weft_close(end[0]), 0);
	}
}

/* An urgent byte arrives beside the others. */
GTEST(out_of_band, 1)
{
	char c = 0;
	int end[2];

	wire(TCP4, end);
	EQ(weft_sock_send(end[1], "ab", 2, 0), 2);
	EQ(weft_sock_send(end[1], "!", 1, MSG_OOB), 1);
	while (weft_sock_recv(end[0], &c, 1, MSG_OOB | MSG_DONTWAIT) < 0)
		weft_yield();
	EQ(c, '!');
	EQ(weft_sock_recv(end[0], &c, 1, 0), 1);
	EQ(c, 'a');
	wire_drop(end);
}

/* ---- where a read stops though there is more ---- */

static void
begin(void)
{
	weft_waitgroup_done(&all);
}

/*
 * Known to the poller, and all that is sent is there, and weft has heard of
 * it, or of most: later readers get no other event. (If one is late
 * nevertheless the test proves less.)
 */
static void
tell_of_all(int rd, int wr, void (*send_all)(int wr))
{
	char c;

	EQ(weft_set_read_deadline(rd, weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(rd, begin) > 0);
	send_all(wr);
	weft_waitgroup_wait(&all);
	weft_sleep(10 * WEFT_MS);
}

static void
send_around_urgent(int wr)
{
	EQ(send(wr, "before", 6, 0), 6);
	EQ(send(wr, "!", 1, MSG_OOB), 1);
	EQ(send(wr, "after", 5, 0), 5);
}

/* A read ends before the urgent byte. */
GTEST(behind_urgent_data, 2)
{
	char buf[64] = {0};
	int end[2];

	wire(TCP4, end);
	tell_of_all(end[0], end[1], send_around_urgent);
	EQ(weft_read(end[0], buf, sizeof buf), 6);
	EQ(weft_read(end[0], buf, sizeof buf), 5);
	OK(memcmp(buf, "after", 5) == 0);
	wire_drop(end);
}

static void
send_and_end(int wr)
{
	EQ(send(wr, "last", 4, 0), 4);
	EQ(shutdown(wr, SHUT_WR), 0);
}

/* ... and before the end. */
GTEST(behind_the_last_data, 2)
{
	char buf[64];
	int end[2];

	for (int k = 0; k < WIRES; k++) {
		if (!wire_is_socket(k) || !wire_ends(k) || !wire_make(k, end))
			continue;
		tell_of_all(end[0], end[1], send_and_end);
		EQ(weft_read(end[0], buf, sizeof buf), 4);
		EQ(weft_read(end[0], buf, sizeof buf), 0);
		wire_drop(end);
	}
}

/* ---- addresses ---- */

static void
answer(int fd, int n)
{
	char buf[64];

	while (n-- > 0) {
		wire_addr from = { .len = sizeof from.a };
		ssize_t got = weft_recvfrom(fd, buf, sizeof buf, 0,
		    &from.a.any, &from.len);

		OK(got > 0);
		EQ(weft_sendto(fd, buf, (size_t)got, 0, &from.a.any, from.len),
		    got);
	}
	weft_waitgroup_done(&all);
}

static bool
same_address(const wire_addr *a, const wire_addr *b)
{
	return a->len == b->len && !memcmp(&a->a, &b->a, a->len);
}

/* Two clients of one server: each gets its own answer, from the server. */
static void
datagrams(wire_addr at, wire_addr at1, wire_addr at2, int flags)
{
	int fd = wire_bound(SOCK_DGRAM | flags, &at), c[2], n = 10;

	if (fd < 0)
		return;
	c[0] = wire_bound(SOCK_DGRAM | flags, &at1);
	c[1] = wire_bound(SOCK_DGRAM | flags, &at2);
	weft_waitgroup_add(&all, 1);
	weft_go(answer, fd, 2 * n);
	let_them_wait(1);
	for (int i = 0; i < 2 * n; i++) {
		wire_addr from = { .len = sizeof from.a };
		char out[8], in[8];
		int len = snprintf(out, 8, "m%d", i);

		EQ(weft_sendto(c[i % 2], out, (size_t)len, 0, &at.a.any,
		    at.len), len);
		EQ(weft_recvfrom(c[i % 2], in, 8, 0, &from.a.any, &from.len),
		    len);
		OK(!memcmp(in, out, (size_t)len));
		OK(same_address(&from, &at));
	}
	weft_waitgroup_wait(&all);
	EQ(!(fcntl(fd, F_GETFL) & O_NONBLOCK), !flags);
	EQ(weft_close(fd), 0);
	EQ(weft_close(c[0]), 0);
	EQ(weft_close(c[1]), 0);
}

static void
unlink_all(int n, wire_addr *w)
{
	while (n-- > 0)
		unlink(w[n].a.un.sun_path);
}

GTEST(datagrams_with_addresses, 1)
{
	for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
		wire_addr v4 = wire_loopback(AF_INET);
		wire_addr v6 = wire_loopback(AF_INET6), u[3];

		datagrams(v4, v4, v4, flags);
		datagrams(v6, v6, v6, flags);
		datagrams(wire_unix(true), wire_unix(true), wire_unix(true),
		    flags);
		for (int i = 0; i < 3; i++)
			u[i] = wire_unix(false);
		datagrams(u[0], u[1], u[2], flags);
		unlink_all(3, u);
	}
}

/* The same by messages, which carry the address themselves. */
GTEST(messages_with_addresses, 1)
{
	wire_addr a = wire_loopback(AF_INET), b = a, from;
	int fa = wire_bound(SOCK_DGRAM, &a), fb = wire_bound(SOCK_DGRAM, &b);
	char out1[] = "one", out2[] = "two", in[10] = {0};
	struct iovec vo[] = { { out1, 3 }, { out2, 3 } };
	struct iovec vi[] = { { in, 4 }, { in + 4, 6 } };
	struct msghdr m = { .msg_iov = vo, .msg_iovlen = 2,
	    .msg_name = &b.a, .msg_namelen = b.len };

	EQ(weft_sendmsg(fa, &m, 0), 6);
	m = (struct msghdr){ .msg_iov = vi, .msg_iovlen = 2,
	    .msg_name = &from.a, .msg_namelen = sizeof from.a };
	EQ(weft_recvmsg(fb, &m, 0), 6);
	from.len = m.msg_namelen;
	OK(same_address(&from, &a));
	OK(!memcmp(in, "onetwo", 6));
	/* cut off, and said so */
	EQ(weft_sendto(fa, "0123456789abc", 13, 0, &b.a.any, b.len), 13);
	EQ(weft_recvmsg(fb, &m, 0), 10);
	OK(m.msg_flags & MSG_TRUNC);
	EQ(weft_close(fa), 0);
	EQ(weft_close(fb), 0);
}

/* There is no socket: the kernel says so with the next call. */
GTEST(datagrams_to_a_closed_port, 1)
{
	wire_addr a = wire_loopback(AF_INET), b = a;
	int fa = wire_bound(SOCK_DGRAM, &a), fb = wire_bound(SOCK_DGRAM, &b);
	char c = 0;

	EQ(connect(fa, &b.a.any, b.len), 0);
	close(fb);
	EQ(weft_sock_send(fa, &c, 1, 0), 1);
	EQ(weft_sock_recv(fa, &c, 1, 0), -ECONNREFUSED);
	EQ(weft_close(fa), 0);
}

/* ---- shutdown ---- */

static void
shut(int k, int rd, int wr)
{
	char c = 'c';

	if (!wire_is_socket(k) || !wire_ends(k))
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, rd, 0, &all);
	let_them_wait(1);
	EQ(weft_shutdown(wr, SHUT_WR), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_write(wr, &c, 1), -EPIPE);
	/* the other direction still works */
	EQ(weft_write(rd, &c, 1), 1);
	EQ(weft_read(wr, &c, 1), 1);
	/* and ends its own readers */
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, wr, 0, &all);
	let_them_wait(1);
	EQ(weft_shutdown(wr, SHUT_RD), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_shutdown(wr, 77), -EINVAL);
}

GTEST(shutdown_wakes_on_one, 1) { wire_each(shut); }
GTEST(shutdown_wakes_on_four, 4) { wire_each(shut); }

static void
write_broken(int fd)
{
	ssize_t n;

	/* there may be some room yet, as TCP moves things */
	while ((n = weft_write(fd, "x", 1)) > 0)
		;
	EQ(n, -EPIPE);
	weft_waitgroup_done(&all);
}

/* A writer that waits for room learns that there will be none. */
static void
shut_while_full(int k, int rd, int wr)
{
	(void)rd;
	if (!wire_is_socket(k) || !wire_ends(k))
		return;
	wire_stuff(wr);
	weft_waitgroup_add(&all, 1);
	weft_go(write_broken, wr);
	let_them_wait(1);
	EQ(weft_shutdown(wr, SHUT_WR), 0);
	weft_waitgroup_wait(&all);
}

GTEST(shutdown_of_a_full_one, 2) { wire_each(shut_while_full); }

GTEST(shutdown_of_what_is_not_connected, 1)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char c;

	EQ(weft_sock_recv(fd, &c, 1, 0), -ENOTCONN);
	EQ(weft_sock_send(fd, "c", 1, 0), -EPIPE);
	EQ(weft_shutdown(fd, SHUT_RDWR), -ENOTCONN);
	EQ(weft_close(fd), 0);
	EQ(weft_shutdown(fd, SHUT_RDWR), -EBADF);
}

/* A reset, while a reader waits: the reader gets the error. */
GTEST(reset_by_the_peer, 1)
{
	struct linger now = { .l_onoff = 1 };
	int end[2];

	wire(TCP4, end);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -ECONNRESET, &all);
	let_them_wait(1);
	EQ(setsockopt(end[1], SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[0]), 0);
}

/* SPDX-License-Identifier: MIT */
/* Dialling TCP and UDP on this machine, and what can go wrong with it. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>

#include "fd_expect.h"
#include "listener.h"
#include "plain_thread.h"

enum { PEEK_ERRNO = 4711 };

/* Text, as `host` with the port of a listener. */
static const char *
host_at(const char *host, int listener)
{
	return with_port(host, weft_local_port(listener));
}

/* Dials and accepts; both ends agree on their addresses, and are joined. */
static void
pair_up(int listener, const char *network, const char *address)
{
	int fd, got;
	char a[WEFT_ADDRESS_TEXT], b[WEFT_ADDRESS_TEXT];

	errno = PEEK_ERRNO;
	fd = weft_dial(network, address);
	OK(fd >= 0);
	if (fd < 0)
		return;
	got = weft_accept(listener, NULL, NULL);
	OK(got >= 0);
	OK(is(weft_local_address(fd, a, sizeof a),
	    weft_peer_address(got, b, sizeof b)));
	OK(is(weft_local_address(got, a, sizeof a),
	    weft_peer_address(fd, b, sizeof b)));
	EQ(weft_local_port(got), weft_local_port(listener));
	OK(joined(fd, got));
	OK(joined(got, fd));
	EQ(errno, PEEK_ERRNO);
	OK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	OK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EQ(weft_close(fd), 0);
	EQ(weft_close(got), 0);
}

/* ---- where to ---- */

static void
version_4(void)
{
	int fd = weft_listen("tcp", "127.0.0.1:0");

	OK(weft_local_port(fd) > 0);
	OK(is(host_at("127.0.0.1", fd), at(fd)));
	pair_up(fd, "tcp", at(fd));
	pair_up(fd, "tcp4", at(fd));
	pair_up(fd, "tcp", host_at("", fd));
	pair_up(fd, "tcp", host_at("[::ffff:127.0.0.1]", fd));
	pair_up(fd, "tcp", host_at("localhost", fd));
	pair_up(fd, "tcp4", host_at("localhost", fd));
	EQ(weft_dial("tcp6", at(fd)), -EAFNOSUPPORT);
	EQ(weft_close(fd), 0);
}

ON_ALL(version_4)
TEST(version_4_without_a_runtime) { version_4(); }

GTEST(version_4_on_a_thread, 1) { thread_call_blocking(version_4); }

/* An empty host is tried as version 4 first, which refuses. */
static void
version_6(void)
{
	int port, held = refusing_4_only(&port);
	int fd = weft_listen("tcp", with_port("[::1]", port));

	pair_up(fd, "tcp", at(fd));
	pair_up(fd, "tcp6", at(fd));
	pair_up(fd, "tcp6", host_at("", fd));
	pair_up(fd, "tcp", host_at("", fd));
	EQ(weft_dial("tcp4", at(fd)), -EAFNOSUPPORT);
	EQ(weft_close(fd), 0);
	EQ(close(held), 0);
}

GTEST(version_6_only_there, 2)
{
	if (!has_v6())
		t_skip("no version 6 here");
	version_6();
}

TEST(version_6_without_a_runtime)
{
	if (!has_v6())
		t_skip("no version 6 here");
	version_6();
}

/* If this machine calls itself by both versions, either will do. */
GTEST(localhost_of_both_versions, 2)
{
	weft_address a[4];
	int n = weft_resolve("tcp", "localhost:0", a, 4, NULL, 0);
	int fd, held, port;

	OK(n >= 1);
	if (!has_v6() || n < 2)
		t_skip("localhost has one address only");
	OK(a[0].family != a[1].family);
	fd = weft_listen("tcp4", "127.0.0.1:0");
	pair_up(fd, "tcp", host_at("localhost", fd));
	weft_close(fd);
	held = refusing_4_only(&port);
	fd = weft_listen("tcp6", with_port("[::1]", port));
	pair_up(fd, "tcp", host_at("localhost", fd));
	weft_close(fd);
	close(held);
}

GTEST(datagrams, 2)
{
	int to = weft_listen("udp", "127.0.0.1:0"), fd, gone;
	weft_address a = { .len = WEFT_ADDRESS_BYTES };
	char text[WEFT_ADDRESS_TEXT], from[WEFT_ADDRESS_TEXT];
	char buf[16];

	fd = weft_dial("udp", at(to));
	OK(to >= 0 && fd >= 0);
	EQ(weft_write(fd, "ping", 4), 4);
	EQ(weft_recvfrom(to, buf, sizeof buf, 0, weft_address_get(&a),
	    &a.len), 4);
	OK(is(weft_address_text(weft_address_get(&a), a.len, from,
	    sizeof from), weft_local_address(fd, text, sizeof text)));
	EQ(weft_sendto(to, "pong!", 5, 0, weft_address_get(&a), a.len), 5);
	EQ(weft_read(fd, buf, sizeof buf), 5);
	OK(is(weft_peer_address(to, text, sizeof text), ""));
	/* There is no socket: told by the second that tries. */
	snprintf(text, sizeof text, "%s", at(to));
	EQ(weft_close(to), 0);
	gone = weft_dial("udp4", text);
	EQ(weft_write(gone, "x", 1), 1);
	EQ(weft_read(gone, buf, 1), -ECONNREFUSED);
	weft_close(gone);
	weft_close(fd);
}

/* ---- where from ---- */

static void
dial_from(int listener, const char *local, const char *expected)
{
	char text[WEFT_ADDRESS_TEXT];
	int fd = weft_dial_with("tcp", at(listener), .local = local);
	int got;

	OK(fd >= 0);
	if (fd < 0)
		return;
	got = weft_accept(listener, NULL, NULL);
	weft_peer_address(got, text, sizeof text);
	if (expected[strlen(expected) - 1] == ':')
		text[strlen(expected)] = 0;
	OK(is(text, expected));
	weft_close(fd);
	weft_close(got);
}

GTEST(from_an_address, 1)
{
	int fd = weft_listen("tcp4", "127.0.0.1:0");
	int other = weft_listen("tcp4", "127.0.0.3:0");
	const char *from = host_at("127.0.0.3", other);

	if (other < 0)
		t_skip("127.0.0.3 is not this machine");
	dial_from(fd, "127.0.0.2:0", "127.0.0.2:");
	dial_from(fd, ":0", "127.0.0.1:");
	weft_close(other);
	dial_from(fd, from, from);
	EQ(weft_dial_with("tcp", at(fd), .local = "[::1]:0"), -EADDRNOTAVAIL);
	EQ(weft_dial_with("tcp", at(fd), .local = "203.0.113.1:0"),
	    -EADDRNOTAVAIL);
	EQ(weft_dial_with("tcp", at(fd), .local = "127.0.0.1"), -EINVAL);
	EQ(weft_dial_with("tcp4", at(fd), .local = "[::1]:0"), -EAFNOSUPPORT);
	weft_close(fd);
}

/* The end that closes first keeps the port for a minute. */
GTEST(from_a_port_again_and_again, 1)
{
	int fd = weft_listen("tcp4", "127.0.0.1:0");
	int other = weft_listen("tcp4", "127.0.0.1:0");
	int second = weft_listen("tcp4", "127.0.0.1:0");
	const char *from = host_at("127.0.0.1", other);

	weft_close(other);
	dial_from(fd, from, from);
	dial_from(second, from, from);
	weft_close(fd);
	weft_close(second);
}

/*
 * What was said of a descriptor that was closed with close(2) does not hold
 * for the one that has its number now.
 */
static void
take_old_number(int fd)
{
	EQ(weft_set_deadline(fd, weft_now()), 0);
	EQ(close(fd), 0);
}

/* It mostly is. */
static void
need_same(int fd, int old)
{
	OK(fd >= 0);
	if (fd != old)
		t_skip("the number was given to another user");
}

GTEST(old_numbers, 1)
{
	int before = open_fds_before();
	int fd, a, b, old = socket(AF_INET, SOCK_STREAM, 0), s[2];

	take_old_number(old);
	fd = weft_listen("tcp4", "127.0.0.1:0");
	need_same(fd, old);
	old = socket(AF_INET, SOCK_STREAM, 0);
	take_old_number(old);
	a = weft_dial("tcp", at(fd));
	need_same(a, old);
	b = weft_accept(fd, NULL, NULL);
	OK(b >= 0);
	OK(joined(a, b));
	OK(joined(b, a));
	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	EQ(weft_send_fd(s[0], a), 0);
	take_old_number(a);
	need_same(weft_recv_fd(s[1]), a);
	OK(joined(a, b));
	OK(joined(b, a));
	close_all((int[]){ fd, a, b, s[0], s[1] }, 5);
	EQ(count_fds(), before);
}

/* ---- options ---- */

static void
options_are(int fd, int nodelay, int keepalive)
{
	EQ(option(fd, IPPROTO_TCP, TCP_NODELAY) != 0, nodelay);
	EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE) != 0, keepalive > 0);
	if (keepalive > 0) {
		EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), keepalive);
		EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), keepalive);
	}
	OK(weft_close(fd) == 0);
}

GTEST(options, 1)
{
	int fd = weft_listen("tcp4", "127.0.0.1:0");
	const char *to = at(fd);

	options_are(weft_dial("tcp", to), 1, 15);
	options_are(weft_dial_with("tcp", to, .delay = true), 0, 15);
	options_are(weft_dial_with("tcp", to,
	    .keepalive = 77 * WEFT_SECOND), 1, 77);
	options_are(weft_dial_with("tcp", to, .keepalive = -1), 1, 0);
	options_are(weft_dial_with("tcp", to, .keepalive = WEFT_MS), 1, 1);
	options_are(weft_dial_with("tcp", to,
	    .keepalive = WEFT_SECOND + 1), 1, 2);
	EQ(weft_dial_with("tcp", to, .keepalive = INT64_MAX), -EINVAL);
	EQ(weft_dial_with("tcp", to, .keepalive = 30), -EINVAL);
	weft_close(fd);
}

/* Of an older program, which has less, and of a newer one, which has more. */
GTEST(options_of_another_version, 1)
{
	struct { weft_dial_options old; long more; } dial = {
		.old = { .keepalive = 30 * WEFT_SECOND }
	};
	struct { weft_listen_options old; long more; } wide = {0};
	int fd = weft_listen_opt("tcp4", "127.0.0.1:0", &wide.old, sizeof wide);
	const char *to = at(fd);
	weft_address a;

	options_are(weft_dial_opt("tcp", to, &dial.old,
	    offsetof(weft_dial_options, keepalive)), 1, 15);
	options_are(weft_dial_opt("tcp", to, &dial.old, sizeof dial), 1, 30);
	wide.more = dial.more = 1;
	EQ(weft_dial_opt("tcp", to, &dial.old, sizeof dial), -E2BIG);
	EQ(weft_resolve("tcp", to, &a, 1, &dial.old, sizeof dial), -E2BIG);
	EQ(weft_listen_opt("tcp4", ":0", &wide.old, sizeof wide), -E2BIG);
	EQ(weft_resolve_with("tcp", to, &a, 1, .until = 1), -ETIMEDOUT);
	EQ(weft_resolve_with("tcp", to, &a, 1), 1);
	weft_close(fd);
}

/* ---- what goes wrong ---- */

GTEST(bad_addresses, 1)
{
	int before = open_fds_before();

	errno = PEEK_ERRNO;
	EQ(weft_dial("tcp7", "127.0.0.1:1"), -EINVAL);
	EQ(weft_dial(NULL, "127.0.0.1:1"), -EINVAL);
	EQ(weft_dial("tcp", NULL), -EINVAL);
	EQ(weft_dial("tcp", "127.0.0.1"), -EINVAL);
	EQ(weft_dial("tcp", "127.0.0.1:65536"), -EINVAL);
	EQ(weft_dial("tcp", "127.1:80"), -EINVAL);
	EQ(weft_dial("tcp", "::1:80"), -EINVAL);
	EQ(weft_dial("tcp", "127.0.0.1:no-such-service"), -ENOENT);
	EQ(weft_dial("tcp", "[fe80::1%no-such-if]:80"), -ENODEV);
	EQ(weft_resolve("nothing", "127.0.0.1:80", NULL, 0, NULL, 0), -EINVAL);
	EQ(weft_local_port(-1), -EBADF);
	EQ(errno, PEEK_ERRNO);
	wait_alone();
	EQ(count_fds(), before);
}

static void
refused(void)
{
	int port, held = refusing(&port);
	const char *to = with_port("127.0.0.1", port);
	const char *all = with_port("", port);

	EQ(weft_dial("tcp", to), -ECONNREFUSED);
	EQ(weft_dial("tcp", all), -ECONNREFUSED);
	EQ(weft_dial_with("tcp", to, .until = weft_deadline(WEFT_SECOND * 50)),
	    -ECONNREFUSED);
	close(held);
}

GTEST(refused_by_all, 2)
{
	int before = open_fds_before();

	for (int i = 0; i < 10; i++)
		refused();
	wait_alone();
	EQ(count_fds(), before);
}

TEST(refused_without_a_runtime) { refused(); }

/* There is no such name; whether anybody can say so is another matter. */
GTEST(unknown_name, 1)
{
	int before = open_fds_before();
	int64_t start = weft_now();
	int r = weft_dial_with("tcp", "no-such-host.invalid:80",
	    .until = weft_deadline(2 * WEFT_SECOND));

	OK(r == -ENOENT || r == -EAGAIN || r == -EIO || r == -ETIMEDOUT);
	OK(weft_now() - start < 20 * WEFT_SECOND);
	if (r == -ETIMEDOUT)
		OK(weft_now() - start >= 2 * WEFT_SECOND);
	else
		wait_alone();	/* else it may go on for long */
	if (r != -ETIMEDOUT)
		EQ(count_fds(), before);
}

GTEST(service_by_name, 1)
{
	weft_address a;
	char text[WEFT_ADDRESS_TEXT];
	int n = weft_resolve("tcp", "127.0.0.1:http", &a, 1, NULL, 0);

	if (n == -ENOENT)
		t_skip("no file of services here");
	EQ(n, 1);
	OK(is(weft_address_text(weft_address_get(&a), a.len, text,
	    sizeof text), "127.0.0.1:80"));
}

/* ---- giving up ---- */

static void
given_up(const char *to)
{
	int64_t until = weft_deadline(30 * WEFT_MS);

	EQ(weft_dial_with("tcp", to, .until = until), -ETIMEDOUT);
	OK(weft_now() >= until);
	OK(weft_now() - until < 20 * WEFT_SECOND);
	EQ(weft_dial_with("tcp", to, .until = until), -ETIMEDOUT);
}

GTEST(in_time, 2)
{
	int before = open_fds_before();
	int fd = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	int held[FILLING], n = fill(fd, held);

	given_up(at(fd));
	close_all(held, n);
	weft_close(fd);
	EQ(count_fds(), before);
}

TEST(in_time_without_a_runtime)
{
	int fd = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	int held[FILLING], n = fill(fd, held);

	given_up(at(fd));
	close_all(held, n);
	weft_close(fd);
}

/* The deadline is the dial's, not the connection's. */
GTEST(in_time_and_for_long, 1)
{
	int64_t until = weft_deadline(50 * WEFT_MS);
	int fd = weft_listen("tcp4", "127.0.0.1:0");
	int a = weft_dial_with("tcp", at(fd), .until = until), b;

	OK(a >= 0 || a == -ETIMEDOUT);
	if (a == -ETIMEDOUT)
		t_skip("this machine is too busy");
	b = weft_accept(fd, NULL, NULL);
	weft_sleep_until(until + WEFT_MS);
	OK(joined(a, b));
	OK(joined(b, a));
	weft_close(a);
	weft_close(b);
	weft_close(fd);
}

static void
cancel_later(weft_context *ctx)
{
	weft_sleep(30 * WEFT_MS);
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
}

static void
by_context(void)
{
	int before = open_fds_before();
	int fd = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	int held[FILLING], n = fill(fd, held);
	weft_context *ctx = weft_context_make(NULL);
	int64_t start = weft_now();

	weft_go(cancel_later, weft_context_retain(ctx));
	EQ(weft_dial_with("tcp", at(fd), .context = ctx), -ECANCELED);
	OK(weft_now() - start >= 30 * WEFT_MS);
	OK(weft_now() - start < 20 * WEFT_SECOND);
	EQ(weft_dial_with("tcp", at(fd), .context = ctx), -ECANCELED);
	weft_context_release(ctx);
	ctx = weft_context_make_until(NULL, weft_deadline(30 * WEFT_MS));
	EQ(weft_dial_with("tcp", at(fd), .context = ctx,
	    .until = weft_deadline(WEFT_SECOND * 1000)), -ETIMEDOUT);
	OK(weft_now() >= weft_context_deadline(ctx));
	weft_context_release(ctx);
	close_all(held, n);
	weft_close(fd);
	wait_alone();
	EQ(count_fds(), before);
}

ON_ALL(by_context)

/* On a thread the time is kept even without a runtime that would see to it. */
TEST(by_a_contexts_time_without_a_runtime)
{
	int fd = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	int held[FILLING], n = fill(fd, held);
	weft_context *ctx = weft_context_make_until(NULL,
	    weft_deadline(30 * WEFT_MS));

	EQ(weft_dial_with("tcp", at(fd), .context = ctx), -ETIMEDOUT);
	OK(weft_now() >= weft_context_deadline(ctx));
	weft_context_release(ctx);
	close_all(held, n);
	weft_close(fd);
}

/* ---- many ---- */

static weft_waitgroup all;

static void
greet(const char *to)
{
	for (int i = 0; i < 10; i++) {
		int fd = weft_dial("tcp", to);
		char c = 0;

		OK(fd >= 0);
		check_byte(fd, 'h');
		EQ(weft_read(fd, &c, 1), 0);
		EQ(weft_close(fd), 0);
	}
	weft_waitgroup_done(&all);
}

static void
welcome(int fd)
{
	EQ(weft_write(fd, "h", 1), 1);
	EQ(weft_close(fd), 0);
}

GTEST(many, 4)
{
	int before = open_fds_before(), n = (int)t_scale(100);
	int fd = weft_listen("tcp4", "127.0.0.1:0");
	const char *local = host_at("localhost", fd), *to = at(fd);

	weft_go(accept_each, fd, welcome);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(greet, i % 2 ? local : to);
	weft_waitgroup_wait(&all);
	weft_close(fd);
	wait_alone();
	EQ(count_fds(), before);
}

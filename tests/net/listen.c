/* SPDX-License-Identifier: MIT */
/* Listening on TCP and UDP: which addresses, which versions, which options. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "listener.h"

/* Dials it by that host; what the listener says of the client's address. */
static const char *
came_from(int listener, const char *host)
{
	static char text[WEFT_ADDRESS_TEXT];
	int fd = weft_dial("tcp", with_port(host, weft_local_port(listener)));
	int got;

	if (fd < 0)
		return fd == -ECONNREFUSED ? "refused" : "failed";
	got = weft_accept(listener, NULL, NULL);
	weft_peer_address(got, text, sizeof text);
	*strrchr(text, ':') = 0;
	weft_close(fd);
	weft_close(got);
	return text;
}

/* ---- versions ---- */

static void
both_versions(const char *address)
{
	int fd = weft_listen("tcp", address);

	OK(fd >= 0);
	OK(is(came_from(fd, "127.0.0.1"), "127.0.0.1"));
	OK(is(came_from(fd, "[::1]"), "[::1]"));
	weft_close(fd);
}

GTEST(every_address, 2)
{
	int fd;

	if (!has_v6())
		t_skip("no version 6 here");
	both_versions(":0");
	both_versions("[::]:0");
	fd = weft_listen("tcp", "0.0.0.0:0");
	OK(is(came_from(fd, "127.0.0.1"), "127.0.0.1"));
	OK(is(came_from(fd, "[::1]"), "refused"));
	weft_close(fd);
	fd = weft_listen("tcp4", ":0");
	OK(is(came_from(fd, "127.0.0.1"), "127.0.0.1"));
	OK(is(came_from(fd, "[::1]"), "refused"));
	weft_close(fd);
}

static int held_fd;

/* That host with a port that is free for version 6, and refuses version 4. */
static const char *
held_at(const char *host)
{
	int port;

	held_fd = refusing_4_only(&port);
	return with_port(host, port);
}

static void
only_version_6(int fd)
{
	OK(fd >= 0);
	OK(is(came_from(fd, "[::1]"), "[::1]"));
	OK(is(came_from(fd, "127.0.0.1"), "refused"));
	weft_close(fd);
	EQ(close(held_fd), 0);
}

GTEST(version_6_only, 1)
{
	int before = open_fds_before();

	if (!has_v6())
		t_skip("no version 6 here");
	only_version_6(weft_listen("tcp6", held_at("")));
	only_version_6(weft_listen_with("tcp", held_at(""), .v6_only = true));
	only_version_6(weft_listen_with("tcp6", held_at(""), .v6_only = true));
	only_version_6(weft_listen_with("tcp", held_at("[::]"),
	    .v6_only = true));
	EQ(weft_listen_with("tcp4", ":0", .v6_only = true), -EINVAL);
	EQ(weft_listen_with("udp4", ":0", .v6_only = true), -EINVAL);
	EQ(weft_listen_with("tcp", "127.0.0.1:0", .v6_only = true),
	    -EAFNOSUPPORT);
	wait_alone();
	EQ(count_fds(), before);
}

/* The two versions of a port can have different owners. */
GTEST(version_6_beside_version_4, 1)
{
	int v6, v4, fd;
	const char *all;

	if (!has_v6())
		t_skip("no version 6 here");
	v6 = weft_listen("tcp6", ":0");
	all = with_port("", weft_local_port(v6));
	v4 = weft_listen("tcp4", all);
	if (v4 == -EADDRINUSE)
		t_skip("another program has that port");
	OK(v4 >= 0);
	EQ(weft_listen("tcp", all), -EADDRINUSE);
	weft_close(v4);
	/* A caller that wants both shall not be given half. */
	fd = weft_listen("tcp", all);
	EQ(fd, -EADDRINUSE);
	weft_close(v6);
	fd = weft_listen("tcp", all);
	OK(fd >= 0);
	weft_close(fd);
}

/* ---- addresses ---- */

static void
addresses(void)
{
	int fd = weft_listen("tcp", "127.0.0.1:0"), again;
	const char *here = with_port("127.0.0.1", weft_local_port(fd));

	OK(is(at(fd), here));
	EQ(weft_listen("tcp", here), -EADDRINUSE);
	OK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	OK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	weft_close(fd);
	fd = weft_listen("tcp", "localhost:0");
	OK(fd >= 0);
	OK(is(came_from(fd, "localhost"), "127.0.0.1") ||
	    is(at(fd), with_port("[::1]", weft_local_port(fd))));
	weft_close(fd);
	EQ(weft_listen("tcp", "203.0.113.1:0"), -EADDRNOTAVAIL);
	EQ(weft_listen("tcp", "127.0.0.1"), -EINVAL);
	EQ(weft_listen("tpc", "127.0.0.1:0"), -EINVAL);
	EQ(weft_listen(NULL, "127.0.0.1:0"), -EINVAL);
	EQ(weft_listen_with(NULL, "127.0.0.1:0", .v6_only = true), -EINVAL);
	EQ(weft_listen("tcp", NULL), -EINVAL);
	EQ(weft_listen("tcp6", "127.0.0.1:0"), -EAFNOSUPPORT);
	EQ(weft_listen_with("tcp", ":0", .backlog = -1), -EINVAL);
	EQ(weft_listen_with("tcp", ":0", .keepalive = INT64_MAX), -EINVAL);
	fd = weft_listen_opt("tcp", "127.0.0.1:0", NULL, 0);
	again = weft_listen("udp", with_port("127.0.0.1",
	    weft_local_port(fd)));
	OK(fd >= 0);
	OK(again >= 0 || again == -EADDRINUSE);
	weft_close(fd);
	if (again >= 0)
		weft_close(again);
}

GTEST(which_addresses, 2) { leaves_no_fds(addresses); }

TEST(which_addresses_without_a_runtime) { addresses(); }

/* A connection of a server that has ended does not keep the next one out. */
GTEST(the_same_port_again, 1)
{
	int fd = weft_listen("tcp4", "127.0.0.1:0");
	int a = weft_dial("tcp", at(fd)), b = weft_accept(fd, NULL, NULL);
	const char *here = with_port("127.0.0.1", weft_local_port(fd));
	char c;

	weft_close(fd);
	weft_close(b);		/* first: so this end has to wait */
	EQ(weft_read(a, &c, 1), 0);
	weft_close(a);
	fd = weft_listen("tcp4", here);
	OK(fd >= 0);
	weft_close(fd);
}

/* ---- several on one port ---- */

static void
reused(const char *network)
{
	int a = weft_listen_with(network, "127.0.0.1:0", .reuse_port = true);
	const char *here = with_port("127.0.0.1", weft_local_port(a));
	int b = weft_listen_with(network, here, .reuse_port = true);

	OK(a >= 0 && b >= 0 && a != b);
	EQ(weft_local_port(a), weft_local_port(b));
	EQ(weft_listen(network, here), -EADDRINUSE);
	weft_close(a);
	weft_close(b);
	a = weft_listen(network, here);
	OK(a >= 0);
	EQ(weft_listen_with(network, here, .reuse_port = true), -EADDRINUSE);
	weft_close(a);
}

GTEST(reuse_port, 1)
{
	reused("tcp");
	reused("udp");
}

/* Without it datagrams are not shared either, nor stolen. */
GTEST(datagrams_have_one_owner, 1)
{
	int a = weft_listen("udp", "127.0.0.1:0");

	EQ(weft_listen("udp", at(a)), -EADDRINUSE);
	weft_close(a);
}

/* ---- what is accepted ---- */

static void
accepted(int listener, int keepalive)
{
	int fd = weft_dial("tcp", at(listener));
	int got = weft_accept(listener, NULL, NULL);

	OK(got >= 0);
	OK(option(got, IPPROTO_TCP, TCP_NODELAY) != 0);
	EQ(option(got, SOL_SOCKET, SO_KEEPALIVE) != 0, keepalive > 0);
	if (keepalive > 0) {
		EQ(option(got, IPPROTO_TCP, TCP_KEEPIDLE), keepalive);
		EQ(option(got, IPPROTO_TCP, TCP_KEEPINTVL), keepalive);
	}
	weft_close(fd);
	weft_close(got);
	weft_close(listener);
}

GTEST(options_are_inherited, 1)
{
	accepted(weft_listen("tcp", "127.0.0.1:0"), 15);
	accepted(weft_listen_with("tcp", "127.0.0.1:0",
	    .keepalive = 99 * WEFT_SECOND), 99);
	accepted(weft_listen_with("tcp", "127.0.0.1:0", .keepalive = -1), 0);
}

/* By default more wait to be accepted than anybody would dial here. */
GTEST(backlog, 1)
{
	int fd = weft_listen("tcp4", "127.0.0.1:0"), held[64];

	for (int i = 0; i < 64; i++) {
		held[i] = weft_dial_with("tcp", at(fd),
		    .until = weft_deadline(20 * WEFT_SECOND));
		OK(held[i] >= 0);
	}
	close_all(held, 64);
	weft_close(fd);
	fd = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	OK(fill(fd, held) < FILLING);
	weft_close(fd);
}

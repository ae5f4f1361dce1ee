/* SPDX-License-Identifier: MIT */
/* Addresses as text, both ways, with all that people type. */
#define _GNU_SOURCE 1
#include "address.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "t.h"

/* What a target knows, and what is to be looked up, in one line. */
static const char *
shown(const struct target *t)
{
	static char line[1024];
	char text[WEFT_ADDRESS_TEXT];
	size_t n = 0;

	line[0] = 0;
	for (size_t i = 0; i < t->n; i++)
		n += (size_t)snprintf(line + n, sizeof line - n, "%s%s",
		    i ? " " : "", weft_address_text(address_get(&t->known[i]),
		    t->known[i].len, text, sizeof text));
	if (*t->host)
		n += (size_t)snprintf(line + n, sizeof line - n, "?%s",
		    t->host);
	if (t->port == PORT_NAMED)
		snprintf(line + n, sizeof line - n, " service %s", t->service);
	else if (*t->host)
		snprintf(line + n, sizeof line - n, " port %d", t->port);
	return line;
}

struct row {
	const char *network, *address;
	int error;
	const char *is;
};

static void
try_row(const struct row *r, bool passive)
{
	struct target t;
	int err = address_parse(&t, r->network, r->address, passive);
	const char *is = err ? "" : shown(&t);

	if (err == r->error && strcmp(is, r->is ? r->is : "") == 0)
		return;
	fprintf(stderr, "# \"%s\" \"%s\": %d \"%s\"\n",
	    r->network ? r->network : "NULL",
	    r->address ? r->address : "NULL", err, is);
	OK(!"as it should be");
}

static void
try_rows(const struct row *rows, size_t n, bool passive)
{
	for (size_t i = 0; i < n; i++)
		try_row(&rows[i], passive);
}

TEST(networks)
{
	static const struct row rows[] = {
		{ NULL, "127.0.0.1:1", -EINVAL, 0 },
		{ "tcp", NULL, -EINVAL, 0 },
		{ "", "127.0.0.1:1", -EINVAL, 0 },
		{ "TCP", "127.0.0.1:1", -EINVAL, 0 },
		{ "tcp5", "127.0.0.1:1", -EINVAL, 0 },
		{ "tcp ", "127.0.0.1:1", -EINVAL, 0 },
		{ "ip", "127.0.0.1:1", -EINVAL, 0 },
		{ "tcp", "127.0.0.1:1", 0, "127.0.0.1:1" },
		{ "tcp4", "127.0.0.1:1", 0, "127.0.0.1:1" },
		{ "tcp6", "127.0.0.1:1", -EAFNOSUPPORT, 0 },
		{ "udp6", "127.0.0.1:1", -EAFNOSUPPORT, 0 },
		{ "udp", "[::1]:1", 0, "[::1]:1" },
		{ "udp6", "[::1]:1", 0, "[::1]:1" },
		{ "udp4", "[::1]:1", -EAFNOSUPPORT, 0 },
		{ "tcp4", "[::1]:1", -EAFNOSUPPORT, 0 },
	};
	struct target t;

	try_rows(rows, sizeof rows / sizeof *rows, false);
	EQ(address_parse(&t, "udp", "127.0.0.1:7", false), 0);
	EQ(t.known[0].type, SOCK_DGRAM);
	EQ(t.known[0].protocol, IPPROTO_UDP);
	EQ(t.known[0].family, AF_INET);
	EQ(t.known[0].len, sizeof(struct sockaddr_in));
	EQ(address_parse(&t, "tcp", "[::1]:7", false), 0);
	EQ(t.known[0].type, SOCK_STREAM);
	EQ(t.known[0].protocol, IPPROTO_TCP);
	EQ(t.known[0].family, AF_INET6);
	EQ(t.known[0].len, sizeof(struct sockaddr_in6));
	EQ(address_parse(&t, "unixpacket", "x", false), 0);
	EQ(t.known[0].type, SOCK_SEQPACKET);
	EQ(address_parse(&t, "unixgram", "x", false), 0);
	EQ(t.known[0].type, SOCK_DGRAM);
}

TEST(ports)
{
	static const struct row rows[] = {
		{ "tcp", "1.2.3.4", -EINVAL, 0 },
		{ "tcp", "", -EINVAL, 0 },
		{ "tcp", ":", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:0", 0, "1.2.3.4:0" },
		{ "tcp", "1.2.3.4:65535", 0, "1.2.3.4:65535" },
		{ "tcp", "1.2.3.4:65536", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:99999999999999999999", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:0080", 0, "1.2.3.4:80" },
		{ "tcp", "1.2.3.4:-1", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:+80", -EINVAL, 0 },
		{ "tcp", "1.2.3.4: 80", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:80 ", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:8:0", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:8/0", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:http", 0, "1.2.3.4:0 service http" },
		{ "tcp", "1.2.3.4:3com-x_y.z", 0,
		    "1.2.3.4:0 service 3com-x_y.z" },
		{ "tcp", "1.2.3.4:0x50", 0, "1.2.3.4:0 service 0x50" },
		{ "tcp", "1.2.3.4:-http", -EINVAL, 0 },
		{ "tcp", "1.2.3.4:1-2", -EINVAL, 0 },
	};
	char address[300] = "1.2.3.4:", long_service[300];
	struct target t;

	try_rows(rows, sizeof rows / sizeof *rows, false);
	memset(long_service, 'a', sizeof long_service);
	long_service[ADDRESS_SERVICE] = 0;
	strcpy(address + 8, long_service);
	EQ(address_parse(&t, "tcp", address, false), 0);
	OK(strcmp(t.service, long_service) == 0);
	strcat(address, "a");
	EQ(address_parse(&t, "tcp", address, false), -EINVAL);
}

TEST(version_4)
{
	static const struct row rows[] = {
		{ "tcp", "0.0.0.0:1", 0, "0.0.0.0:1" },
		{ "tcp", "255.255.255.255:1", 0, "255.255.255.255:1" },
		{ "tcp", "256.0.0.1:1", -EINVAL, 0 },
		{ "tcp", "1.2.3:1", -EINVAL, 0 },
		{ "tcp", "127.1:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.4.5:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.4.:1", -EINVAL, 0 },
		{ "tcp", "010.0.0.1:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.04:1", -EINVAL, 0 },
		{ "tcp", "0x7f.0.0.1:1", -EINVAL, 0 },
		{ "tcp", "0x7f000001:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.0X4:1", -EINVAL, 0 },
		{ "tcp", "2130706433:1", -EINVAL, 0 },
		{ "tcp", "name.0x:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.-4:1", 0, "?1.2.3.-4 port 1" },
		{ "tcp", " 1.2.3.4:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.4 :1", -EINVAL, 0 },
		{ "tcp", "[1.2.3.4]:1", -EINVAL, 0 },
		{ "tcp", "1.2.3.4%lo:1", -EINVAL, 0 },
	};

	try_rows(rows, sizeof rows / sizeof *rows, false);
}

TEST(version_6)
{
	static const struct row rows[] = {
		{ "tcp", "[::]:1", 0, "[::]:1" },
		{ "tcp", "[2001:DB8::1]:1", 0, "[2001:db8::1]:1" },
		{ "tcp", "[1:2:3:4:5:6:7:8]:65535", 0,
		    "[1:2:3:4:5:6:7:8]:65535" },
		{ "tcp", "::1:1", -EINVAL, 0 },
		{ "tcp", "2001:db8::1", -EINVAL, 0 },
		{ "tcp", "[::1]", -EINVAL, 0 },
		{ "tcp", "[::1]1", -EINVAL, 0 },
		{ "tcp", "[::1]x:1", -EINVAL, 0 },
		{ "tcp", "[::1:1", -EINVAL, 0 },
		{ "tcp", "[", -EINVAL, 0 },
		{ "tcp", "[]:1", -EINVAL, 0 },
		{ "tcp", "[]", -EINVAL, 0 },
		{ "tcp", "]:1", -EINVAL, 0 },
		{ "tcp", "[[::1]]:1", -EINVAL, 0 },
		{ "tcp", "[::1 ]:1", -EINVAL, 0 },
		{ "tcp", "[localhost]:1", -EINVAL, 0 },
		{ "tcp", "[::1]:", -EINVAL, 0 },
		{ "tcp", "[::1]:1:1", -EINVAL, 0 },
		{ "tcp", "[1::2::3]:1", -EINVAL, 0 },
		{ "tcp", "[12345::]:1", -EINVAL, 0 },
		{ "tcp", "[::1]:ssh", 0, "[::1]:0 service ssh" },
		/* version 4 in version 6 */
		{ "tcp", "[::ffff:1.2.3.4]:1", 0, "1.2.3.4:1" },
		{ "tcp4", "[::ffff:1.2.3.4]:1", 0, "1.2.3.4:1" },
		{ "tcp6", "[::ffff:1.2.3.4]:1", -EAFNOSUPPORT, 0 },
		{ "tcp", "[::ffff:1.2.3.4%1]:1", -EINVAL, 0 },
		/* zones */
		{ "tcp", "[fe80::1%lo]:1", 0, "[fe80::1%lo]:1" },
		{ "tcp", "[fe80::1%1]:1", 0, "[fe80::1%lo]:1" },
		{ "tcp", "[fe80::1%4000000000]:1", 0,
		    "[fe80::1%4000000000]:1" },
		{ "tcp", "[fe80::1%4294967296]:1", -ENODEV, 0 },
		{ "tcp", "[fe80::1%no-such]:1", -ENODEV, 0 },
		{ "tcp", "[fe80::1%]:1", -EINVAL, 0 },
		{ "tcp", "[fe80::1%0123456789abcdef]:1", -EINVAL, 0 },
		{ "tcp", "[%lo]:1", -EINVAL, 0 },
		{ "tcp4", "[fe80::1%lo]:1", -EAFNOSUPPORT, 0 },
	};

	try_rows(rows, sizeof rows / sizeof *rows, false);
}

TEST(names)
{
	static const struct row rows[] = {
		{ "tcp", "localhost:1", 0, "?localhost port 1" },
		{ "tcp4", "a.example.:80", 0, "?a.example. port 80" },
		{ "tcp6", "a:http", 0, "?a service http" },
		{ "tcp", "x1:1", 0, "?x1 port 1" },
		{ "tcp", "1x:1", 0, "?1x port 1" },
		{ "tcp", "1.2.3.x4:1", 0, "?1.2.3.x4 port 1" },
		{ "tcp", "0xg:1", 0, "?0xg port 1" },
		{ "tcp", "b\xc3\xbc" "cher:1", 0, "?b\xc3\xbc" "cher port 1" },
		{ "tcp", "under_score:1", 0, "?under_score port 1" },
		{ "tcp", ".:1", -EINVAL, 0 },
		{ "tcp", ".x:1", -EINVAL, 0 },
		{ "tcp", "a b:1", -EINVAL, 0 },
		{ "tcp", "a\n:1", -EINVAL, 0 },
		{ "tcp", "a\x7f:1", -EINVAL, 0 },
		{ "tcp", "a/b:1", -EINVAL, 0 },
		{ "tcp", "a@b:1", -EINVAL, 0 },
		{ "tcp", "a%b:1", -EINVAL, 0 },
		{ "tcp", "a[b]:1", -EINVAL, 0 },
		{ "tcp", "http://a:1", -EINVAL, 0 },
	};
	char address[300];
	struct target t;

	try_rows(rows, sizeof rows / sizeof *rows, false);
	memset(address, 'a', sizeof address);
	strcpy(address + ADDRESS_HOST, ":1");
	EQ(address_parse(&t, "tcp", address, false), 0);
	EQ(strlen(t.host), ADDRESS_HOST);
	address[ADDRESS_HOST] = 'a';
	strcpy(address + ADDRESS_HOST + 1, ":1");
	EQ(address_parse(&t, "tcp", address, false), -ENAMETOOLONG);
}

TEST(no_host)
{
	static const struct row to_dial[] = {
		{ "tcp", ":80", 0, "127.0.0.1:80 [::1]:80" },
		{ "tcp4", ":80", 0, "127.0.0.1:80" },
		{ "tcp6", ":80", 0, "[::1]:80" },
		{ "udp", ":http", 0, "127.0.0.1:0 [::1]:0 service http" },
	}, to_listen[] = {
		{ "tcp", ":80", 0, "[::]:80 0.0.0.0:80" },
		{ "tcp4", ":80", 0, "0.0.0.0:80" },
		{ "tcp6", ":80", 0, "[::]:80" },
		{ "tcp", "127.0.0.1:80", 0, "127.0.0.1:80" },
		{ "tcp", "name:80", 0, "?name port 80" },
	};

	try_rows(to_dial, sizeof to_dial / sizeof *to_dial, false);
	try_rows(to_listen, sizeof to_listen / sizeof *to_listen, true);
}

TEST(paths)
{
	static const struct row rows[] = {
		{ "unix", "", -EINVAL, 0 },
		{ "unix", "/tmp/x", 0, "/tmp/x" },
		{ "unix", "x:80", 0, "x:80" },
		{ "unixgram", "[::1]:80", 0, "[::1]:80" },
		{ "unixpacket", "@name", 0, "@name" },
		{ "unix", "@@", 0, "@@" },
		{ "unix", "@", -EINVAL, 0 },
	};
	struct target t;
	struct sockaddr_un *un = (void *)t.known[0].bytes_;
	char path[200], text[WEFT_ADDRESS_TEXT];

	try_rows(rows, sizeof rows / sizeof *rows, false);
	/* The kernel gets the name without a NUL at its end. */
	EQ(address_parse(&t, "unix", "@ab", false), 0);
	EQ(t.known[0].len, offsetof(struct sockaddr_un, sun_path) + 3);
	EQ(un->sun_path[0], 0);
	EQ(address_parse(&t, "unix", "ab", false), 0);
	EQ(t.known[0].len, offsetof(struct sockaddr_un, sun_path) + 3);
	EQ(address_parse(&t, "unix", "@", true), 0);
	EQ(t.known[0].len, sizeof(sa_family_t));
	/* 108 bytes with the NUL of a path, or of a name. */
	memset(path, 'p', sizeof path);
	path[107] = 0;
	EQ(address_parse(&t, "unix", path, false), 0);
	OK(strcmp(shown(&t), path) == 0);
	path[107] = 'p';
	path[108] = 0;
	EQ(address_parse(&t, "unix", path, false), -ENAMETOOLONG);
	path[0] = '@';
	EQ(address_parse(&t, "unix", path, false), 0);
	OK(strcmp(weft_address_text(address_get(&t.known[0]), t.known[0].len,
	    text, sizeof text), path) == 0);
	path[108] = 'p';
	path[109] = 0;
	EQ(address_parse(&t, "unix", path, false), -ENAMETOOLONG);
}

/* ---- text ---- */

static bool
is_text(const void *a, socklen_t len, const char *expected)
{
	char text[WEFT_ADDRESS_TEXT];
	bool same;

	memset(text, 'x', sizeof text);
	same = weft_address_text(a, len, text, sizeof text) == text &&
	    strcmp(text, expected) == 0;
	if (!same)
		fprintf(stderr, "# \"%s\", not \"%s\"\n", text, expected);
	return same;
}

TEST(text_of_what_is_none)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr other = { .sa_family = AF_PACKET };

	OK(is_text(NULL, 0, ""));
	OK(is_text(&un, 0, ""));
	OK(is_text(&un, 1, ""));
	OK(is_text(&un, sizeof un.sun_family, ""));
	OK(is_text(&in, sizeof in - 1, ""));
	OK(is_text(&in, sizeof in, "0.0.0.0:0"));
	OK(is_text(&in6, sizeof in6 - 1, ""));
	OK(is_text(&in6, sizeof in6, "[::]:0"));
	OK(is_text(&other, sizeof other, ""));
}

TEST(text_of_paths)
{
	struct {
		struct sockaddr_un un;
		char beyond[32];
	} a = { .un = { .sun_family = AF_UNIX } };
	char all[sizeof a.un.sun_path + 1];
	socklen_t head = offsetof(struct sockaddr_un, sun_path);

	strcpy(a.un.sun_path, "path");
	OK(is_text(&a, head + 5, "path"));
	OK(is_text(&a, head + 4, "path"));
	OK(is_text(&a, head + 2, "pa"));
	OK(is_text(&a, sizeof a.un, "path"));
	memcpy(a.un.sun_path, "\0a\0b", 4);
	OK(is_text(&a, head + 4, "@a@b"));
	OK(is_text(&a, head + 2, "@a"));
	OK(is_text(&a, head + 1, "@"));
	/* The longest has no NUL, and nothing behind it is read. */
	memset(&a.un.sun_path, 'y', sizeof a.un.sun_path + sizeof a.beyond);
	memset(all, 'y', sizeof all);
	all[sizeof all - 1] = 0;
	OK(is_text(&a, sizeof a.un, all));
	OK(is_text(&a, sizeof a, all));
}

TEST(text_is_cut)
{
	struct target t;
	char text[32];

	EQ(address_parse(&t, "tcp", "127.0.0.1:8080", false), 0);
	for (size_t cap = 0; cap < sizeof text; cap++) {
		char expected[32] = "127.0.0.1:8080";

		memset(text, 'x', sizeof text);
		OK(weft_address_text(address_get(&t.known[0]), t.known[0].len,
		    text, cap) == text);
		for (size_t i = cap; i < sizeof text; i++)
			EQ(text[i], 'x');
		if (cap == 0)
			continue;
		if (cap <= strlen(expected))
			expected[cap - 1] = 0;
		OK(strcmp(text, expected) == 0);
	}
}

TEST(longest_text_fits)
{
	struct sockaddr_in6 a = {
		.sin6_family = AF_INET6, .sin6_port = 0xffff,
		.sin6_scope_id = UINT32_MAX
	};

	memset(&a.sin6_addr, 0xfe, sizeof a.sin6_addr);
	OK(is_text(&a, sizeof a, "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe"
	    "%4294967295]:65535"));
}

TEST(sameness)
{
	struct target a, b;

	EQ(address_parse(&a, "tcp", "127.0.0.1:80", false), 0);
	EQ(address_parse(&b, "tcp", "127.0.0.1:80", false), 0);
	OK(address_same(&a.known[0], &b.known[0]));
	address_set_port(&b.known[0], 81);
	EQ(address_port(address_get(&b.known[0])), 81);
	OK(!address_same(&a.known[0], &b.known[0]));
	EQ(address_parse(&b, "tcp", "127.0.0.2:80", false), 0);
	OK(!address_same(&a.known[0], &b.known[0]));
	EQ(address_parse(&b, "tcp", "[::1]:80", false), 0);
	OK(!address_same(&a.known[0], &b.known[0]));
	EQ(address_port(address_get(&b.known[0])), 80);
	EQ(address_parse(&b, "unix", "x", false), 0);
	EQ(address_port(address_get(&b.known[0])), -EAFNOSUPPORT);
}

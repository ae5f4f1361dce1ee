/* SPDX-License-Identifier: MIT */
/*
 * The parser alone: what is a head and what is none, the same wherever it is
 * cut; chunks; dates; paths.
 */
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static const struct http_limits normal = { 16384, 8192, HTTP_FIELDS };

/* A length, or -status, when it comes in one piece. */
static long
whole(const char *text, size_t n, struct http_request *r)
{
	struct http_head p = {0};

	return http_head_parse(&p, &normal, text, n, r);
}

/*
 * When it comes in two, at any place, and byte by byte, it is the same. The
 * bytes that did not come yet are not what they will be.
 */
static void
in_pieces(const char *text, size_t n, long expected)
{
	char *buf = malloc(n);
	struct http_request r;

	for (size_t cut = 0; cut <= n; cut++) {
		struct http_head p = {0};
		long got;

		memset(buf, '\n', n);
		memcpy(buf, text, cut);
		got = http_head_parse(&p, &normal, buf, cut, &r);
		memcpy(buf, text, n);
		if (got == 0)
			got = http_head_parse(&p, &normal, buf, n, &r);
		EQ(got, expected);
	}
	{
		struct http_head p = {0};
		long got = 0;

		memset(buf, '\n', n);
		for (size_t i = 0; i < n && got == 0; i++) {
			buf[i] = text[i];
			got = http_head_parse(&p, &normal, buf, i + 1, &r);
		}
		EQ(got, expected);
	}
	free(buf);
}

static void
gives(const char *text, long expected)
{
	struct http_request r;
	long got = whole(text, strlen(text), &r);

	if (got != expected) {
		fprintf(stderr, "# %ld, not %ld: %s\n", got, expected, text);
		t_fail(__FILE__, __LINE__, "the result");
	}
	in_pieces(text, strlen(text), expected);
}

/* Complete, with nothing behind it. */
static void
is_good(const char *text)
{
	gives(text, (long)strlen(text));
}

static bool
same(struct http_text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.at, s, t.len) == 0;
}

#define G "GET / HTTP/1.1\r\n"
#define H "Host: x\r\n"

TEST(a_request)
{
	static const char text[] = "POST /a/b%20c?x=1&y HTTP/1.1\r\n"
	    "Host: example.org:8080\r\nUser-Agent:\t me \t\r\n"
	    "Empty:\r\ncontent-LENGTH: 0012\r\nX: \xff\x80\r\n\r\nbody";
	struct http_request r;

	EQ(whole(text, sizeof text - 1, &r), sizeof text - 5);
	EQ(r.method, HTTP_POST);
	EQ(r.minor, 1);
	OK(r.keep_alive && !r.expects);
	EQ(r.length, 12);
	OK(same(r.method_name, "POST"));
	OK(same(r.target, "/a/b%20c?x=1&y"));
	OK(same(r.path, "/a/b%20c"));
	OK(same(r.query, "x=1&y"));
	OK(same(r.host, "example.org:8080"));
	EQ(r.n_fields, 5);
	OK(same(http_field(&r, "user-agent"), "me"));
	OK(same(http_field(&r, "EMPTY"), ""));
	OK(http_field(&r, "emptyy").at == NULL);
	OK(http_field(&r, "empt").at == NULL);
	in_pieces(text, sizeof text - 1, sizeof text - 5);
}

TEST(methods)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT",
		"DELETE", "PATCH", "OPTIONS" };
	struct http_request r;
	char text[64];

	for (int i = 0; i < HTTP_OTHER; i++) {
		snprintf(text, sizeof text, "%s / HTTP/1.1\r\n" H "\r\n",
		    names[i]);
		EQ(whole(text, strlen(text), &r), strlen(text));
		EQ(r.method, i);
	}
	gives("get / HTTP/1.1\r\n" H "\r\n", -501);
	gives("BREW / HTTP/1.1\r\n" H "\r\n", -501);
	gives("GETS / HTTP/1.1\r\n" H "\r\n", -501);
	gives("CONNECT x:80 HTTP/1.1\r\n" H "\r\n", -501);
	gives("GE(T / HTTP/1.1\r\n" H "\r\n", -400);
	gives(" / HTTP/1.1\r\n" H "\r\n", -400);
}

TEST(targets)
{
	struct http_request r;
	static const char full[] = "GET http://a.b:1/c?d HTTP/1.1\r\n" H
	    "\r\n";
	static const char bare[] = "GET HTTP://a HTTP/1.1\r\n" H "\r\n";
	static const char all[] = "OPTIONS * HTTP/1.1\r\n" H "\r\n";

	/* Its own host counts, not the header's. */
	EQ(whole(full, sizeof full - 1, &r), sizeof full - 1);
	OK(same(r.host, "a.b:1") && same(r.path, "/c") && same(r.query, "d"));
	EQ(whole(bare, sizeof bare - 1, &r), sizeof bare - 1);
	OK(same(r.host, "a") && same(r.path, "/") && same(r.query, ""));
	EQ(whole(all, sizeof all - 1, &r), sizeof all - 1);
	OK(same(r.path, "*"));
	is_good("GET http://a?b HTTP/1.1\r\n" H "\r\n");
	is_good("GET http://[::1]:8/ HTTP/1.1\r\n" H "\r\n");
	gives("GET http:///c HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET http://u@a/c HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET http://[::1/c HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET http://a:b/c HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET https://a/ HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET http:// HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET * HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET a HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET a:80 HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET /#x HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET /\x7f HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET /\t HTTP/1.1\r\n" H "\r\n", -400);
}

TEST(request_lines)
{
	gives("GET  / HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET /  HTTP/1.1\r\n" H "\r\n", -400);
	gives("GET / HTTP/1.1 \r\n" H "\r\n", -400);
	gives("GET /\r\n\r\n", -400);
	gives("GET\r\n\r\n", -400);
	gives("GET / \r\n\r\n", -400);
	gives("GET /  \r\n\r\n", -400);
	gives("GET / HTTP/1.1\n" H "\r\n", -400);
	gives("GET / HTTP/1.1\r" H "\r\n\r\n", -400);
	gives("GET / HTTP/2.0\r\n" H "\r\n", -505);
	gives("PRI * HTTP/2.0\r\n\r\n", -505);
	gives("GET / HTTP/0.9\r\n" H "\r\n", -505);
	gives("GET / HTTP/1.10\r\n" H "\r\n", -400);
	gives("GET / HTTP/11\r\n" H "\r\n", -400);
	gives("GET / http/1.1\r\n" H "\r\n", -400);
	gives("GET / HTTP/1.x\r\n" H "\r\n", -400);
	gives("GET / ICAP/1.1\r\n" H "\r\n", -400);
	is_good("GET / HTTP/1.9\r\n" H "\r\n");
	is_good("\r\n\r\n" G H "\r\n");
	gives("\n" G H "\r\n", -400);
	gives("\r" G H "\r\n", -400);
	gives("\x16\x03\x01\x02\r\n", -400);
	gives("", 0);
	gives("GET / HTTP/1.1", 0);
	gives(G H, 0);
	gives(G H "\r", 0);
}

TEST(header_lines)
{
	is_good(G H "a:b\r\n\r\n");
	is_good(G H "a:\r\n\r\n");
	is_good(G H "a: b: c\r\n\r\n");
	is_good(G H "a: b\tc\r\n\r\n");
	is_good(G H "!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n");
	gives(G H "a : b\r\n\r\n", -400);
	gives(G H "a\t: b\r\n\r\n", -400);
	gives(G H " a: b\r\n\r\n", -400);
	gives(G " a: b\r\n" H "\r\n", -400);
	gives(G H "a: b\r\n c\r\n\r\n", -400);
	gives(G H "a: b\r\n\tc\r\n\r\n", -400);
	gives(G H ": b\r\n\r\n", -400);
	gives(G H "a\r\n\r\n", -400);
	gives(G H "a b: c\r\n\r\n", -400);
	gives(G H "a(: c\r\n\r\n", -400);
	gives(G H "\xe4: c\r\n\r\n", -400);
	gives(G H "a: b\n\r\n", -400);
	gives(G H "a: b\r\n\n", -400);
	gives(G H "a: b\rc: d\r\n\r\n", -400);
	gives(G H "a: b\r\r\n\r\n", -400);
	gives(G H "a: 12345678\x01\r\n\r\n", -400);
	gives(G H "a: \x1f" "1234567\r\n\r\n", -400);
	gives(G H "a: 123456789\x7f\r\n\r\n", -400);
	gives(G H "\r\r\n", -400);
}

/* A NUL at each place of a line is refused. */
TEST(no_nul)
{
	static const char text[] = G H "abc: 0123456789abcdef\r\n\r\n";
	struct http_request r;
	char buf[sizeof text];

	EQ(whole(text, sizeof text - 1, &r), sizeof text - 1);
	for (size_t i = 0; i < sizeof text - 1; i++) {
		memcpy(buf, text, sizeof text);
		buf[i] = 0;
		OK(whole(buf, sizeof text - 1, &r) <= 0);
		if (i < sizeof text - 4)
			OK(whole(buf, sizeof text - 1, &r) < 0);
	}
}

/* Every byte in a value, alone and among eight: tabs and what is visible. */
TEST(values)
{
	struct http_request r;
	char text[64];

	for (int c = 0; c < 256; c++) {
		bool good = c == '\t' || (c >= 32 && c != 127);
		size_t n = strlen(G H "a: 1234567890");

		memcpy(text, G H "a: 1234567890\r\n\r\n", n + 5);
		for (size_t at = n - 10; at < n; at++) {
			char old = text[at];

			text[at] = (char)c;
			EQ(whole(text, n + 4, &r) > 0, good);
			text[at] = old;
		}
	}
}

TEST(hosts)
{
	gives(G "\r\n", -400);
	gives(G H H "\r\n", -400);
	is_good("GET / HTTP/1.0\r\n\r\n");
	is_good(G "Host:\r\n\r\n");
	is_good(G "Host: a.b-c_d~e:80\r\n\r\n");
	is_good(G "Host: [::1]:80\r\n\r\n");
	is_good(G "Host: 127.0.0.1:\r\n\r\n");
	gives(G "Host: a b\r\n\r\n", -400);
	gives(G "Host: a/b\r\n\r\n", -400);
	gives(G "Host: u@a\r\n\r\n", -400);
	gives(G "Host: a:b\r\n\r\n", -400);
	gives(G "Host: :80\r\n\r\n", -400);
	gives(G "Host: [::1\r\n\r\n", -400);
	gives(G "Host: []\r\n\r\n", -400);
	gives(G "Host: [::1]x\r\n\r\n", -400);
	gives(G "Host: a, b\r\n\r\n", -400);
	gives("GET http://a/ HTTP/1.1\r\n\r\n", -400);
}

#define CL "Content-Length: "
#define TE "Transfer-Encoding: "

TEST(where_it_ends)
{
	struct http_request r;
	static const char big[] = G H CL "900000000000000000\r\n\r\n";

	EQ(whole(big, sizeof big - 1, &r), sizeof big - 1);
	EQ(r.length, 900000000000000000);
	is_good(G H CL "0\r\n\r\n");
	gives(G H CL "\r\n\r\n", -400);
	gives(G H CL "-1\r\n\r\n", -400);
	gives(G H CL "+1\r\n\r\n", -400);
	gives(G H CL "1 2\r\n\r\n", -400);
	gives(G H CL "0x1\r\n\r\n", -400);
	gives(G H CL "1,1\r\n\r\n", -400);
	gives(G H CL "1, 1\r\n\r\n", -400);
	gives(G H CL "1\r\n" CL "1\r\n\r\n", -400);
	gives(G H CL "1\r\n" CL "2\r\n\r\n", -400);
	gives(G H CL "9223372036854775808\r\n\r\n", -400);
	gives(G H CL "18446744073709551616\r\n\r\n", -400);
	gives(G H CL "99999999999999999999999999\r\n\r\n", -400);
	is_good(G H TE "chunked\r\n\r\n");
	is_good(G H TE "CHUNKED\r\n\r\n");
	gives(G H CL "1\r\n" TE "chunked\r\n\r\n", -400);
	gives(G H TE "chunked\r\n" CL "1\r\n\r\n", -400);
	gives(G H TE "chunked\r\n" TE "chunked\r\n\r\n", -400);
	gives(G H TE "gzip\r\n" TE "chunked\r\n\r\n", -400);
	gives(G H TE "\r\n\r\n", -400);
	gives(G H TE "identity\r\n\r\n", -400);
	gives(G H TE "gzip\r\n\r\n", -400);
	gives(G H TE "xchunked\r\n\r\n", -400);
	gives(G H TE "chunkedx\r\n\r\n", -400);
	gives(G H TE "chunked, gzip\r\n\r\n", -400);
	gives(G H TE "chunked;q=1\r\n\r\n", -400);
	gives(G H TE "\vchunked\r\n\r\n", -400);
	gives(G H TE "gzip, chunked\r\n\r\n", -501);
	gives(G H TE "chunked, chunked\r\n\r\n", -501);
	gives("GET / HTTP/1.0\r\n" H TE "chunked\r\n\r\n", -400);
	gives(G H "Content-Length : 1\r\n\r\n", -400);
	gives(G H "Transfer-Encoding\t: chunked\r\n\r\n", -400);
}

static bool
keeps(const char *text)
{
	struct http_request r;

	EQ(whole(text, strlen(text), &r), strlen(text));
	return r.keep_alive;
}

TEST(connections)
{
#define G0 "GET / HTTP/1.0\r\n"
	OK(keeps(G H "\r\n"));
	OK(!keeps(G H "Connection: close\r\n\r\n"));
	OK(!keeps(G H "Connection: CLOSE\r\n\r\n"));
	OK(!keeps(G H "connection: x, close ,y\r\n\r\n"));
	OK(!keeps(G H "Connection: x\r\nConnection: close\r\n\r\n"));
	OK(keeps(G H "Connection: closed\r\n\r\n"));
	OK(keeps(G H "Connection:\r\n\r\n"));
	OK(keeps(G H "Connection: ,,\r\n\r\n"));
	OK(!keeps(G0 "\r\n"));
	OK(keeps(G0 "Connection: Keep-Alive\r\n\r\n"));
	OK(!keeps(G0 "Connection: keep-alive, close\r\n\r\n"));
}

TEST(expectations)
{
	static const char text[] = G H "Expect: 100-Continue\r\n\r\n";
	struct http_request r;

	EQ(whole(text, sizeof text - 1, &r), sizeof text - 1);
	OK(r.expects);
	gives(G H "Expect: more\r\n\r\n", -417);
	gives(G H "Expect: 100-continue, x\r\n\r\n", -417);
	is_good("GET / HTTP/1.0\r\nExpect: more\r\n\r\n");
}

/* ---- limits ------------------------------------------------------------ */

static long
limited(const struct http_limits *max, const char *text)
{
	struct http_head p = {0};
	struct http_request r;

	return http_head_parse(&p, max, text, strlen(text), &r);
}

TEST(limits)
{
	static const char text[] = "GET /567890 HTTP/1.1\r\nHost: x\r\n"
	    "a: b\r\n\r\n";
	long n = sizeof text - 1;
	struct http_limits max = { (size_t)n, 20, 2 };
	char cut[64];

	EQ(limited(&max, text), n);
	max.fields = 1;
	EQ(limited(&max, text), -431);
	max.fields = 2;
	max.head = (size_t)n - 1;
	EQ(limited(&max, text), -431);
	max.head = (size_t)n;
	max.line = 19;
	EQ(limited(&max, text), -414);
	/* Not before it must be; but then, without waiting for the line. */
	for (int i = 0; i <= 20; i++) {
		snprintf(cut, sizeof cut, "%.*s", i, text);
		EQ(limited(&max, cut), 0);
	}
	EQ(limited(&max, "GET /567890 HTTP/1.1x"), -414);
	max.line = 20;
	for (size_t i = 0; i < (size_t)n; i++) {
		snprintf(cut, sizeof cut, "%.*s", (int)i, text);
		EQ(limited(&max, cut), 0);
		max.head = i;
		EQ(limited(&max, cut), -431);
		max.head = (size_t)n;
	}
}

/* ---- chunks ------------------------------------------------------------ */

/*
 * All data of a body that comes in pieces of `step` bytes and is taken at most
 * `want` at a time; how many bytes it had, or -status, or 0: not complete.
 */
static long
unchunk(const char *text, size_t n, size_t step, size_t want, char *out)
{
	struct http_chunks c = {0};
	size_t at = 0, there = 0, data;
	ssize_t got;

	while (at < n && !http_chunks_ended(&c)) {
		there = there + step < n ? there + step : n;
		while (at < there && !http_chunks_ended(&c)) {
			got = http_chunks_take(&c, text + at, there - at, want,
			    &data);
			if (got < 0)
				return got;
			OK(data <= want && data <= (size_t)got);
			memcpy(out, text + at + got - data, data);
			out += data;
			at += (size_t)got;
		}
	}
	*out = 0;
	return http_chunks_ended(&c) ? (long)at : 0;
}

static void
chunks(const char *text, long expected, const char *data)
{
	size_t n = strlen(text);
	char out[256];

	for (size_t step = 1; step <= n; step++) {
		for (size_t want = 1; want < 20; want += 3) {
			long got = unchunk(text, n, step, want, out);

			if (got != expected)
				fprintf(stderr, "# %s\n", text);
			EQ(got, expected);
			if (expected >= 0)
				OK(strcmp(out, data) == 0);
		}
	}
}

TEST(good_chunks)
{
	chunks("0\r\n\r\n", 5, "");
	chunks("000\r\n\r\nGET", 7, "");
	chunks("3\r\nabc\r\n0\r\n\r\n", 13, "abc");
	chunks("a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n...", 26,
	    "0123456789x");
	chunks("A;b=c\r\n0123456789\r\n0;\"\t x\"\r\n\r\n", 30, "0123456789");
	chunks("3 ;x\r\nabc\r\n0\r\n\r\n", 16, "abc");
	chunks("3\r\n\r\n\r\r\n0\r\n\r\n", 13, "\r\n\r");
	chunks("1\r\na\r\n0\r\nX: y\r\nz:\r\n\r\n", 21, "a");
	chunks("1\r\na\r\n0\r\nX: y\r\n\r", 0, "a");
	chunks("5\r\nab", 0, "ab");
}

TEST(bad_chunks)
{
	chunks("\r\n", -400, "");
	chunks("g\r\n", -400, "");
	chunks("-1\r\n", -400, "");
	chunks("+1\r\na\r\n", -400, "");
	chunks("0x1\r\na\r\n", -400, "");
	chunks(" 1\r\na\r\n", -400, "");
	chunks("1 \r\na\r\n", -400, "");
	chunks("1\na\r\n", -400, "");
	chunks("1\r\na\n0\r\n\r\n", -400, "");
	chunks("1\r\nab\r\n", -400, "");
	chunks("1\r\na\rx", -400, "");
	chunks("1\rx", -400, "");
	chunks("1;a\nb\r\n", -400, "");
	chunks("1;a\x01\r\n", -400, "");
	chunks("1,2\r\n", -400, "");
	chunks("10000000000000000\r\n", -400, "");
	chunks("fffffffffffffffff\r\n", -400, "");
	chunks("0\r\n\n", -400, "");
	chunks("0\r\n x: y\r\n\r\n", -400, "");
	chunks("0\r\nGET / HTTP/1.1\r\n\r\n", -400, "");
	chunks("0\r\nx: \x02\r\n\r\n", -400, "");
	chunks("0\r\nx: y\n\r\n", -400, "");
	chunks("0\r\n\rx", -400, "");
}

TEST(long_lines_of_chunks)
{
	char text[8192], out[16];
	int n = snprintf(text, sizeof text, "1;%0240d\r\na\r\n0\r\n\r\n", 0);

	EQ(unchunk(text, (size_t)n, 7, 9, out), n);
	n = snprintf(text, sizeof text, "1;%0260d\r\na\r\n0\r\n\r\n", 0);
	EQ(unchunk(text, (size_t)n, 7, 9, out), -400);
	n = snprintf(text, sizeof text, "%0260d\r\n\r\n", 0);
	EQ(unchunk(text, (size_t)n, 7, 9, out), -400);
	n = snprintf(text, sizeof text, "0\r\nx: %04000d\r\n\r\n", 0);
	EQ(unchunk(text, (size_t)n, 7, 9, out), n);
	n = snprintf(text, sizeof text, "0\r\nx: %02000d\r\ny: %02100d\r\n\r\n",
	    0, 0);
	EQ(unchunk(text, (size_t)n, 7, 9, out), -431);
}

/* ---- paths and dates --------------------------------------------------- */

static struct http_text
text_of(const char *s)
{
	return (struct http_text){ s, strlen(s) };
}

TEST(decoding)
{
	char out[8];

	EQ(http_decode(text_of("/a%2Fb"), out, sizeof out), 4);
	OK(strcmp(out, "/a/b") == 0);
	EQ(http_decode(text_of("%e4%C3+"), out, sizeof out), 3);
	OK(strcmp(out, "\xe4\xc3+") == 0);
	EQ(http_decode(text_of("1234567"), out, sizeof out), 7);
	EQ(http_decode(text_of("12345678"), out, sizeof out), -ENAMETOOLONG);
	EQ(http_decode(text_of("1234567%38"), out, sizeof out), -ENAMETOOLONG);
	EQ(http_decode(text_of(""), out, sizeof out), 0);
	EQ(http_decode(text_of("a%00b"), out, sizeof out), -EINVAL);
	EQ(http_decode(text_of("%"), out, sizeof out), -EINVAL);
	EQ(http_decode(text_of("%4"), out, sizeof out), -EINVAL);
	EQ(http_decode(text_of("%4g"), out, sizeof out), -EINVAL);
	EQ(http_decode(text_of("%g4"), out, sizeof out), -EINVAL);
	EQ(http_decode(text_of("%%34"), out, sizeof out), -EINVAL);
	EQ(http_decode((struct http_text){ "a\0b", 3 }, out, sizeof out),
	    -EINVAL);
}

/* Against the C library's idea of them. */
TEST(dates)
{
	static const char good[] = "Sun, 06 Nov 1994 08:49:37 GMT";
	char out[HTTP_DATE], libc[64];
	struct tm tm;

	EQ(http_date_parse(text_of(good)), 784111777);
	for (int64_t s = 0; s < INT64_C(253402300799);
	    s += t_scale(1) * 123456789 / 7) {
		time_t t = s;

		gmtime_r(&t, &tm);
		strftime(libc, sizeof libc, "%a, %d %b %Y %H:%M:%S GMT", &tm);
		http_date(s, out);
		OK(memcmp(out, libc, HTTP_DATE) == 0);
		EQ(http_date_parse((struct http_text){ out, HTTP_DATE }), s);
	}
	for (size_t i = 0; i < HTTP_DATE; i++) {
		memcpy(libc, good, sizeof good);
		libc[i] = '~';
		EQ(http_date_parse(text_of(libc)), -1);
	}
	EQ(http_date_parse(text_of("Mon, 06 Nov 1994 08:49:37 GMT")), -1);
	EQ(http_date_parse(text_of("Wed, 31 Feb 2024 00:00:00 GMT")), -1);
	EQ(http_date_parse(text_of("Sun, 06 Nov 1994 08:49:60 GMT")), -1);
	EQ(http_date_parse(text_of("")), -1);
}

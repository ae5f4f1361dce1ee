/* SPDX-License-Identifier: MIT */
/*
 * Requests with random changes, always the same ones. The parser must say the
 * same of each, in one piece and in pieces, and point nowhere but into it; a
 * server that has heard thousands of them must still answer.
 */
#include "loopback.h"

#include "parse.h"

static const char *const seeds[] = {
	GET_HELLO,
	"POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello",
	"POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
	    "5\r\nhello\r\n1;x\r\n!\r\n0\r\nA: b\r\n\r\n",
	"GET http://a:80/b?c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	"PUT /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
	    "Content-Length: 2\r\n\r\nab",
	"OPTIONS * HTTP/1.1\r\n" H "Connection: a, close\r\nRange: bytes=0-"
	    "\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
	"HEAD /count?12 HTTP/1.1\r\n" H "\r\nGET /%2e%2e/x HTTP/1.1\r\n" H
	    "\r\n"
};

/* What parsers like to get wrong. */
static const char *const pieces[] = {
	"\r\n", "\n", "\r", "\r\n\r\n", " ", "\t", ":", ": ", ";", ",", "0",
	"\r\nContent-Length: 3\r\n", "\r\nTransfer-Encoding: chunked\r\n",
	"\r\nHost: y\r\n", "HTTP/1.1", "GET / ", "%00", "../", "ffffffff",
	"18446744073709551617", "\x7f", "\x80", "\r\n 1"
};

static uint64_t state;

/* The next random number below n. */
static size_t
roll(size_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)((state >> 33) % n);
}

static size_t
insert(char *text, size_t n, size_t cap, const char *what, size_t len)
{
	size_t at = roll(n + 1);

	if (n + len > cap)
		return n;
	memmove(text + at + len, text + at, n - at);
	memmove(text + at, what, len);	/* it may be a part of text */
	return n + len;
}

static size_t
cut(char *text, size_t n)
{
	size_t at = roll(n), len = 1 + roll(8);

	len = len < n - at ? len : n - at;
	memmove(text + at, text + at + len, n - at - len);
	return n - len;
}

static size_t
mutate(char *text, size_t n, size_t cap)
{
	const char *p;

	switch (n > 0 ? roll(6) : 5) {
	case 0:
		text[roll(n)] = (char)roll(256);
		return n;
	case 1:
		text[roll(n)] ^= (char)(1 << roll(8));
		return n;
	case 2:
		return cut(text, n);
	case 3:
		p = seeds[roll(sizeof seeds / sizeof seeds[0])];
		return insert(text, n, cap, p, roll(strlen(p) + 1));
	case 4:
		return insert(text, n, cap, text, roll(n + 1));
	}
	p = pieces[roll(sizeof pieces / sizeof pieces[0])];
	return insert(text, n, cap, p, strlen(p));
}

static size_t
make(char *text, size_t cap)
{
	const char *seed = seeds[roll(sizeof seeds / sizeof seeds[0])];
	size_t n = strlen(seed);

	memcpy(text, seed, n);
	for (size_t i = 1 + roll(5); i > 0; i--)
		n = mutate(text, n, cap);
	return n;
}

/* ---- the parser -------------------------------------------------------- */

static const struct http_limits limits = { 600, 100, 8 };

static bool
lies_in(struct http_text t, const char *text, size_t n)
{
	return t.len == 0 || (t.at >= text && t.at + t.len <= text + n) ||
	    (t.len == 1 && (*t.at == '/' || *t.at == '*'));
}

static void
check_texts(const struct http_request *r, const char *text, size_t n)
{
	OK(r->n_fields <= limits.fields);
	OK(lies_in(r->target, text, n) && lies_in(r->path, text, n) &&
	    lies_in(r->query, text, n) && lies_in(r->host, text, n));
	for (unsigned i = 0; i < r->n_fields; i++)
		OK(lies_in(r->fields[i].name, text, n) &&
		    lies_in(r->fields[i].value, text, n));
}

static bool
is_status(long n)
{
	return n == -400 || n == -414 || n == -417 || n == -431 ||
	    n == -501 || n == -505;
}

static long
in_pieces(const char *text, size_t n)
{
	struct http_request r;
	struct http_head p = {0};
	long got = 0;

	for (size_t len = 0; got == 0 && len < n;) {
		len += 1 + roll(9);
		len = len < n ? len : n;
		got = http_head_parse(&p, &limits, text, len, &r);
	}
	return got;
}

/* Both must consume the same, and never more than there is. */
static void
check_chunks(const char *text, size_t n)
{
	struct http_chunks a = {0}, b = {0};
	size_t i = 0, j = 0, data;
	ssize_t x = 0, y = 0;

	while (i < n && !http_chunks_ended(&a) && x >= 0) {
		x = http_chunks_take(&a, text + i, n - i, n, &data);
		i += x > 0 ? (size_t)x : 0;
		OK(i <= n && (x < 0 || data <= (size_t)x));
	}
	while (j < n && !http_chunks_ended(&b) && y >= 0) {
		y = http_chunks_take(&b, text + j, 1, 1, &data);
		j += y > 0 ? (size_t)y : 0;
	}
	EQ(x < 0, y < 0);
	EQ(http_chunks_ended(&a), http_chunks_ended(&b));
	if (x >= 0)
		EQ(i, j);
}

static void
check_one(const char *made, size_t n)
{
	char *text = malloc(n ? n : 1);		/* a sanitizer sees its end */
	struct http_request r;
	struct http_head p = {0};
	long got;

	memcpy(text, made, n);
	got = http_head_parse(&p, &limits, text, n, &r);
	OK(got >= 0 ? got <= (long)n : is_status(got));
	if (got > 0) {
		check_texts(&r, text, n);
		check_chunks(text + got, n - (size_t)got);
	}
	EQ(in_pieces(text, n), got);
	free(text);
}

TEST(parsed)
{
	char made[1024];

	state = 1;
	for (long i = t_scale(300000); i > 0; i--)
		check_one(made, make(made, sizeof made));
}

TEST(chunks)
{
	char made[1024];

	state = 2;
	for (long i = t_scale(300000); i > 0; i--) {
		size_t n = make(made, sizeof made), at = n ? roll(n) : 0;

		check_chunks(made + at, n - at);
	}
}

/* ---- the server -------------------------------------------------------- */

static void
send_some(weft_waitgroup *wg)
{
	char made[1024], heard[8192];

	for (long i = t_scale(1500); i > 0; i--) {
		size_t n = make(made, sizeof made);
		int fd = dial();

		weft_write_full(fd, made, n, NULL);
		weft_shutdown(fd, SHUT_WR);
		while (weft_read(fd, heard, sizeof heard) > 0)
			;
		weft_close(fd);
	}
	weft_waitgroup_done(wg);
}

BOTH_WAYS(served, 2)
{
	weft_waitgroup wg = {0};

	state = 3;
	start((struct http_options){ .max_head = 600, .max_line = 100,
	    .max_fields = 8, .arg = (void *)(uintptr_t)"tests/http" });
	weft_waitgroup_add(&wg, 1);
	send_some(&wg);
	weft_waitgroup_wait(&wg);
	answers("GET /hello HTTP/1.1\r\n" H "\r\n", HELLO);
	stop();
}

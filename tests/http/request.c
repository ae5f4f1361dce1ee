/* SPDX-License-Identifier: MIT */
/*
 * A server over sockets, byte by byte: what is answered, what is refused, and
 * when the connection ends. Everything with connections that keep their
 * goroutine while they are idle, and with such that do not.
 */
#include "loopback.h"

#define ERROR(line, length, text) "HTTP/1.1 " line "\r\n" \
	"Content-Type: text/plain\r\nContent-Length: " length "\r\n" \
	"Connection: close\r\n\r\n" text "\n"
#define BAD ERROR("400 Bad Request", "16", "400 Bad Request")
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define ECHO "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"

BOTH_WAYS(one_after_the_other, 2)
{
	char body[100];
	weft_reader r;
	int fd;

	start((struct http_options){0});
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	for (int i = 0; i < 100; i++) {
		say(fd, GET_HELLO);
		EQ(hear(&r, body, sizeof body), 200);
		OK(strcmp(body, "Hello, world!\n") == 0);
	}
	weft_reader_free(&r);
	weft_close(fd);
	stop();
}

/* n requests at once, more than a buffer holds; then all answers. */
static char *
repeated(const char *text, int n)
{
	size_t len = strlen(text);
	char *all = malloc(len * (size_t)n + 1);

	for (int i = 0; i < n; i++)
		memcpy(all + len * (size_t)i, text, len + 1);
	return all;
}

BOTH_WAYS(at_once, 2)
{
	start((struct http_options){0});
	for (int n = 1; n <= 1000; n *= 10) {
		char *requests = repeated(GET_HELLO, n);
		char *expected = repeated(HELLO, n);

		answers(requests, expected);
		free(requests);
		free(expected);
	}
	stop();
}

/* Of all kinds, in one stream that is cut at every byte. */
static const char mixed[] =
    GET_HELLO
    "POST /echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"
    "HEAD /hello HTTP/1.1\r\n" H "\r\n"
    "\r\nPOST /echo HTTP/1.1\r\n" H CHUNKED "\r\n"
    "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n"
    "POST /hello HTTP/1.1\r\n" H "Content-Length: 4\r\n\r\ndrop"
    "GET /count?2 HTTP/1.1\r\n" H "Connection: close\r\n\r\n";
static const char mixed_answers[] =
    HELLO
    ECHO "Content-Length: 3\r\n\r\nabc"
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n"
    "\r\n"
    ECHO CHUNKED "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    HELLO
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" CHUNKED
    "Connection: close\r\n\r\n2\r\n1\n\r\n2\r\n2\n\r\n0\r\n\r\n";

BOTH_WAYS(of_all_kinds, 2)
{
	start((struct http_options){0});
	answers(mixed, mixed_answers);
	stop();
}

/* The chunks of an echo are as they came, so they differ with the cuts. */
static char *
echoed(char *text)
{
	char *p = strstr(text, ECHO CHUNKED), *to, *end;

	if (!p)
		return text;
	p = to = strstr(p, "\r\n\r\n") + 4;
	while (*p != '0' && (end = strstr(p, "\r\n"))) {
		size_t n = (size_t)strtol(p, NULL, 16);

		memmove(to, end + 2, n);
		to += n;
		p = end + 2 + n + 2;
	}
	memmove(to, p, strlen(p) + 1);
	return text;
}

/*
 * What was sent is acknowledged before the rest is, so mostly the server reads
 * the parts one by one, and if it does not nothing is wrong.
 */
static void
cut_at(size_t at)
{
	char *expected = strdup(mixed_answers), *got;
	int fd = dial();

	weft_write_full(fd, mixed, at, NULL);
	for (int i = 0; i < 5; i++)
		weft_yield();
	weft_write_full(fd, mixed + at, sizeof mixed - 1 - at, NULL);
	got = echoed(without_dates(hear_all(fd, NULL)));
	if (strcmp(got, echoed(expected)) != 0) {
		fprintf(stderr, "# cut at %zu: %s\n", at, got);
		t_fail(__FILE__, __LINE__, "the answers");
	}
	free(expected);
	free(got);
	weft_close(fd);
}

BOTH_WAYS(cut_anywhere, 2)
{
	size_t step = (size_t)(2 / t_scale(2));

	start((struct http_options){0});
	for (size_t i = 0; i < sizeof mixed; i += step)
		cut_at(i);
	stop();
}

BOTH_WAYS(byte_by_byte, 1)
{
	char *expected = strdup(mixed_answers), *got;
	int fd;

	start((struct http_options){0});
	fd = dial();
	for (size_t i = 0; i < sizeof mixed - 1; i++) {
		EQ(weft_write(fd, mixed + i, 1), 1);
		weft_yield();
	}
	got = echoed(without_dates(hear_all(fd, NULL)));
	OK(strcmp(got, echoed(expected)) == 0);
	free(got);
	free(expected);
	weft_close(fd);
	stop();
}

GTEST(refused, 2)
{
	char *long_line = repeated("x", 9000), *many = repeated("a: b\r\n", 64);
	char *long_field = repeated("y", 17000), text[20000];

	start((struct http_options){ .max_body = 10 });
	answers("nonsense\r\n\r\n", BAD);
	answers("GET / HTTP/1.1\r\n\r\n", BAD);
	answers("GET / HTTP/1.1\nHost: x\n\n", BAD);
	answers("POST / HTTP/1.1\r\n" H "Content-Length: 1\r\n" CHUNKED
	    "\r\nx", BAD);
	answers("GET / HTTP/3.0\r\n\r\n", ERROR("505 HTTP Version Not "
	    "Supported", "31", "505 HTTP Version Not Supported"));
	answers("BREW / HTTP/1.1\r\n" H "\r\n", ERROR("501 Not Implemented",
	    "20", "501 Not Implemented"));
	answers("GET / HTTP/1.1\r\n" H "Expect: tea\r\n\r\n",
	    ERROR("417 Expectation Failed", "23", "417 Expectation Failed"));
	answers("PUT /echo HTTP/1.1\r\n" H "Content-Length: 11\r\n\r\n"
	    "01234567890", ERROR("413 Content Too Large", "22",
	    "413 Content Too Large"));
	answers("PUT /echo HTTP/1.1\r\n" H CHUNKED "\r\nb\r\n01234567890\r\n"
	    "0\r\n\r\n", ERROR("413 Content Too Large", "22",
	    "413 Content Too Large"));
	answers("PUT /echo HTTP/1.1\r\n" H CHUNKED "\r\nx\r\n", BAD);
	snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\n" H "\r\n",
	    long_line);
	answers(text, ERROR("414 URI Too Long", "17", "414 URI Too Long"));
	snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" H "%s\r\n", many);
	answers(text, ERROR("431 Request Header Fields Too Large", "36",
	    "431 Request Header Fields Too Large"));
	snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" H "x: %s\r\n\r\n",
	    long_field);
	answers(text, ERROR("431 Request Header Fields Too Large", "36",
	    "431 Request Header Fields Too Large"));
	free(long_line);
	free(long_field);
	free(many);
	stop();
}

/* What came before it is answered, what comes after it is not. */
GTEST(refused_in_between, 2)
{
	start((struct http_options){0});
	answers(GET_HELLO "GET / HTTP/1.1\r\n\r\n" GET_HELLO, HELLO BAD);
	stop();
}

/* As long as may be, and at the end of a full buffer. */
BOTH_WAYS(long_heads, 2)
{
	char *long_field = repeated("z", 15000), *some = repeated(GET_HELLO,
	    120), *hellos = repeated(HELLO, 121);
	char text[40000];

	start((struct http_options){0});
	snprintf(text, sizeof text, "%sGET /hello HTTP/1.1\r\n" H
	    "x: %s\r\n\r\n", some, long_field);
	answers(text, hellos);
	free(long_field);
	free(some);
	free(hellos);
	stop();
}

BOTH_WAYS(old_versions, 1)
{
	start((struct http_options){0});
	answers("GET /hello HTTP/1.0\r\n\r\n" GET_HELLO,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 14\r\nConnection: close\r\n\r\nHello, world!\n");
	answers("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	    GET_HELLO, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 14\r\nConnection: keep-alive\r\n\r\n"
	    "Hello, world!\n" HELLO);
	/* No chunks: the end of the connection is the body's. */
	answers("GET /count?3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Connection: close\r\n\r\n1\n2\n3\n");
	stop();
}

/* ---- "100 Continue" ---------------------------------------------------- */

BOTH_WAYS(asked_before, 2)
{
	char *line, body[100];
	weft_reader r;
	int fd;

	start((struct http_options){ .max_body = 100 });
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	for (int i = 0; i < 3; i++) {
		say(fd, "PUT /echo HTTP/1.1\r\n" H "Content-Length: 4\r\n"
		    "Expect: 100-continue\r\n\r\n");
		EQ(weft_reader_line(&r, &line), 23);
		OK(memcmp(line, "HTTP/1.1 100 Continue\r\n", 23) == 0);
		EQ(weft_reader_line(&r, &line), 2);
		say(fd, "body");
		EQ(hear(&r, body, sizeof body), 200);
		OK(strcmp(body, "body") == 0);
	}
	weft_close(fd);
	weft_reader_free(&r);
	/* No handler reads it: whether it will be sent is not known. */
	answers("PUT /hello HTTP/1.1\r\n" H "Content-Length: 4\r\n"
	    "Expect: 100-continue\r\n\r\n" GET_HELLO,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 14\r\nConnection: close\r\n\r\nHello, world!\n");
	answers("PUT /echo HTTP/1.1\r\n" H "Content-Length: 101\r\n"
	    "Expect: 100-continue\r\n\r\n", ERROR("413 Content Too Large",
	    "22", "413 Content Too Large"));
	/* With nothing to send there is nothing to ask. */
	answers("PUT /hello HTTP/1.1\r\n" H "Content-Length: 0\r\n"
	    "Expect: 100-continue\r\n\r\n", HELLO);
	stop();
}

/* ---- bodies ------------------------------------------------------------ */

enum { LARGE = 3000000 };

static void
sender(int fd, const char *data, weft_waitgroup *wg)
{
	weft_write_full(fd, data, LARGE, NULL);
	weft_waitgroup_done(wg);
}

/* There and back at the same time, with a length. */
BOTH_WAYS(large_echo, 2)
{
	char *data = malloc(LARGE), *got, *body, head[200];
	weft_waitgroup wg = {0};
	size_t len;
	int fd;

	for (size_t i = 0; i < LARGE; i++)
		data[i] = (char)('a' + i * i % 23);
	start((struct http_options){0});
	fd = dial();
	snprintf(head, sizeof head, "PUT /echo HTTP/1.1\r\n" H
	    "Content-Length: %d\r\nConnection: close\r\n\r\n", LARGE);
	say(fd, head);
	weft_waitgroup_add(&wg, 1);
	weft_go(sender, fd, data, &wg);
	got = hear_all(fd, &len);
	weft_waitgroup_wait(&wg);
	body = strstr(got, "\r\n\r\n");
	OK(body && len - (size_t)(body + 4 - got) == LARGE &&
	    memcmp(body + 4, data, LARGE) == 0);
	free(got);
	free(data);
	weft_close(fd);
	stop();
}

/* Chunks of growing sizes, from one byte on. */
static char *
chunked(char *to, const char *data, size_t len)
{
	for (size_t n = 1; len > 0; n += n / 2 + 1) {
		size_t piece = n < len ? n : len;

		to += sprintf(to, "%zx\r\n", piece);
		memcpy(to, data, piece);
		memcpy(to + piece, "\r\n", 2);
		to += piece + 2;
		data += piece;
		len -= piece;
	}
	return to + sprintf(to, "0\r\n\r\n");
}

static void
read_all(struct http *h, const struct http_request *r, void *arg)
{
	char *data = arg, buf[777];
	size_t n = 0;
	ssize_t got;

	(void)r;
	while ((got = http_read(h, buf, sizeof buf)) > 0) {
		if (n + (size_t)got > LARGE || memcmp(data + n, buf,
		    (size_t)got) != 0)
			break;
		n += (size_t)got;
	}
	http_reply(h, got == 0 && n == LARGE ? 200 : 500, "text/plain", "", 0);
}

BOTH_WAYS(large_chunks, 2)
{
	char *data = malloc(LARGE), *text = malloc(2 * LARGE), *to;
	weft_reader r;
	int fd;

	for (size_t i = 0; i < LARGE; i++)
		data[i] = (char)('a' + i * i % 23);
	start((struct http_options){ .handler = read_all, .arg = data });
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	for (int i = 0; i < 2; i++) {
		to = text + sprintf(text, "PUT / HTTP/1.1\r\n" H CHUNKED
		    "\r\n");
		to = chunked(to, data, LARGE);
		EQ(weft_write_full(fd, text, (size_t)(to - text), NULL),
		    to - text);
		EQ(hear(&r, text, 100), 200);
	}
	weft_close(fd);
	weft_reader_free(&r);
	free(text);
	free(data);
	stop();
}

/*
 * A large body that is not read: the answer arrives although the client is
 * still sending, and the connection ends.
 */
BOTH_WAYS(large_unwanted, 2)
{
	char *data = calloc(1, LARGE), head[200], *got;
	int fd;

	start((struct http_options){0});
	fd = dial();
	snprintf(head, sizeof head, "PUT /hello HTTP/1.1\r\n" H
	    "Content-Length: %d\r\n\r\n", LARGE);
	say(fd, head);
	weft_write_full(fd, data, LARGE / 10, NULL);
	got = without_dates(hear_all(fd, NULL));
	OK(strstr(got, "Connection: close\r\n\r\nHello, world!\n"));
	free(got);
	free(data);
	weft_close(fd);
	stop();
}

/* The client goes away in the middle of a body: no answer, no crash. */
GTEST(cut_off, 2)
{
	start((struct http_options){0});
	answers("PUT /echo HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\n",
	    ERROR("500 Internal Server Error", "26",
	    "500 Internal Server Error"));
	stop();
}

/* ---- handlers ---------------------------------------------------------- */

static void
odd(struct http *h, const struct http_request *r, void *arg)
{
	(void)arg;
	switch (r->query.len > 0 ? r->query.at[0] : 0) {
	case 'a':		/* nothing */
		return;
	case 'b':		/* a head alone */
		http_begin(h, 299);
		EQ(http_begin(h, 200), -EALREADY);
		EQ(http_header(h, "A", "b\r\nC: d"), -EINVAL);
		EQ(http_header(h, "A: b", "c"), -EINVAL);
		EQ(http_header(h, "", "c"), -EINVAL);
		EQ(http_header(h, "A", "b"), 0);
		EQ(http_write(h, "x", 1), -EINVAL);
		return;
	case 'c':		/* less than it said */
		http_begin(h, 200);
		EQ(http_body(h, 10), 0);
		EQ(http_write(h, "12345", 5), 0);
		return;
	case 'd':		/* more */
		http_begin(h, 200);
		http_body(h, 4);
		EQ(http_write(h, "1234", 4), 0);
		EQ(http_write(h, "5", 1), -EMSGSIZE);
		EQ(http_write(h, "", 0), -EMSGSIZE);
		return;
	case 'e':		/* no body at all */
		http_reply(h, 204, "text/plain", "", 0);
		EQ(http_error(h, 500), -EALREADY);
		return;
	case 'f':		/* no status */
		EQ(http_begin(h, 100), -EINVAL);
		EQ(http_begin(h, 1000), -EINVAL);
		EQ(http_reply(h, 0, "", "", 0), -EINVAL);
		EQ(http_header(h, "A", "b"), -EINVAL);
		EQ(http_body(h, 1), -EINVAL);
		EQ(http_error(h, 418), 0);
	}
}

GTEST(odd_handlers, 2)
{
#define ODD(x) "GET /?" x " HTTP/1.1\r\n" H "\r\n"
	start((struct http_options){ .handler = odd });
	answers(ODD("a"), "HTTP/1.1 500 Internal Server Error\r\n"
	    "Content-Type: text/plain\r\nContent-Length: 26\r\n\r\n"
	    "500 Internal Server Error\n");
	answers(ODD("b"), "HTTP/1.1 299 \r\nA: b\r\nContent-Length: 0\r\n\r\n");
	answers(ODD("c") ODD("b"), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"
	    "\r\n12345");
	answers(ODD("d") ODD("b"), "");
	answers(ODD("e") ODD("e"), "HTTP/1.1 204 No Content\r\nContent-Type: "
	    "text/plain\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Type: "
	    "text/plain\r\n\r\n");
	answers(ODD("f"), "HTTP/1.1 418 \r\nContent-Type: text/plain\r\n"
	    "Content-Length: 4\r\n\r\n418\n");
	stop();
}

/* ---- the end ----------------------------------------------------------- */

/* Idle ones do not hold it up, whatever they have been through. */
BOTH_WAYS(stops_with_idle, 2)
{
	int fd[20];
	char body[100], c;
	weft_reader r[20];

	start((struct http_options){ .linger = parking ? 0 :
	    3600 * WEFT_SECOND });
	for (int i = 0; i < 20; i++) {
		fd[i] = dial();
		r[i] = (weft_reader)WEFT_READER(fd[i]);
		if (i % 2) {
			say(fd[i], GET_HELLO);
			EQ(hear(&r[i], body, sizeof body), 200);
		}
	}
	stop();
	for (int i = 0; i < 20; i++) {
		OK(weft_read(fd[i], &c, 1) <= 0);
		weft_reader_free(&r[i]);
		weft_close(fd[i]);
	}
}

/* ... nor do those that become idle at that moment. */
BOTH_WAYS(stops_in_between, 4)
{
	char body[100];
	int fd[4];

	for (long i = t_scale(200); i > 0; i--) {
		start((struct http_options){ .linger = parking ? 0 :
		    3600 * WEFT_SECOND });
		for (int k = 0; k < 4; k++) {
			fd[k] = dial();
			say(fd[k], GET_HELLO);
		}
		for (int k = 0; k < 4; k++) {
			weft_reader r = WEFT_READER(fd[k]);

			EQ(hear(&r, body, sizeof body), 200);
			weft_reader_free(&r);
		}
		stop();
		for (int k = 0; k < 4; k++)
			weft_close(fd[k]);
	}
}

static void
stopper(int64_t when, weft_chan *done)
{
	weft_send(done, http_server_stop(server, when));
}

/* A request that has begun is answered; the answer says that it is the last. */
BOTH_WAYS(stops_when_answered, 2)
{
	weft_chan *done = weft_chan_make(sizeof(int), 1);
	char *line, *got;
	weft_reader r;
	int fd, other;

	start((struct http_options){0});
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	say(fd, "PUT /echo HTTP/1.1\r\n" H "Content-Length: 4\r\n"
	    "Expect: 100-continue\r\n\r\n");
	EQ(weft_reader_line(&r, &line), 23);	/* it has begun */
	EQ(weft_reader_line(&r, &line), 2);
	weft_go(stopper, weft_deadline(20 * WEFT_SECOND), done);
	while ((other = weft_dial("tcp", address)) >= 0)
		weft_close(other);		/* until it is refused */
	EQ(weft_chan_try_recv(done, NULL), false);
	say(fd, "body");
	got = without_dates(hear_all(fd, NULL));
	OK(strcmp(got, ECHO "Content-Length: 4\r\nConnection: close\r\n\r\n"
	    "body") == 0);
	EQ(weft_recv(done, int), 0);
	weft_chan_release(done);
	weft_reader_free(&r);
	weft_close(fd);
	free(got);
}

/* A request that does not come to an end is cut off. */
BOTH_WAYS(stops_at_last, 2)
{
	char *line;
	weft_reader r;
	int fd;

	start((struct http_options){0});
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	say(fd, "PUT /echo HTTP/1.1\r\n" H "Content-Length: 4\r\n"
	    "Expect: 100-continue\r\n\r\n");
	EQ(weft_reader_line(&r, &line), 23);
	EQ(http_server_stop(server, weft_deadline(50 * WEFT_MS)), -ETIMEDOUT);
	weft_reader_free(&r);
	weft_close(fd);
}

/* ---- many -------------------------------------------------------------- */

static void
client(int requests, weft_waitgroup *wg)
{
	int fd = dial();
	weft_reader r = WEFT_READER(fd);
	char body[100];

	for (int i = 0; i < requests; i++) {
		say(fd, i % 3 ? GET_HELLO : "POST /echo HTTP/1.1\r\n" H
		    "Content-Length: 5\r\n\r\nhello");
		EQ(hear(&r, body, sizeof body), 200);
		OK(strcmp(body, i % 3 ? "Hello, world!\n" : "hello") == 0);
	}
	weft_reader_free(&r);
	weft_close(fd);
	weft_waitgroup_done(wg);
}

BOTH_WAYS(many_clients, 4)
{
	weft_waitgroup wg = {0};
	int n = 100;

	start((struct http_options){0});
	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		weft_go(client, (int)t_scale(50), &wg);
	weft_waitgroup_wait(&wg);
	stop();
}

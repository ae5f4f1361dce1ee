/* SPDX-License-Identifier: MIT */
/* A server on loopback in this process, and a client that sends any bytes. */
#ifndef ASKING_H
#define ASKING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

#include "http.h"
#include "site.h"
#include "t.h"

static char address[WEFT_ADDRESS_TEXT];
static struct http_server *server;
/* Of all servers started from now on: idle connections have no goroutine. */
static bool parking;

/* Skips where that command fails, which says whether there is a tool. */
static inline void
need_tool(const char *command, const char *otherwise)
{
	if (t_emulated())
		t_skip("not under an emulator");
	if (system(command) != 0)
		t_skip(otherwise);
}

static void
start(struct http_options o)
{
	int fd = weft_listen("tcp", "127.0.0.1:0");

	OK(fd >= 0);
	if (!o.handler)
		o.handler = site;
	if (!o.linger && !parking)
		o.linger = WEFT_SECOND;
	server = http_server_start(fd, &o);
	OK(server);
	weft_local_address(fd, address, sizeof address);
}

static void
stop(void)
{
	EQ(http_server_stop(server, weft_deadline(20 * WEFT_SECOND)), 0);
}

/* The same, twice. */
#define BOTH_WAYS(name, procs)						\
	static void name(void);						\
	GTEST(name##_lingering, procs) { name(); }			\
	GTEST(name##_parking, procs) { parking = true; name(); }	\
	static void name(void)

static inline int
dial(void)
{
	int fd = weft_dial("tcp", address);

	OK(fd >= 0);
	weft_set_deadline(fd, weft_deadline(30 * WEFT_SECOND));
	return fd;
}

static inline void
say(int fd, const char *text)
{
	EQ(weft_write_full(fd, text, strlen(text), NULL), strlen(text));
}

/*
 * Everything until the server closes, and without a reset (unless may_reset
 * is set, or may_be_late and it closes without a word: what we have said came
 * too late); to be freed.
 */
static bool may_reset, may_be_late;

static inline char *
hear_all(int fd, size_t *len)
{
	size_t n = 0, cap = 65536;
	char *all = malloc(cap);
	ssize_t got;

	while ((got = weft_read(fd, all + n, cap - n - 1)) > 0) {
		n += (size_t)got;
		if (n + 1 == cap)
			all = realloc(all, cap *= 2);
	}
	OK(got == 0 || (got == -ECONNRESET &&
	    (may_reset || (may_be_late && n == 0))));
	all[n] = 0;
	if (len)
		*len = n;
	return all;
}

/* Removes the lines that differ from one second to the next. */
static inline char *
without_dates(char *text)
{
	char *p = text, *end;

	while ((p = strstr(p, "Date: ")) && (end = strstr(p, "\r\n")))
		memmove(p, end + 2, strlen(end + 2) + 1);
	return text;
}

/* Sends text, says that it is all, and hears the answer; to be freed. */
static inline char *
ask(const char *text)
{
	int fd = dial();
	char *all;

	say(fd, text);
	weft_shutdown(fd, SHUT_WR);
	all = without_dates(hear_all(fd, NULL));
	weft_close(fd);
	return all;
}

/* The same, and compares. */
static inline void
answers(const char *text, const char *expected)
{
	char *got = ask(text);

	if (strcmp(got, expected) != 0) {
		fprintf(stderr, "# asked: %s\n# got: %s\n# not: %s\n", text,
		    got, expected);
		t_fail(__FILE__, __LINE__, "the answer");
	}
	free(got);
}

static inline int
status_of(const char *answer)
{
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

/* One answer with a length, from a connection that goes on: its status; the
 * body, NUL-terminated, if there is room for it. */
static inline int
hear(weft_reader *r, char *body, size_t cap)
{
	size_t length = 0;
	char *line;
	ssize_t n = weft_reader_line(r, &line);
	int status = n > 12 ? status_of(line) : 0;

	while ((n = weft_reader_line(r, &line)) > 2)
		if (n > 16 && memcmp(line, "Content-Length: ", 16) == 0)
			length = (size_t)atol(line + 16);
	if (n < 0 || length >= cap)
		return -1;
	EQ(weft_reader_read_full(r, body, length, NULL), length);
	body[length] = 0;
	return status;
}

#define H "Host: x\r\n"
#define GET_HELLO "GET /hello HTTP/1.1\r\n" H "\r\n"
#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" \
	"Content-Length: 14\r\n\r\nHello, world!\n"

#endif

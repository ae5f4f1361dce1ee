/* SPDX-License-Identifier: MIT */
/* A server on loopback in this process, and a client that sends any bytes. */
#ifndef ASKING_H
#define ASKING_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

#include "server.h"
#include "t.h"

static char address[WEFT_ADDRESS_TEXT];
static struct server *server;

static inline void
start(struct redis_options o)
{
	int fd = weft_listen("tcp", "127.0.0.1:0");

	OK(fd >= 0);
	weft_local_address(fd, address, sizeof address);
	server = server_start(fd, &o);
	OK(server);
}

static inline void
stop(void)
{
	EQ(server_stop(server, weft_deadline(20 * WEFT_SECOND)), 0);
}

static inline int
dial(void)
{
	int fd = weft_dial("tcp", address);

	OK(fd >= 0);
	weft_set_deadline(fd, weft_deadline(30 * WEFT_SECOND));
	return fd;
}

static inline void
say_bytes(int fd, const char *bytes, size_t len)
{
	EQ(weft_write_full(fd, bytes, len, NULL), len);
}

static inline void
say(int fd, const char *text)
{
	say_bytes(fd, text, strlen(text));
}

/* The next bytes are that text. */
static inline void
hear(int fd, const char *text)
{
	size_t n = strlen(text);
	char *got = calloc(1, n + 1);

	weft_read_full(fd, got, n, NULL);
	if (memcmp(got, text, n) != 0) {
		fprintf(stderr, "# heard: %s\n# not: %s\n", got, text);
		t_fail(__FILE__, __LINE__, "what the server replies");
	}
	free(got);
}

/* The server closes: by an end, or a reset if the client was not done. */
static inline void
hear_end(int fd)
{
	char c;
	ssize_t n = weft_read(fd, &c, 1);

	OK(n == 0 || n == -ECONNRESET || n == -EPIPE);
	weft_close(fd);
}

/* On a connection of its own. */
static inline void
ask(const char *request, const char *reply)
{
	int fd = dial();

	say(fd, request);
	hear(fd, reply);
	weft_close(fd);
}

#endif

/* SPDX-License-Identifier: MIT */
/* A client of the debug socket. */
#ifndef ASK_H
#define ASK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "t.h"

/* A connection, or -errno. */
static inline int
ask_connect(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	while (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
		err = errno;
		if (err == EINTR || err == EAGAIN)
			continue;
		close(fd);
		return -err;
	}
	return fd;
}

static inline void
ask_send(int fd, const void *bytes, size_t n)
{
	while (n > 0) {
		ssize_t r = send(fd, bytes, n, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return;		/* it has been closed */
		bytes = (const char *)bytes + r;
		n -= (size_t)r;
	}
}

/* What comes until the end, to be freed, *n bytes and a NUL; closes the
 * connection. */
static inline char *
ask_read_bytes(int fd, size_t *n)
{
	size_t cap = 4096;
	char *text = malloc(cap);

	for (*n = 0; ; ) {
		ssize_t r = read(fd, text + *n, cap - *n - 1);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		*n += (size_t)r;
		if (cap - *n < 2048)
			text = realloc(text, cap *= 2);
	}
	close(fd);
	text[*n] = 0;
	return text;
}

static inline char *
ask_read(int fd)
{
	size_t n;

	return ask_read_bytes(fd, &n);
}

/* The answer to a line, to be freed; NULL if there is no connection. */
static inline char *
ask(const char *path, const char *line)
{
	int fd = ask_connect(path);

	if (fd < 0)
		return NULL;
	ask_send(fd, line, strlen(line));
	return ask_read(fd);
}

/* The answer has this in it. */
static inline void
asked(const char *path, const char *line, const char *want)
{
	char *text = ask(path, line);

	OK(text && strstr(text, want));
	if (text && !strstr(text, want))
		fprintf(stderr, "# answer to %s is: %.300s\n", line, text);
	free(text);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Text on its way to a descriptor, or into memory: a buffer of the caller's
 * and a function that takes what is in it. Signal-safe if that function is;
 * allocates nothing.
 */
#ifndef SINK_H
#define SINK_H

#include "defs.h"

struct sink {
	/* constant: takes all n bytes, or returns -errno */
	int (*drain)(struct sink *s, const char *text, size_t n);
	char *buf;
	size_t cap;
	/* its one user's */
	size_t n;		/* bytes in buf */
	uint64_t total;		/* ... that were ever added */
	int err;		/* the first error of drain: nothing more is
				 * written */
};

/* Formats as format(); a piece is cut at 700 bytes, a line may be longer. */
void sink_add(struct sink *s, const char *fmt, ...) printf_like(2, 3);
void sink_write(struct sink *s, const char *text, size_t n);
/* Drains what is in the buffer. The first error there was, or 0. */
int sink_flush(struct sink *s);

/* A sink that writes to a descriptor, and waits for it. */
struct fd_sink {
	struct sink sink;
	int fd;
};
void fd_sink_init(struct fd_sink *s, int fd, char *buf, size_t cap);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Replies of a connection: they are collected, and sent when no request is
 * left, or there is no room; see reply.c. After an error of the connection
 * (`error`, -errno) they are dropped.
 */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include "store.h"

enum {
	OUT_BYTES = 16 << 10,
	REPLY_COPIED = 4096	/* a longer value is sent from where it is */
};

struct out {
	int fd;
	int error;		/* sticks */
	int64_t timeout;	/* of a client that takes nothing */
	bool armed;		/* the descriptor has had a write deadline */
	size_t len;
	char bytes[OUT_BYTES];
};

/* Sends all: 0 or o->error. */
int out_flush(struct out *o);
/* Room for n bytes, at most OUT_BYTES: true, or o->error. */
bool out_room(struct out *o, size_t n);

void reply_status(struct out *o, const char *text);
/* text: its first word is the kind, "ERR ..." */
void reply_error(struct out *o, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
void reply_number(struct out *o, int64_t n);
/* NULL: there is none. */
void reply_bulk(struct out *o, const char *at, size_t len);
void reply_text(struct out *o, const char *text);
void reply_nil(struct out *o);
/* So many replies follow, which are its elements. */
void reply_array(struct out *o, size_t n);
/* A value, or nil: it has been held, and is released. */
void reply_held(struct out *o, struct value *v);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A connection, as the files of this room see it; see wire.c.
 *
 * A struct conn lives as long as the connection. A struct http has the buffers
 * and what is known of the request and its answer; it stands on the stack of
 * the goroutine that is busy with the connection, and there is none while
 * it is idle.
 */
#ifndef HTTP_WIRE_H
#define HTTP_WIRE_H

#include "http.h"
#include "parse.h"

#include <weft.h>

struct iovec;

struct conn {
	/* constant */
	struct http_server *server;
	const struct http_options *options;	/* without zeros */
	const struct http_limits *limits;
	int fd;
	const struct http_layer *layer;	/* or NULL */
	void *secure;			/* its object */
	/* its goroutine only, one after the other */
	bool used;		/* had a request */
	bool parked;		/* was without a goroutine until now */
	int64_t since;		/* ... or idle for other reasons */
	int64_t read_armed;	/* deadlines that weft was told last; */
	int64_t write_armed;	/* http_server_stop may have set others */
	/* under the server's lock */
	struct conn *next, **prev;
};

enum { IN_BYTES = 4096, OUT_BYTES = 4096 };

/* How far the answer is. */
enum reply { NO_REPLY, IN_HEAD, IN_BODY, REPLIED };

struct http {
	struct conn *c;

	/* What came in and was not used: in[start .. end). It is `first`, or
	 * `more` if a head is long or a body comes in chunks. */
	char *in, *more;
	size_t start, end, cap;

	/* The request, and its body. */
	struct http_head head;
	struct http_request request;
	struct http_chunks chunks;
	size_t body_at;		/* in[body_at] on is free for the body */
	int64_t body_left;	/* of a length that is known */
	int64_t body_taken;
	int64_t body_since;	/* 0: it has not been asked for */
	bool may_continue;	/* the client waits for "100 Continue" */
	int body_error;		/* sticks; -errno */

	/* The answer. */
	enum reply reply;
	bool close;		/* the connection ends after it */
	bool chunked;		/* its body is in chunks */
	bool silent;		/* and not sent: HEAD, 204, 304 */
	int64_t reply_left;	/* bytes of it to come, or HTTP_CHUNKED */
	bool unread;		/* the client may still be sending */
	int error;		/* of writing; sticks; -errno */

	size_t out_len;		/* out[0 .. out_len) is to be sent */
	char out[OUT_BYTES];
	char first[IN_BYTES];
};

/* Has http_server_stop been called? */
bool http_stopping(struct http_server *s);

/* wire.c */
void wire_open(struct http *h, struct conn *c);
void wire_close(struct http *h);
/* Reads until `due`, as weft_read does; what is in out goes first. */
ssize_t wire_read(struct http *h, void *buf, size_t len, int64_t due);
/* The same into the input buffer, which has room for something. */
ssize_t wire_fill(struct http *h, int64_t due);
/*
 * Nothing is there: waits for the next request, into the input buffer. How
 * much came; 0 if it is time to close; -EAGAIN if it is time to go on without
 * a goroutine, which sees to it that the next one is told (parked).
 */
ssize_t wire_idle(struct http *h);
/* Room behind a head that is not complete; it may move. False if it is as long
 * as can be, or memory is refused. */
bool wire_grow(struct http *h);
/* The input is empty: room for more of a body; the head stays where it is. */
bool wire_widen(struct http *h);
/* The request is over: the input goes back to the small buffer if it can. */
void wire_settle(struct http *h);
/* Sends what is in out, and then v, all of it; 0 or h->error. */
int wire_send(struct http *h, const struct iovec *v, int n, int flags);
int wire_flush(struct http *h);
int wire_send_file(struct http *h, int file, off_t at, int64_t len);
/* Room for n bytes in out, at most OUT_BYTES: sends what is there if need be.
 * NULL if that fails. What is written there must be added to out_len. */
char *wire_room(struct http *h, size_t n);

/* body.c: before the handler, and after it: may the connection go on? */
void body_begin(struct http *h);
bool body_end(struct http *h);
/* Is there nothing left of it; is there so much that it is not read? */
bool body_ended(const struct http *h);
bool body_is_long(const struct http *h);
/* reply.c: the same */
void reply_begin(struct http *h);
void reply_end(struct http *h);
/* An answer without a handler, to what is no proper request. */
void reply_refuse(struct http *h, int status);
/* date.c: now, as in a Date line */
void date_now(char out[HTTP_DATE]);

#endif

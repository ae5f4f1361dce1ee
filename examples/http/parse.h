/* SPDX-License-Identifier: MIT */
/* The bytes of a request; see parse.c. */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include "http.h"

/* How much of a head there may be. */
struct http_limits {
	size_t head, line;
	unsigned fields;
};

/* How far a head has been parsed; zero is its beginning. */
struct http_head {
	size_t at;		/* the first line that is not parsed yet */
	size_t seen;		/* no '\n' in [at, seen) */
	bool in_fields;		/* the request line is behind us */
	bool has_host, has_length, has_encoding;
	bool says_close, says_keep;
	bool absolute;		/* the target has a host itself */
};

/*
 * Parses as much of buf[0 .. len) as can be, into r, whose texts point into
 * buf: buf may grow but not move, and starts with the same bytes each time.
 * Returns 0 if there is more to come, the length of the head when it is
 * complete, or minus the status to answer with.
 */
ssize_t http_head_parse(struct http_head *p, const struct http_limits *max,
    const char *buf, size_t len, struct http_request *r);

/* Where in a body of chunks we are; zero is its beginning. */
struct http_chunks {
	uint8_t state;
	uint32_t line;		/* bytes of this line, or of all trailers */
	uint64_t left;		/* of the chunk that is being read */
};

/*
 * Takes some bytes of in[0 .. len): what frames the chunks, and then at most
 * `want` bytes of data, all or none of which are the last ones taken. Returns
 * how many were taken in all, and *data of these; or minus a status. It takes
 * nothing more when the body has ended, and everything else if it has not and
 * there was no data.
 */
ssize_t http_chunks_take(struct http_chunks *c, const char *in, size_t len,
    size_t want, size_t *data);
bool http_chunks_ended(const struct http_chunks *c);
/* Bytes of data that come next without anything between; and n are taken. */
uint64_t http_chunks_run(const struct http_chunks *c);
void http_chunks_skip(struct http_chunks *c, uint64_t n);

#endif

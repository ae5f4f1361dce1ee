/* SPDX-License-Identifier: MIT */
/*
 * The body of a request: how a handler gets it, and what becomes of the rest.
 *
 * Pieces go straight into the handler's buffer where that is possible: always
 * if the length is known, and within a chunk if it is long. Nothing is read
 * before the handler asks for it, and so a client that waits for "100 Continue"
 * gets it only then. What was not asked for is read and dropped, if it is
 * little, so that the next request is found behind it; else the connection
 * ends.
 */
#include "wire.h"

#include <errno.h>
#include <string.h>

enum {
	MIN_RATE = 1024,	/* bytes a second, once the limit is over */
	DROP_BYTES = 256 << 10,	/* to save a connection */
	DIRECT_BYTES = 1024	/* of a chunk, worth a read of their own */
};

void
body_begin(struct http *h)
{
	h->chunks = (struct http_chunks){0};
	h->body_at = h->start;
	h->body_left = h->request.length > 0 ? h->request.length : 0;
	h->body_taken = h->body_since = 0;
	h->may_continue = h->request.expects && h->request.length != 0;
	h->body_error = 0;
}

bool
body_ended(const struct http *h)
{
	return h->request.length == HTTP_CHUNKED ?
	    http_chunks_ended(&h->chunks) : h->body_left == 0;
}

bool
body_is_long(const struct http *h)
{
	return h->body_left > DROP_BYTES;
}

static int64_t
due(const struct http *h)
{
	return h->body_since + h->c->options->body_timeout +
	    h->body_taken * (WEFT_SECOND / MIN_RATE);
}

/* n bytes of the buffer's, if there are so many. */
static size_t
from_buffer(struct http *h, void *buf, size_t n)
{
	size_t have = h->end - h->start;

	n = n < have ? n : have;
	memcpy(buf, h->in + h->start, n);
	h->start += n;
	return n;
}

static ssize_t
read_plain(struct http *h, void *buf, size_t len)
{
	ssize_t n;

	if ((int64_t)len > h->body_left)
		len = (size_t)h->body_left;
	n = h->start < h->end ? (ssize_t)from_buffer(h, buf, len) :
	    wire_read(h, buf, len, due(h));
	if (n > 0)
		h->body_left -= n;
	return n ? n : -EPIPE;
}

/* What is in the buffer: data, or 0 and the buffer is empty or the body is at
 * its end. */
static ssize_t
take_chunks(struct http *h, void *buf, size_t len)
{
	const char *from = h->in + h->start;
	size_t data;
	ssize_t n = http_chunks_take(&h->chunks, from, h->end - h->start, len,
	    &data);

	if (n < 0)
		return -EBADMSG;
	memcpy(buf, from + n - data, data);
	h->start += (size_t)n;
	return (ssize_t)data;
}

static ssize_t
read_chunked(struct http *h, void *buf, size_t len)
{
	uint64_t run;
	ssize_t n;

	for (;;) {
		if (h->start < h->end) {
			n = take_chunks(h, buf, len);
			if (n != 0 || http_chunks_ended(&h->chunks))
				return n;
		}
		run = http_chunks_run(&h->chunks);
		if (run >= DIRECT_BYTES && len >= DIRECT_BYTES) {
			n = wire_read(h, buf, run < len ? (size_t)run : len,
			    due(h));
			if (n > 0)
				http_chunks_skip(&h->chunks, (uint64_t)n);
			return n ? n : -EPIPE;
		}
		if (!wire_widen(h))
			return -ENOMEM;
		n = wire_fill(h, due(h));
		if (n <= 0)
			return n ? n : -EPIPE;
	}
}

/* The client asked whether it may go on. */
static void
send_continue(struct http *h)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char *p = h->reply == NO_REPLY ? wire_room(h, sizeof text) : NULL;

	h->may_continue = false;
	if (!p)
		return;
	memcpy(p, text, sizeof text - 1);
	h->out_len += sizeof text - 1;
}

ssize_t
http_read(struct http *h, void *buf, size_t len)
{
	ssize_t n;

	if (h->body_error)
		return h->body_error;
	if (len == 0 || body_ended(h))
		return 0;
	if (h->may_continue)
		send_continue(h);
	if (h->body_since == 0)
		h->body_since = weft_now();
	n = h->request.length == HTTP_CHUNKED ? read_chunked(h, buf, len) :
	    read_plain(h, buf, len);
	if (n > 0 && (h->body_taken += n) > h->c->options->max_body)
		n = -EMSGSIZE;
	if (n < 0)
		h->body_error = (int)n;
	return n;
}

bool
body_end(struct http *h)
{
	int64_t most = h->body_taken + DROP_BYTES;
	char drop[2048];
	ssize_t n = 0;

	if (body_ended(h))
		return true;
	/* A client that waits for the word may send it, or not, afterwards. */
	if (h->may_continue || h->close || body_is_long(h))
		return false;
	while ((n = http_read(h, drop, sizeof drop)) > 0)
		if (h->body_taken > most)
			return false;
	return n == 0;
}

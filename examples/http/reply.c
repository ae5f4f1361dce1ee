/* SPDX-License-Identifier: MIT */
/*
 * Answers. They are put together in the connection's output buffer, with
 * nothing but copies, and leave when the connection has nothing else to do
 * (wire_read, wire_idle), or when the buffer is full. Long bodies are sent
 * from where they are, with what is in the buffer before them.
 */
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum {
	BEGIN_BYTES = 128,	/* more than the lines of http_begin */
	END_BYTES = 128,	/* ... and of http_body */
	SIZE_BYTES = 20		/* of a chunk's first line */
};

static const char *
status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} known[] = {
		{ 200, "200 OK" }, { 201, "201 Created" },
		{ 204, "204 No Content" }, { 206, "206 Partial Content" },
		{ 301, "301 Moved Permanently" }, { 302, "302 Found" },
		{ 304, "304 Not Modified" }, { 400, "400 Bad Request" },
		{ 403, "403 Forbidden" }, { 404, "404 Not Found" },
		{ 405, "405 Method Not Allowed" },
		{ 408, "408 Request Timeout" },
		{ 413, "413 Content Too Large" }, { 414, "414 URI Too Long" },
		{ 416, "416 Range Not Satisfiable" },
		{ 417, "417 Expectation Failed" },
		{ 431, "431 Request Header Fields Too Large" },
		{ 500, "500 Internal Server Error" },
		{ 501, "501 Not Implemented" },
		{ 503, "503 Service Unavailable" },
		{ 505, "505 HTTP Version Not Supported" }
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].status == status)
			return known[i].text;
	return NULL;
}

/* ---- copying ----------------------------------------------------------- */

static char *
put(char *p, const void *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}

#define PUT(p, literal) put(p, literal, sizeof literal - 1)

static char *
put_number(char *p, uint64_t n)
{
	char digits[20], *d = digits + sizeof digits;

	do
		*--d = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	return put(p, d, (size_t)(digits + sizeof digits - d));
}

static char *
put_hex(char *p, uint64_t n)
{
	char digits[16], *d = digits + sizeof digits;

	do
		*--d = "0123456789abcdef"[n % 16];
	while ((n /= 16) > 0);
	return put(p, d, (size_t)(digits + sizeof digits - d));
}

/* The status and the date. A status that has no name needs none. */
static char *
put_begin(char *p, int status)
{
	const char *text = status == 200 ? "200 OK" : status_text(status);

	p = PUT(p, "HTTP/1.1 ");
	if (text) {
		p = put(p, text, strlen(text));
	} else {
		p = put_number(p, (unsigned)status);
		*p++ = ' ';
	}
	p = PUT(p, "\r\nDate: ");
	date_now(p);
	return p + HTTP_DATE;
}

/* ---- heads ------------------------------------------------------------- */

void
reply_begin(struct http *h)
{
	h->reply = NO_REPLY;
	h->chunked = h->silent = false;
}

/* Does the connection end after this answer? It must be said in its head. */
static bool
is_last(struct http *h)
{
	return h->close || !h->request.keep_alive ||
	    (!body_ended(h) && (h->may_continue || h->body_error ||
	    body_is_long(h))) || http_stopping(h->c->server);
}

/* What ends a head, and decides how its body is sent. */
static char *
put_end(struct http *h, char *p, int64_t length)
{
	h->reply_left = length;
	if (length == HTTP_CHUNKED && h->request.minor > 0) {
		h->chunked = true;
		p = PUT(p, "\r\nTransfer-Encoding: chunked");
	} else if (length != HTTP_CHUNKED) {
		p = PUT(p, "\r\nContent-Length: ");
		p = put_number(p, (uint64_t)length);
	} else {
		h->close = true;	/* its end is the connection's */
	}
	h->close = is_last(h);
	if (h->close)
		p = PUT(p, "\r\nConnection: close");
	else if (h->request.minor == 0)
		p = PUT(p, "\r\nConnection: keep-alive");
	h->silent |= h->request.method == HTTP_HEAD;
	h->reply = IN_BODY;
	return PUT(p, "\r\n\r\n");
}

int
http_begin(struct http *h, int status)
{
	char *p;

	if (status < 200 || status > 999)
		return -EINVAL;
	if (h->reply != NO_REPLY)
		return -EALREADY;
	h->reply = IN_HEAD;
	h->silent = status == 204 || status == 304;
	p = wire_room(h, BEGIN_BYTES);
	if (!p)
		return h->error;
	h->out_len = (size_t)(put_begin(p, status) - h->out);
	return 0;
}

int
http_header(struct http *h, const char *name, const char *value)
{
	size_t n = strlen(name), v = strlen(value);
	char *p;

	if (h->reply != IN_HEAD || strpbrk(name, "\r\n: ") || n == 0 ||
	    strpbrk(value, "\r\n"))
		return -EINVAL;
	if (n + v + 4 > OUT_BYTES)
		return -EMSGSIZE;
	p = wire_room(h, n + v + 4);
	if (!p)
		return h->error;
	p = put(PUT(p, "\r\n"), name, n);
	p = put(PUT(p, ": "), value, v);
	h->out_len = (size_t)(p - h->out);
	return 0;
}

int
http_body(struct http *h, int64_t length)
{
	char *p;

	if (h->reply != IN_HEAD || length < HTTP_CHUNKED)
		return -EINVAL;
	p = wire_room(h, END_BYTES);
	if (!p)
		return h->error;
	/* 204 and 304 have no body, and so no length of it. */
	if (h->silent) {
		h->close = is_last(h);
		h->reply_left = 0;
		h->reply = IN_BODY;
		p = h->close ? PUT(p, "\r\nConnection: close\r\n\r\n") :
		    PUT(p, "\r\n\r\n");
	} else {
		p = put_end(h, p, length);
	}
	h->out_len = (size_t)(p - h->out);
	return 0;
}

/* ---- bodies ------------------------------------------------------------ */

/* May len bytes follow? What is more than was announced is not sent. */
static int
admit(struct http *h, int64_t len)
{
	if (h->reply != IN_BODY)
		return -EINVAL;
	if (h->error)
		return h->error;
	if (h->reply_left == HTTP_CHUNKED)
		return 0;
	if (len > h->reply_left)
		return h->error = -EMSGSIZE;
	h->reply_left -= len;
	return 0;
}

/* Into the buffer if it fits, or from where it is. */
static int
write_plain(struct http *h, const void *data, size_t len)
{
	struct iovec v = { (void *)(uintptr_t)data, len };

	if (len > OUT_BYTES - h->out_len)
		return wire_send(h, &v, 1, 0);
	memcpy(h->out + h->out_len, data, len);
	h->out_len += len;
	return 0;
}

static int
write_chunk(struct http *h, const void *data, size_t len)
{
	char line[SIZE_BYTES], *p = PUT(put_hex(line, len), "\r\n");
	struct iovec v[3] = {
		{ line, (size_t)(p - line) },
		{ (void *)(uintptr_t)data, len },
		{ (void *)(uintptr_t)"\r\n", 2 }
	};

	if (len + SIZE_BYTES + 2 > OUT_BYTES - h->out_len)
		return wire_send(h, v, 3, 0);
	for (int i = 0; i < 3; i++) {
		memcpy(h->out + h->out_len, v[i].iov_base, v[i].iov_len);
		h->out_len += v[i].iov_len;
	}
	return 0;
}

int
http_write(struct http *h, const void *data, size_t len)
{
	int error = admit(h, (int64_t)len);

	/* An empty chunk would be the last. */
	if (error || h->silent || len == 0)
		return error;
	return h->chunked ? write_chunk(h, data, len) :
	    write_plain(h, data, len);
}

/* A short one goes with its head. */
static int
copy_file(struct http *h, int file, off_t at, size_t len)
{
	ssize_t n = weft_pread(file, h->out + h->out_len, len, at);

	if (n != (ssize_t)len)
		return h->error = n < 0 ? (int)n : -EIO;
	h->out_len += len;
	return 0;
}

int
http_send_file(struct http *h, int file, off_t at, int64_t len)
{
	int error = h->chunked ? -EINVAL : admit(h, len);

	if (error || h->silent || len == 0)
		return error;
	if (len <= (int64_t)(OUT_BYTES - h->out_len))
		return copy_file(h, file, at, (size_t)len);
	return wire_send_file(h, file, at, len);
}

int
http_flush(struct http *h)
{
	return wire_flush(h);
}

/* ---- whole answers ----------------------------------------------------- */

int
http_reply(struct http *h, int status, const char *type, const void *body,
    size_t len)
{
	size_t n = strlen(type);
	char *p;

	if (h->reply != NO_REPLY || status < 200 || status > 999 ||
	    status == 204 || status == 304 ||
	    n + BEGIN_BYTES + END_BYTES > OUT_BYTES) {
		int error = http_begin(h, status);

		if (error)
			return error;
		http_header(h, "Content-Type", type);
		http_body(h, (int64_t)len);
		return http_write(h, body, len);
	}
	p = wire_room(h, n + BEGIN_BYTES + END_BYTES);
	if (!p)
		return h->error;
	p = PUT(put_begin(p, status), "\r\nContent-Type: ");
	p = put_end(h, put(p, type, n), (int64_t)len);
	h->out_len = (size_t)(p - h->out);
	return http_write(h, body, len);
}

int
http_error(struct http *h, int status)
{
	const char *known = status_text(status);
	char text[64], *p = text;

	p = known ? put(p, known, strlen(known)) :
	    put_number(p, (unsigned)status);
	*p++ = '\n';
	return http_reply(h, status, "text/plain", text, (size_t)(p - text));
}

void
reply_refuse(struct http *h, int status)
{
	if (!h->head.in_fields)		/* not even a request line */
		h->request.method = HTTP_GET;
	h->request.minor = 1;
	h->close = true;
	reply_begin(h);
	http_error(h, status);
	reply_end(h);
}

/* The handler said nothing: why? */
static int
silence(struct http *h)
{
	switch (h->body_error) {
	case -EMSGSIZE:
		return 413;
	case -EBADMSG:
		return 400;
	case -ETIMEDOUT:
		return 408;
	}
	return 500;
}

void
reply_end(struct http *h)
{
	if (h->reply == NO_REPLY)
		http_error(h, silence(h));
	else if (h->reply == IN_HEAD)
		http_body(h, 0);
	if (h->chunked && !h->silent && !h->error) {
		char *p = wire_room(h, 5);

		if (p) {
			PUT(p, "0\r\n\r\n");
			h->out_len += 5;
		}
	} else if (!h->silent && h->reply_left > 0) {
		h->close = true;
	}
	h->reply = REPLIED;
}

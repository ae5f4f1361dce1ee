/* SPDX-License-Identifier: MIT */
/*
 * A client that sends and does not read: its replies fill the socket, the
 * goroutine waits in out_flush and reads no more requests, and after the
 * timeout the connection is closed. So it costs one buffer.
 *
 * The deadline is set only when a send would wait, which it hardly ever does.
 */
#include "reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

enum { HEAD_BYTES = 32, ERROR_BYTES = 256 };

/* It would wait, or is out of time since it last sent something. */
static void
arm(struct out *o)
{
	o->armed = true;
	weft_set_write_deadline(o->fd, weft_deadline(o->timeout));
}

static int
send_all(struct out *o, const char *at, size_t len)
{
	bool late = false;

	while (len > 0 && !o->error) {
		ssize_t n = weft_sock_send(o->fd, at, len,
		    o->armed ? 0 : MSG_DONTWAIT);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
			late = false;
		} else if (n == -EAGAIN || (n == -ETIMEDOUT && !late)) {
			late = n == -ETIMEDOUT;	/* of an older send */
			arm(o);
		} else {
			o->error = (int)n;
		}
	}
	return o->error;
}

int
out_flush(struct out *o)
{
	size_t n = o->len;

	o->len = 0;
	return send_all(o, o->bytes, n);
}

bool
out_room(struct out *o, size_t n)
{
	if (OUT_BYTES - o->len < n)
		out_flush(o);
	return !o->error;
}

static void
put(struct out *o, const char *at, size_t len)
{
	if (!out_room(o, len))
		return;
	memcpy(o->bytes + o->len, at, len);
	o->len += len;
}

/* ---- kinds of replies -------------------------------------------------- */

/* A character and a number, and the line's end. */
static void
put_head(struct out *o, char kind, int64_t n)
{
	char text[HEAD_BYTES], *p = text + sizeof text;
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

	*--p = '\n';
	*--p = '\r';
	do
		*--p = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--p = '-';
	*--p = kind;
	put(o, p, (size_t)(text + sizeof text - p));
}

void
reply_number(struct out *o, int64_t n)
{
	put_head(o, ':', n);
}

void
reply_array(struct out *o, size_t n)
{
	put_head(o, '*', (int64_t)n);
}

void
reply_status(struct out *o, const char *text)
{
	size_t n = strlen(text);

	if (!out_room(o, n + 3))
		return;
	put(o, "+", 1);
	put(o, text, n);
	put(o, "\r\n", 2);
}

/* What a client sent may be in it: no line of its own. */
void
reply_error(struct out *o, const char *format, ...)
{
	char text[ERROR_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		if (*p == '\r' || *p == '\n')
			*p = ' ';
	put(o, "-", 1);
	put(o, text, strlen(text));
	put(o, "\r\n", 2);
}

void
reply_nil(struct out *o)
{
	put(o, "$-1\r\n", 5);
}

void
reply_bulk(struct out *o, const char *at, size_t len)
{
	put_head(o, '$', (int64_t)len);
	if (len <= REPLY_COPIED) {
		put(o, at, len);
	} else {
		out_flush(o);
		send_all(o, at, len);
	}
	put(o, "\r\n", 2);
}

void
reply_text(struct out *o, const char *text)
{
	reply_bulk(o, text, strlen(text));
}

void
reply_held(struct out *o, struct value *v)
{
	if (!v) {
		reply_nil(o);
		return;
	}
	reply_bulk(o, v->bytes, v->len);
	value_release(v);
}

/* SPDX-License-Identifier: MIT */
/*
 * A connection's buffers and time limits.
 *
 * Setting a deadline for every read and write would cost more than parsing the
 * request. So what weft is told is seldom changed: it must only not be later
 * than the limit. When it fires early we tell it anew, and try again. For a
 * busy connection that is once in a limit's length, and nothing otherwise. And
 * nothing has to be told before a call would wait: the first read of a
 * connection, and writes as long as it has no deadline for them, are tries
 * (MSG_DONTWAIT). A client that sends its request at once, takes the answer and
 * closes costs an accept, a read, a write and a close.
 *
 * http_server_stop makes the deadlines of all connections fire; one that is not
 * idle cannot tell that from an early one, and just goes on.
 */
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { FILE_PIECE = 1 << 20, COPY_PIECE = 64 << 10 };

void
wire_open(struct http *h, struct conn *c)
{
	h->c = c;
	h->in = h->first;
	h->more = NULL;
	h->start = h->end = 0;
	h->cap = IN_BYTES;
	h->head = (struct http_head){0};
	h->error = 0;
	h->close = h->unread = false;
	h->out_len = 0;
}

void
wire_close(struct http *h)
{
	free(h->more);
}

/* ---- reading ----------------------------------------------------------- */

/* Tells weft, if what it was told is later; or in any case. */
static void
arm_read(struct conn *c, int64_t due, bool anew)
{
	if (c->read_armed <= due && !anew)
		return;
	c->read_armed = due;
	weft_set_read_deadline(c->fd, due);
}

static void
arm_write(struct conn *c)
{
	c->write_armed = weft_deadline(c->options->write_timeout);
	weft_set_write_deadline(c->fd, c->write_armed);
}

/* With TLS the first read is a handshake, which also writes. */
static ssize_t
receive(struct conn *c, void *buf, size_t len)
{
	if (!c->layer)
		return weft_sock_recv(c->fd, buf, len, 0);
	if (c->write_armed == WEFT_NEVER)
		arm_write(c);
	return c->layer->read(c->secure, buf, len);
}

ssize_t
wire_read(struct http *h, void *buf, size_t len, int64_t due)
{
	struct conn *c = h->c;
	ssize_t n;

	if (h->out_len > 0 && wire_flush(h) != 0)
		return h->error;
	arm_read(c, due, false);
	for (;;) {
		n = receive(c, buf, len);
		if (n != -ETIMEDOUT || weft_now() >= due)
			return n;
		arm_read(c, due, true);
	}
}

static ssize_t
filled(struct http *h, ssize_t n)
{
	if (n > 0)
		h->end += (size_t)n;
	return n;
}

ssize_t
wire_fill(struct http *h, int64_t due)
{
	return filled(h, wire_read(h, h->in + h->end, h->cap - h->end, due));
}

/*
 * The server stops. A request that has come already is still answered; the
 * socket does not block, whatever its deadline.
 */
static ssize_t
last_look(struct http *h)
{
	struct conn *c = h->c;
	ssize_t n;

	if (c->layer) {
		weft_set_read_deadline(c->fd, weft_deadline(WEFT_MS));
		n = c->layer->read(c->secure, h->in, h->cap);
	} else {
		n = recv(c->fd, h->in, h->cap, MSG_DONTWAIT);
	}
	return n > 0 ? filled(h, n) : 0;
}

static bool
buffered(struct conn *c)
{
	return c->layer && c->layer->buffered(c->secure);
}

/*
 * The deadline is set before we ask whether the server stops, which is said
 * before deadlines are made to fire: one of the two is seen.
 */
static ssize_t
let_go(struct http *h, int64_t due, bool anew)
{
	arm_read(h->c, due, anew);
	if (http_stopping(h->c->server))
		return last_look(h);
	h->c->parked = true;
	return -EAGAIN;
}

ssize_t
wire_idle(struct http *h)
{
	struct conn *c = h->c;
	const struct http_options *o = c->options;
	bool was_parked = c->parked;
	int64_t due, until, now;
	ssize_t n;

	if (h->out_len > 0 && wire_flush(h) != 0)
		return 0;
	if (!was_parked)
		c->since = weft_now();
	c->parked = false;
	due = c->since + (c->used ? o->idle_timeout : o->head_timeout);
	until = c->since + o->linger;
	if (!c->used && !was_parked && !c->layer) {
		n = weft_sock_recv(c->fd, h->in, h->cap, MSG_DONTWAIT);
		if (n != -EAGAIN && n != -ETIMEDOUT)
			return n > 0 ? filled(h, n) : 0;
	}
	if (!was_parked && o->linger <= 0 && !buffered(c))
		return let_go(h, due, false);
	until = was_parked || until > due ? due : until;
	for (bool anew = false;; anew = true) {
		arm_read(c, until, anew);
		if (http_stopping(c->server))
			return last_look(h);
		n = receive(c, h->in, h->cap);
		if (n != -ETIMEDOUT)
			return n > 0 ? filled(h, n) : 0;
		now = weft_now();
		if (now >= due)
			return 0;
		if (was_parked || now >= until)
			return let_go(h, due, true);
	}
}

/* The one large buffer of a connection. It holds the longest head, and behind
 * it as much as the small one does. */
static bool
take_large(struct http *h)
{
	h->cap = h->c->limits->head + IN_BYTES;
	if (!h->more)
		h->more = malloc(h->cap);
	h->in = h->more;
	return h->more;
}

bool
wire_grow(struct http *h)
{
	char *from = h->in + h->start;
	size_t n = h->end - h->start;

	if (h->start == 0 && (h->in == h->more || !take_large(h)))
		return false;
	memmove(h->in, from, n);
	h->start = 0;
	h->end = n;
	h->head = (struct http_head){0};	/* it moved: all over again */
	return true;
}

bool
wire_widen(struct http *h)
{
	if (h->in == h->first && !take_large(h))
		return false;
	h->start = h->end = h->body_at;
	return true;
}

void
wire_settle(struct http *h)
{
	size_t n = h->end - h->start;

	if (n > IN_BYTES || (h->in == h->first && n > 0))
		return;
	memcpy(h->first, h->in + h->start, n);
	h->in = h->first;
	h->start = 0;
	h->end = n;
	h->cap = IN_BYTES;
}

/* ---- writing ----------------------------------------------------------- */

/*
 * A write was out of time. The first time that may be an old deadline, of
 * another write: then it gets a new one, and false comes back. `late` is
 * cleared by the caller when there was progress.
 */
static bool
too_late(struct http *h, int error, bool *late)
{
	if (error == -ETIMEDOUT && !*late) {
		*late = true;
		arm_write(h->c);
		return false;
	}
	h->error = error;
	return true;
}

/* v[0 .. n) less the first bytes; where it begins now. */
static int
advance(struct iovec *v, int n, size_t bytes)
{
	int i = 0;

	while (i < n && bytes >= v[i].iov_len)
		bytes -= v[i++].iov_len;
	if (i < n) {
		v[i].iov_base = (char *)v[i].iov_base + bytes;
		v[i].iov_len -= bytes;
	}
	return i;
}

static int
send_all(struct http *h, struct iovec *v, int n, int flags)
{
	struct msghdr m = { .msg_iov = v };
	bool late = false;
	ssize_t sent;
	int try;

	for (int i = 0; i < n;) {
		try = h->c->write_armed == WEFT_NEVER ? MSG_DONTWAIT : 0;
		m.msg_iov = v + i;
		m.msg_iovlen = (size_t)(n - i);
		sent = n - i > 1 ? weft_sendmsg(h->c->fd, &m, flags | try) :
		    weft_sock_send(h->c->fd, v[i].iov_base, v[i].iov_len,
		    flags | try);
		if (sent >= 0) {
			i += advance(v + i, n - i, (size_t)sent);
			late = false;
		} else if (sent == -EAGAIN && try) {
			arm_write(h->c);
		} else if (too_late(h, (int)sent, &late)) {
			return h->error;
		}
	}
	return 0;
}

/* The same through the layer. What it has taken it may still have to send: all
 * is sent when it says so. */
static int
send_layer(struct http *h, struct iovec *v, int n)
{
	struct conn *c = h->c;
	bool late = false;
	ssize_t error;
	size_t done;
	int i = 0;

	if (c->write_armed == WEFT_NEVER)
		arm_write(c);
	for (;;) {
		error = c->layer->write(c->secure, v + i, n - i, &done);
		if (error >= 0)
			return 0;
		i += advance(v + i, n - i, done);
		late = late && done == 0;
		if (too_late(h, (int)error, &late))
			return h->error;
	}
}

int
wire_send(struct http *h, const struct iovec *v, int n, int flags)
{
	struct iovec all[4];
	int k = 0;

	if (h->error)
		return h->error;
	if (h->out_len > 0)
		all[k++] = (struct iovec){ h->out, h->out_len };
	for (int i = 0; i < n; i++)
		if (v[i].iov_len > 0)
			all[k++] = v[i];
	h->out_len = 0;
	return h->c->layer ? send_layer(h, all, k) :
	    send_all(h, all, k, flags);
}

int
wire_flush(struct http *h)
{
	return wire_send(h, NULL, 0, 0);
}

/* What a layer sends must be in memory. */
static int
send_copy(struct http *h, int file, off_t at, int64_t len)
{
	char *piece = malloc(COPY_PIECE);
	struct iovec v;
	ssize_t n;

	if (!piece)
		return h->error = -ENOMEM;
	while (len > 0 && !h->error) {
		n = weft_pread(file, piece, len < COPY_PIECE ? (size_t)len :
		    COPY_PIECE, at);
		if (n <= 0) {		/* it was cut while we looked */
			h->error = n < 0 ? (int)n : -EIO;
			break;
		}
		v = (struct iovec){ piece, (size_t)n };
		wire_send(h, &v, 1, 0);
		at += n;
		len -= n;
	}
	free(piece);
	return h->error;
}

int
wire_send_file(struct http *h, int file, off_t at, int64_t len)
{
	bool late = false;
	ssize_t n;

	if (h->c->layer)
		return send_copy(h, file, at, len);
	if (h->c->write_armed == WEFT_NEVER)
		arm_write(h->c);
	/* More follows at once: no packet for the head alone. */
	if (wire_send(h, NULL, 0, len > 0 ? MSG_MORE : 0) != 0)
		return h->error;
	while (len > 0) {
		n = weft_sendfile(h->c->fd, file, &at,
		    len < FILE_PIECE ? (size_t)len : FILE_PIECE);
		if (n > 0) {
			len -= n;
			late = false;
		} else if (n == 0) {	/* it was cut while we looked */
			return h->error = -EIO;
		} else if (too_late(h, (int)n, &late)) {
			return h->error;
		}
	}
	return 0;
}

char *
wire_room(struct http *h, size_t n)
{
	if (OUT_BYTES - h->out_len < n && wire_flush(h) != 0)
		return NULL;
	return h->error ? NULL : h->out + h->out_len;
}

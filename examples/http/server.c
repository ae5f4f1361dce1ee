/* SPDX-License-Identifier: MIT */
/*
 * Connections, from accept to close, and the server that they belong to.
 *
 * A connection is a record, and a goroutine while there is something to do:
 *
 *	accepted -> waiting (in wire_idle) -> busy -> waiting ...
 *	waiting  -> parked, at once or when nothing came for a while: without
 *		    goroutine and buffers; weft_go_readable starts the next
 *		    when there is something to read -> waiting
 *	any      -> closed, by its goroutine
 *
 * Stopping: the server says so, and then makes the read deadlines of all
 * connections fire. One that waits, or is parked, looks and closes. A busy one
 * goes on, and closes after its answer. What is left at the end is shut down,
 * which every read and write notices.
 *
 * The record of the server belongs to the caller that stops it, to the acceptor
 * and to each connection; the last one frees it.
 */
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	FAREWELL_BYTES = 1 << 20,	/* read and dropped before a close */
	HEAD_MIN = 256
};

struct http_server {
	/* constant */
	struct http_options options;
	struct http_limits limits;
	int fd;
	/* any thread, atomic */
	int stopping;
	int owners;
	/* under lock */
	weft_mutex lock;
	weft_cond changed;
	struct conn *conns;
	int open;		/* these, and those that are being closed */
	bool accepting;
};

enum next { AGAIN, LET_GO, CLOSE };

bool
http_stopping(struct http_server *s)
{
	return __atomic_load_n(&s->stopping, __ATOMIC_SEQ_CST);
}

static void
disown(struct http_server *s)
{
	if (__atomic_sub_fetch(&s->owners, 1, __ATOMIC_ACQ_REL) == 0)
		free(s);
}

/* ---- one request ------------------------------------------------------- */

/* Empty lines are no request that could be late. */
static bool
has_begun(const struct http *h)
{
	return h->head.in_fields || h->head.at < h->end - h->start;
}

/*
 * Reads until there is a head: its length, or minus the status to refuse it
 * with, 0 to close, or -EAGAIN to let go (which is no status).
 */
static ssize_t
next_head(struct http *h)
{
	struct conn *c = h->c;
	int64_t due = 0;
	ssize_t n;

	for (;;) {
		if (h->start == h->end) {
			n = wire_idle(h);
			if (n <= 0)
				return n;
		}
		n = http_head_parse(&h->head, c->limits, h->in + h->start,
		    h->end - h->start, &h->request);
		if (n != 0)
			return n;
		if (due == 0)
			due = weft_deadline(c->options->head_timeout);
		if (h->end == h->cap && !wire_grow(h))
			return -431;
		n = wire_fill(h, due);
		if (n <= 0)
			return n == -ETIMEDOUT && has_begun(h) ? -408 : 0;
	}
}

static void
refuse(struct http *h, int status)
{
	h->unread = true;
	reply_refuse(h, status);
}

/* A head is there. False: that was the last one. */
static bool
answer(struct http *h)
{
	const struct http_options *o = h->c->options;

	body_begin(h);
	if (h->request.length > o->max_body) {
		refuse(h, 413);
		return false;
	}
	reply_begin(h);
	o->handler(h, &h->request, o->arg);
	reply_end(h);
	h->unread = !body_end(h);
	return !h->unread && !h->close && !h->error;
}

static enum next
one_request(struct http *h)
{
	ssize_t n = next_head(h);

	if (n == -EAGAIN)
		return LET_GO;
	if (n < 0)
		refuse(h, (int)-n);
	if (n <= 0)
		return CLOSE;
	h->start += (size_t)n;
	h->c->used = true;
	if (!answer(h))
		return CLOSE;
	h->head = (struct http_head){0};
	wire_settle(h);
	return AGAIN;
}

/* ---- a connection ------------------------------------------------------ */

/*
 * The last answer must arrive. If the client still sends when we close, the
 * kernel tells it to forget the connection, and the answer may be lost with
 * it. So we only say that we are done, and read what it says until it is, too.
 */
static void
farewell(struct http *h)
{
	int64_t due = weft_deadline(WEFT_SECOND);
	size_t dropped = 0;
	ssize_t n;

	if (wire_flush(h) != 0 || (!h->unread && h->start == h->end))
		return;
	if (h->c->layer)
		h->c->layer->end(h->c->secure);
	if (weft_shutdown(h->c->fd, SHUT_WR) != 0)
		return;
	while (dropped < FAREWELL_BYTES) {
		n = wire_read(h, h->first, IN_BYTES, due);
		if (n <= 0)
			return;
		dropped += (size_t)n;
	}
}

/* Out of the list first: a walk along it must not meet what is closed. */
static void
conn_close(struct conn *c)
{
	struct http_server *s = c->server;

	weft_mutex_lock(&s->lock);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	weft_mutex_unlock(&s->lock);
	if (c->layer)
		c->layer->close(c->secure);
	else
		weft_close(c->fd);
	free(c);
	weft_mutex_lock(&s->lock);
	s->open--;
	weft_cond_broadcast(&s->changed);
	weft_mutex_unlock(&s->lock);
	disown(s);
}

static void
serve(struct conn *c)
{
	enum next next;
	struct http h;

	wire_open(&h, c);
	do
		next = one_request(&h);
	while (next == AGAIN);
	/* From here on c belongs to the next goroutine, if there is one. */
	if (next == LET_GO && weft_go_readable(c->fd, serve, c) > 0) {
		wire_close(&h);
		return;
	}
	if (next == CLOSE)
		farewell(&h);
	wire_close(&h);
	conn_close(c);
}

/* ---- accepting --------------------------------------------------------- */

static void
conn_open(struct http_server *s, int fd)
{
	const struct http_layer *layer = s->options.layer;
	struct conn *c = malloc(sizeof *c);
	void *secure = NULL;

	if (!c || (layer && !(secure = layer->open(s->options.layer_arg,
	    fd)))) {
		free(c);
		weft_close(fd);
		return;
	}
	*c = (struct conn){ .server = s, .options = &s->options,
		.limits = &s->limits, .fd = fd, .prev = &s->conns,
		.layer = layer, .secure = secure,
		.read_armed = WEFT_NEVER, .write_armed = WEFT_NEVER };
	__atomic_add_fetch(&s->owners, 1, __ATOMIC_RELAXED);
	weft_mutex_lock(&s->lock);
	s->open++;
	c->next = s->conns;
	if (c->next)
		c->next->prev = &c->next;
	s->conns = c;
	weft_mutex_unlock(&s->lock);
	if (weft_try_go(serve, c) < 0)
		conn_close(c);
}

/* Is it the connection that failed, or the machine that is short of something
 * now, and not the socket? */
static bool
will_pass(int error)
{
	if (error == -ENOMEM || error == -ENOBUFS)
		weft_sleep(10 * WEFT_MS);
	return error != -EBADF && error != -EINVAL && error != -ENOTSOCK &&
	    error != -EOPNOTSUPP;
}

static void
accept_all(struct http_server *s)
{
	int fd;

	while ((fd = weft_accept(s->fd, NULL, NULL)) >= 0 || will_pass(fd))
		if (fd >= 0)
			conn_open(s, fd);
	weft_mutex_lock(&s->lock);
	s->accepting = false;
	weft_cond_broadcast(&s->changed);
	weft_mutex_unlock(&s->lock);
	disown(s);
}

/* ---- a server ---------------------------------------------------------- */

static int64_t
or(int64_t given, int64_t normal)
{
	return given ? given : normal;
}

static void
settle_options(struct http_server *s)
{
	struct http_options *o = &s->options;

	o->head_timeout = or(o->head_timeout, 10 * WEFT_SECOND);
	o->body_timeout = or(o->body_timeout, 20 * WEFT_SECOND);
	o->idle_timeout = or(o->idle_timeout, 60 * WEFT_SECOND);
	o->write_timeout = or(o->write_timeout, 20 * WEFT_SECOND);
	o->max_body = or(o->max_body, 16 << 20);
	o->max_body = o->max_body < 0 ? 0 : o->max_body;
	s->limits.head = o->max_head ? o->max_head : 16 << 10;
	if (s->limits.head < HEAD_MIN)
		s->limits.head = HEAD_MIN;
	s->limits.line = o->max_line ? o->max_line : 8 << 10;
	s->limits.fields = o->max_fields && o->max_fields < HTTP_FIELDS ?
	    o->max_fields : HTTP_FIELDS;
}

struct http_server *
http_server_start(int fd, const struct http_options *o)
{
	struct http_server *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->options = *o;
	s->fd = fd;
	s->owners = 2;
	s->accepting = true;
	settle_options(s);
	if (weft_try_go(accept_all, s) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

/* Waits for the last one: is none left? The lock is held. */
static bool
empty_until(struct http_server *s, int64_t when)
{
	while (s->accepting || s->open > 0)
		if (!weft_cond_wait_until(&s->changed, &s->lock, when))
			break;
	return !s->accepting && s->open == 0;
}

int
http_server_stop(struct http_server *s, int64_t when)
{
	int result = 0;

	__atomic_store_n(&s->stopping, 1, __ATOMIC_SEQ_CST);
	weft_close(s->fd);
	weft_mutex_lock(&s->lock);
	/* Those accepted from now on see that it stops. */
	for (struct conn *c = s->conns; c; c = c->next)
		weft_set_read_deadline(c->fd, weft_now());
	if (!empty_until(s, when)) {
		result = -ETIMEDOUT;
		for (struct conn *c = s->conns; c; c = c->next)
			weft_shutdown(c->fd, SHUT_RDWR);
		if (!empty_until(s, weft_deadline(WEFT_SECOND)))
			result = -EBUSY;
	}
	weft_mutex_unlock(&s->lock);
	disown(s);
	return result;
}

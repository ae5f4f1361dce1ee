/* SPDX-License-Identifier: MIT */
/*
 * Ciphertext between OpenSSL and the socket.
 *
 * The BIO takes from `in` and adds to `out`, both memory: it asks OpenSSL to
 * come again if there is nothing to take, or if `out` has TLS_OUT_MOST bytes
 * already (a peer could else fill the memory with requests that are answered
 * and not read). It knows no end of the stream, which is noticed in stream.c:
 * OpenSSL would take the end without close_notify for an error of both
 * directions.
 *
 * `out` is sent from `sending`: the two are swapped, under `state`, when all of
 * the latter was sent. What could not be sent stays there.
 *
 * A connection that waits has no buffers. Memory to receive into is had from a
 * pool for the time in which it has bytes; a receive that waits has some bytes
 * of its stack for the first of them.
 */
#include "connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <weft/extra.h>

enum { FIRST_BYTES = 1024, OUT_MIN = 512 };

/* ---- the BIO ----------------------------------------------------------- */

static int
bio_read(BIO *b, char *to, int len)
{
	struct tls_buffer *in = &((weft_tls *)BIO_get_data(b))->in;
	size_t n = in->end - in->start;

	BIO_clear_retry_flags(b);
	if (n == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	if (n > (size_t)len)
		n = (size_t)len;
	memcpy(to, in->bytes + in->start, n);
	in->start += n;
	return (int)n;
}

static bool
make_room(struct tls_buffer *b, size_t n)
{
	size_t cap = b->cap ? b->cap : OUT_MIN;
	unsigned char *p;

	if (b->cap - b->end >= n)
		return true;
	while (cap - b->end < n)
		cap *= 2;
	p = realloc(b->bytes, cap);
	if (!p)
		return false;
	b->bytes = p;
	b->cap = cap;
	return true;
}

static int
bio_write(BIO *b, const char *from, int len)
{
	weft_tls *c = BIO_get_data(b);
	struct tls_buffer *out = &c->out;

	BIO_clear_retry_flags(b);
	/* Nothing may follow close_notify. (A reader answers updates of keys
	 * still; the peer may have closed its socket, and would reset it.) */
	if (c->shut)
		return len;
	if (out->end >= TLS_OUT_MOST) {
		BIO_set_retry_write(b);
		return -1;
	}
	if (!make_room(out, (size_t)len)) {
		c->no_memory = true;
		return -1;
	}
	memcpy(out->bytes + out->end, from, (size_t)len);
	out->end += (size_t)len;
	return len;
}

static long
bio_ctrl(BIO *b, int what, long n, void *p)
{
	(void)b, (void)n, (void)p;
	return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;

static void
make_method(void *unused)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() |
	    BIO_TYPE_SOURCE_SINK, "weft");

	(void)unused;
	if (m) {
		BIO_meth_set_read(m, bio_read);
		BIO_meth_set_write(m, bio_write);
		BIO_meth_set_ctrl(m, bio_ctrl);
	}
	method = m;
}

BIO *
transport_bio(weft_tls *c)
{
	BIO *b = method ? BIO_new(method) : NULL;

	if (b) {
		BIO_set_data(b, c);
		BIO_set_init(b, 1);
	}
	return b;
}

void
transport_init(void)
{
	static weft_once once;

	weft_once_do(&once, make_method, NULL);
}

/* ---- receiving --------------------------------------------------------- */

static void *
make_bytes(void *unused)
{
	(void)unused;
	return malloc(TLS_IN_BYTES);
}

static weft_pool pool = { .make = make_bytes, .destroy = free };

unsigned char *
transport_get(void)
{
	return weft_pool_get(&pool);
}

void
transport_put(unsigned char *bytes)
{
	weft_pool_put(&pool, bytes);
}

static void
fill(weft_tls *c, unsigned char *bytes, size_t n)
{
	weft_mutex_lock(&c->state);
	c->in = (struct tls_buffer){ bytes, 0, n, TLS_IN_BYTES };
	weft_cond_broadcast(&c->fed);
	weft_mutex_unlock(&c->state);
	c->bulk = n >= FIRST_BYTES;
}

/* Some were received into the stack, and there may be more. */
static int
fill_behind(weft_tls *c, const unsigned char *first, size_t n)
{
	unsigned char *bytes = transport_get();
	ssize_t more = 0;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, first, n);
	/* An error will be met by the next receive. */
	if (n == FIRST_BYTES)
		more = weft_sock_recv(c->fd, bytes + n, TLS_IN_BYTES - n,
		    MSG_DONTWAIT);
	fill(c, bytes, n + (more > 0 ? (size_t)more : 0));
	return 1;
}

static int
pull_and_wait(weft_tls *c)
{
	unsigned char first[FIRST_BYTES];
	ssize_t n = weft_sock_recv(c->fd, first, sizeof first, 0);

	return n > 0 ? fill_behind(c, first, (size_t)n) : (int)n;
}

int
transport_pull(weft_tls *c)
{
	unsigned char *bytes;
	ssize_t n;

	if (!c->bulk)
		return pull_and_wait(c);
	bytes = transport_get();
	if (!bytes)
		return -ENOMEM;
	n = weft_sock_recv(c->fd, bytes, TLS_IN_BYTES, MSG_DONTWAIT);
	if (n > 0) {
		fill(c, bytes, (size_t)n);
		return 1;
	}
	transport_put(bytes);
	return n == -EAGAIN ? pull_and_wait(c) : (int)n;
}

void
transport_trim(weft_tls *c)
{
	unsigned char *bytes = NULL;

	weft_mutex_lock(&c->state);
	if (c->in.start == c->in.end) {
		bytes = c->in.bytes;
		c->in = (struct tls_buffer){0};
	}
	weft_mutex_unlock(&c->state);
	transport_put(bytes);
}

/* ---- sending ----------------------------------------------------------- */

/* All of `sending` was sent: the next bytes, if there are any. If not, there is
 * no memory either. */
static int
refill(weft_tls *c)
{
	struct tls_buffer empty = c->sending;

	weft_mutex_lock(&c->state);
	if (c->closed) {
		weft_mutex_unlock(&c->state);
		return -EBADF;
	}
	c->sending = c->out;
	empty.start = empty.end = 0;
	c->out = c->sending.end > 0 ? empty : (struct tls_buffer){0};
	weft_mutex_unlock(&c->state);
	if (c->sending.end > 0)
		return 1;
	free(empty.bytes);
	free(c->sending.bytes);
	c->sending = (struct tls_buffer){0};
	return 0;
}

int
transport_push(weft_tls *c, int flags)
{
	struct tls_buffer *s = &c->sending;
	ssize_t n;
	int more;

	for (;;) {
		if (s->start == s->end && (more = refill(c)) <= 0)
			return more;
		n = weft_sock_send(c->fd, s->bytes + s->start,
		    s->end - s->start, flags);
		if (n < 0)
			return (int)n;
		s->start += (size_t)n;
	}
}

/*
 * A goroutine that adds to `out` and then finds `writing` locked leaves it to
 * the owner. That one looks only after it has unlocked, so it sees the bytes,
 * or the other has found the lock free.
 */
void
transport_unlock(weft_tls *c)
{
	bool more;

	do {
		weft_mutex_unlock(&c->writing);
		weft_mutex_lock(&c->state);
		more = c->out.end > 0 && !c->closed;
		weft_mutex_unlock(&c->state);
		if (!more || !weft_mutex_try_lock(&c->writing))
			return;
	} while (transport_push(c, MSG_DONTWAIT) == 0);
	weft_mutex_unlock(&c->writing);
}

int
transport_nudge(weft_tls *c)
{
	int error;

	if (!weft_mutex_try_lock(&c->writing))
		return 0;
	error = transport_push(c, MSG_DONTWAIT);
	transport_unlock(c);
	return error;
}

void
transport_free(weft_tls *c)
{
	transport_put(c->in.bytes);
	free(c->out.bytes);
	free(c->sending.bytes);
}

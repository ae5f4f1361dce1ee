/* SPDX-License-Identifier: MIT */
/*
 * Handshake, read and write: calls of OpenSSL, with the waits between them.
 */
#include "connection.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define LOOK_EVERY (10 * WEFT_MS)

/* ---- handshake --------------------------------------------------------- */

/*
 * OpenSSL does not verify a certificate again when a session is resumed, but
 * keeps what was found then. A session that was made without verification must
 * not stand in for one. (weft_tls_session_set has seen to that; this is for
 * what comes from OpenSSL itself.) Within a stretch.
 */
static bool
resumed_unverified(weft_tls *c)
{
	if (!c->verify || !SSL_session_reused(c->ssl) ||
	    SSL_get_verify_result(c->ssl) == X509_V_OK)
		return false;
	c->failed = -EKEYREJECTED;
	tls_copy_text(c->why, sizeof c->why,
	    "handshake: the resumed session was not verified");
	return true;
}

/* One step of the handshake; made: there was nothing to do. */
static int
shake(weft_tls *c, enum tls_step *step, bool *made)
{
	int error = tls_begin(c);

	if (error)
		return error;
	*made = c->established;
	*step = *made ? TLS_DONE : tls_judge(c, SSL_do_handshake(c->ssl));
	if (*step == TLS_DONE && !*made && resumed_unverified(c))
		*step = TLS_FAILED;
	if (*step == TLS_ENDED) {
		c->failed = -EPROTO;
		tls_copy_text(c->why, sizeof c->why,
		    "handshake: close_notify from the peer");
	}
	error = c->failed;
	tls_end(c);
	return error;
}

static int
push(weft_tls *c)
{
	int error;

	weft_mutex_lock(&c->writing);
	error = transport_push(c, 0);
	transport_unlock(c);
	return error;
}

/* Only now may others read and write: what the handshake has to say is sent. */
static void
establish(weft_tls *c)
{
	weft_mutex_lock(&c->state);
	c->established = true;
	weft_mutex_unlock(&c->state);
}

/* A receive has failed, or is at the end of the stream (error is 0): what the
 * call returns. A socket that weft_tls_close has shut down is at its end, too.
 */
static int
no_input(weft_tls *c, const char *doing, int error)
{
	if (tls_is_closed(c))
		return -EBADF;
	if (error)
		return tls_fail(c, doing, error);
	weft_mutex_lock(&c->state);
	if (!c->failed)
		snprintf(c->why, sizeof c->why, "%s: the stream ended without "
		    "close_notify", doing);
	weft_mutex_unlock(&c->state);
	return -ECONNABORTED;
}

/* `handshaking` is held. */
static int
shake_hands(weft_tls *c)
{
	enum tls_step step;
	bool made;
	int error;

	for (;;) {
		error = shake(c, &step, &made);
		transport_trim(c);
		if (error) {
			transport_nudge(c);	/* an alert */
			return error;
		}
		if (made)
			return 0;
		error = push(c);
		if (error)
			return tls_fail(c, "handshake", error);
		if (step == TLS_DONE) {
			establish(c);
			return 0;
		}
		if (step != TLS_WANTS_INPUT)
			continue;
		error = transport_pull(c);
		if (error <= 0)
			return no_input(c, "handshake", error);
	}
}

int
tls_handshake(weft_tls *c)
{
	bool made;
	int error;

	weft_mutex_lock(&c->state);
	made = c->established;
	weft_mutex_unlock(&c->state);
	if (made)
		return 0;
	weft_mutex_lock(&c->handshaking);
	error = shake_hands(c);
	weft_mutex_unlock(&c->handshaking);
	return error;
}

public int
weft_tls_handshake(weft_tls *c)
{
	int error = tls_enter(c);

	if (error)
		return error;
	error = tls_handshake(c);
	tls_leave(c);
	return error;
}

/* ---- reading ----------------------------------------------------------- */

/* What OpenSSL has, or can decrypt of `in`: bytes, 0 at the end, -errno, or 0
 * and a step that says what it needs. */
static ssize_t
take(weft_tls *c, void *buf, size_t len, enum tls_step *step, bool *nudge)
{
	ssize_t error = tls_begin(c);
	size_t n = 0;

	*step = TLS_FAILED;
	if (error)
		return error;
	*step = tls_judge(c, SSL_read_ex(c->ssl, buf, len, &n));
	*nudge = c->out.end > 0;
	error = *step == TLS_FAILED ? c->failed : 0;
	tls_end(c);
	return error ? error : (ssize_t)n;
}

/* `reading` is held. */
static ssize_t
read_some(weft_tls *c, void *buf, size_t len)
{
	enum tls_step step;
	bool nudge = false;
	ssize_t n;
	int error;

	for (;;) {
		n = take(c, buf, len, &step, &nudge);
		transport_trim(c);
		if (nudge)
			transport_nudge(c);
		if (step == TLS_WANTS_ROOM) {
			error = push(c);
			if (error)
				return tls_fail(c, "read", error);
			continue;
		}
		if (step != TLS_WANTS_INPUT)
			return n;
		error = transport_pull(c);
		if (error <= 0)
			return no_input(c, "read", error);
	}
}

public ssize_t
weft_tls_read(weft_tls *c, void *buf, size_t len)
{
	ssize_t n = tls_enter(c);

	if (n)
		return n;
	n = len > 0 ? tls_handshake(c) : 0;
	if (n == 0 && len > 0) {
		weft_mutex_lock(&c->reading);
		n = read_some(c, buf, len);
		weft_mutex_unlock(&c->reading);
	}
	tls_leave(c);
	return n;
}

public ssize_t
weft_tls_read_full(weft_tls *c, void *buf, size_t len, size_t *done)
{
	size_t have = 0;
	ssize_t n = 1;

	while (have < len && n > 0) {
		n = weft_tls_read(c, (char *)buf + have, len - have);
		have += n > 0 ? (size_t)n : 0;
	}
	if (done)
		*done = have;
	return n < 0 ? n : (ssize_t)have;
}

/* ---- writing ----------------------------------------------------------- */

static bool
has_input(const weft_tls *c)
{
	return c->in.start < c->in.end || c->closed || c->failed;
}

/* `reading` is held, as it is for a reader that comes for the same reason. */
static int
pull_for_writer(weft_tls *c)
{
	int error = 1;
	bool have;

	weft_mutex_lock(&c->state);
	have = has_input(c);
	weft_mutex_unlock(&c->state);
	if (!have)
		error = transport_pull(c);
	return error > 0 ? 0 : no_input(c, "write", error);
}

/*
 * A reader receives it, and ends its wait neither by our deadline nor by our
 * context. The case is rare, so these are looked at now and then, by a send of
 * nothing.
 */
int
tls_await_input(weft_tls *c)
{
	ssize_t error;

	if (weft_mutex_try_lock(&c->reading)) {
		error = pull_for_writer(c);
		weft_mutex_unlock(&c->reading);
		return (int)error;
	}
	weft_mutex_lock(&c->state);
	if (!has_input(c))
		weft_cond_wait_until(&c->fed, &c->state,
		    weft_deadline(LOOK_EVERY));
	weft_mutex_unlock(&c->state);
	error = weft_sock_send(c->fd, "", 0, MSG_DONTWAIT);
	return error < 0 && error != -EAGAIN ? (int)error : 0;
}

/* Encrypts as much as fits into `out`; *done grows. -EAGAIN: there must be
 * input first. */
static int
give(weft_tls *c, const char *buf, size_t len, size_t *done)
{
	enum tls_step step = TLS_DONE;
	int error = tls_begin(c);
	size_t n;

	if (error)
		return error;
	if (c->shut)
		error = -EPIPE;
	while (!error && step == TLS_DONE && *done < len &&
	    c->out.end < TLS_OUT_BATCH) {
		n = len - *done < TLS_RECORD ? len - *done : TLS_RECORD;
		step = tls_judge(c, SSL_write_ex(c->ssl, buf + *done, n, &n));
		if (step == TLS_DONE)
			*done += n;
		else if (step == TLS_FAILED)
			error = c->failed;
		else if (step != TLS_WANTS_ROOM)
			error = step == TLS_ENDED ? -EPIPE : -EAGAIN;
	}
	tls_end(c);
	return error;
}

/* `writing` is held. */
static int
write_all(weft_tls *c, const char *buf, size_t len, size_t *done)
{
	int error = transport_push(c, 0);

	while (!error && *done < len) {
		error = give(c, buf, len, done);
		if (error == -EAGAIN)
			error = tls_await_input(c);
		if (!error)
			error = transport_push(c, 0);
	}
	return error;
}

/* All of iov, piece by piece through `room`; NULL: there is one at most. */
static int
write_pieces(weft_tls *c, const struct iovec *iov, int n, size_t *done,
    unsigned char *room)
{
	size_t taken, have, part, skip = 0;
	int error = 0;

	if (!room)
		return n == 0 ? transport_push(c, 0) :
		    write_all(c, iov->iov_base, iov->iov_len, done);
	for (int i = 0; i < n && !error;) {
		for (have = 0; i < n && have < TLS_RECORD;) {
			part = iov[i].iov_len - skip;
			if (part > TLS_RECORD - have)
				part = TLS_RECORD - have;
			if (part > 0)
				memcpy(room + have, (char *)iov[i].iov_base +
				    skip, part);
			have += part;
			skip += part;
			if (skip == iov[i].iov_len) {
				skip = 0;
				i++;
			}
		}
		taken = 0;
		error = write_all(c, (char *)room, have, &taken);
		*done += taken;
	}
	return error;
}

static int
write_entered(weft_tls *c, const struct iovec *iov, int n, size_t *done)
{
	unsigned char *room = NULL;
	int error = tls_handshake(c);

	if (error)
		return error;
	if (n > 1 && !(room = transport_get()))
		return -ENOMEM;
	weft_mutex_lock(&c->writing);
	error = write_pieces(c, iov, n, done, room);
	transport_unlock(c);
	transport_put(room);
	/* A socket that weft_tls_close has shut down refuses with -EPIPE. */
	if (error == -EPIPE && tls_is_closed(c))
		return -EBADF;
	return tls_fail(c, "write", error);
}

public ssize_t
weft_tls_writev(weft_tls *c, const struct iovec *iov, int n, size_t *done)
{
	size_t taken = 0;
	int error = n < 0 ? -EINVAL : tls_enter(c);

	if (!error) {
		error = write_entered(c, iov, n, &taken);
		tls_leave(c);
	}
	if (done)
		*done = taken;
	return error ? error : (ssize_t)taken;
}

public ssize_t
weft_tls_write_full(weft_tls *c, const void *buf, size_t len, size_t *done)
{
	struct iovec v = { (void *)(uintptr_t)buf, len };

	return weft_tls_writev(c, &v, 1, done);
}

public ssize_t
weft_tls_write(weft_tls *c, const void *buf, size_t len)
{
	return weft_tls_write_full(c, buf, len, NULL);
}

public bool
weft_tls_buffered(weft_tls *c)
{
	bool any = false;

	if (tls_begin(c) == 0) {
		any = c->in.start < c->in.end || SSL_has_pending(c->ssl);
		tls_end(c);
	}
	return any;
}

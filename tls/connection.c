/* SPDX-License-Identifier: MIT */
/*
 * Connections, from the descriptor to its close; connection.h has the locks
 * and the protocol.
 */
#include "connection.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

/* ---- stretches --------------------------------------------------------- */

/*
 * Between the two the goroutine is neither moved to another thread nor paused
 * with it, in which case it could hold one of OpenSSL's locks for long. (In a
 * program that is linked with OpenSSL no signal would move it: it fails the
 * audit. But that could be allowed.) The P may be retaken, which does no harm.
 */
void
tls_thread_begin(void)
{
	weft_preempt_off();
	ERR_clear_error();
}

void
tls_thread_end(void)
{
	ERR_clear_error();
	weft_preempt_on();
}

int
tls_begin(weft_tls *c)
{
	int error;

	weft_mutex_lock(&c->state);
	error = c->closed ? -EBADF : c->failed;
	if (error)
		weft_mutex_unlock(&c->state);
	else
		tls_thread_begin();
	return error;
}

void
tls_end(weft_tls *c)
{
	tls_thread_end();
	weft_mutex_unlock(&c->state);
}

/* ---- users ------------------------------------------------------------- */

bool
tls_is_closed(weft_tls *c)
{
	bool closed;

	weft_mutex_lock(&c->state);
	closed = c->closed;
	weft_mutex_unlock(&c->state);
	return closed;
}

int
tls_enter(weft_tls *c)
{
	bool closed;

	weft_mutex_lock(&c->state);
	closed = c->closed;
	if (!closed)
		c->users++;
	weft_mutex_unlock(&c->state);
	return closed ? -EBADF : 0;
}

void
tls_leave(weft_tls *c)
{
	bool last;
	int fd = c->fd;

	weft_mutex_lock(&c->state);
	last = --c->users == 0 && c->closed;
	weft_mutex_unlock(&c->state);
	/* From here on c may be freed, if this is not the last. */
	if (last)
		weft_close(fd);
}

/* ---- making ------------------------------------------------------------ */

static int
check_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
		return -errno;
	return type == SOCK_STREAM ? 0 : -EPROTOTYPE;
}

static bool
is_address(const char *name)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, bytes) == 1 ||
	    inet_pton(AF_INET6, name, bytes) == 1;
}

/* The name that the server's certificate must have. Within a stretch. */
static bool
set_name(SSL *ssl, const char *name)
{
	if (is_address(name))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
		    name) == 1;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, name) == 1 &&
	    SSL_set_tlsext_host_name(ssl, name) == 1;
}

static bool
open_ssl(weft_tls *c)
{
	BIO *bio = NULL;
	bool ok;

	tls_thread_begin();
	c->ssl = config_open(c->conf, c->server);
	ok = c->ssl && (!c->name || set_name(c->ssl, c->name)) &&
	    (bio = transport_bio(c)) != NULL;
	if (ok) {
		SSL_set_bio(c->ssl, bio, bio);
	} else {
		SSL_free(c->ssl);
	}
	tls_thread_end();
	return ok;
}

static int
make(weft_tls **out, weft_tls_config *conf, int fd, bool server,
    const char *name)
{
	weft_tls *c = calloc(1, sizeof *c);

	transport_init();
	if (!c)
		return -ENOMEM;
	c->fd = fd;
	c->server = server;
	c->conf = conf;
	c->verify = config_verifies(conf, server);
	c->name = name ? strdup(name) : NULL;
	if ((name && !c->name) || !open_ssl(c)) {
		free(c->name);
		free(c);
		return -ENOMEM;
	}
	config_retain(conf);
	*out = c;
	return 0;
}

public int
weft_tls_server(weft_tls **out, weft_tls_config *conf, int fd)
{
	int error = check_socket(fd);

	if (error)
		return error;
	if (!config_has_cert(conf))
		return -EINVAL;
	return make(out, conf, fd, true, NULL);
}

public int
weft_tls_client(weft_tls **out, weft_tls_config *conf, int fd,
    const char *name)
{
	int error = check_socket(fd);

	if (error)
		return error;
	/* To OpenSSL a dot in front means any name that ends so. */
	if (name ? !*name || *name == '.' || strlen(name) > TLS_NAME :
	    config_verifies(conf, false))
		return -EINVAL;
	config_load_system(conf);
	return make(out, conf, fd, false, name);
}

public int
weft_tls_fd(const weft_tls *c)
{
	return c->fd;
}

/* ---- closing ----------------------------------------------------------- */

/*
 * Within a stretch. OpenSSL refuses in the middle of a message of the protocol:
 * that is taken in first.
 */
static enum tls_step
put_notify(weft_tls *c)
{
	enum tls_step step = TLS_DONE;
	int r;

	if (SSL_in_init(c->ssl))
		step = tls_judge(c, SSL_do_handshake(c->ssl));
	if (step != TLS_DONE)
		return step;
	r = SSL_shutdown(c->ssl);
	/* 0 is not an error: the peer has not said it yet. */
	return r >= 0 ? TLS_DONE : tls_judge(c, r);
}

/* Puts close_notify into `out`, once: 0 or -errno; -EAGAIN: not before there is
 * more input, -ENOBUFS: or room. */
static int
say_goodbye(weft_tls *c)
{
	int error = tls_begin(c);
	enum tls_step step;

	if (error)
		return error;
	if (!c->established) {
		error = -ENOTCONN;
	} else if (!c->shut) {
		step = put_notify(c);
		c->shut = step == TLS_DONE;
		error = step == TLS_DONE ? 0 : step == TLS_FAILED ? c->failed :
		    step == TLS_WANTS_ROOM ? -ENOBUFS : -EAGAIN;
	}
	tls_end(c);
	return error;
}

public int
weft_tls_shutdown(weft_tls *c)
{
	int error = tls_enter(c);
	bool again;

	if (error)
		return error;
	weft_mutex_lock(&c->writing);
	do {
		error = say_goodbye(c);
		again = error == -EAGAIN || error == -ENOBUFS;
		if (error == -EAGAIN)
			error = tls_await_input(c);
		if (!error || error == -ENOBUFS)
			error = transport_push(c, 0);
	} while (again && !error);
	transport_unlock(c);
	error = tls_fail(c, "shutdown", error);
	tls_leave(c);
	return error;
}

/* The first to close; then it is a user. */
static bool
begin_close(weft_tls *c)
{
	bool first;

	weft_mutex_lock(&c->state);
	first = !c->closing;
	if (first) {
		c->closing = true;
		c->users++;
	}
	weft_mutex_unlock(&c->state);
	return first;
}

public int
weft_tls_close(weft_tls *c)
{
	bool others;
	int error;

	if (!begin_close(c))
		return -EBADF;
	/* A limit that is over would keep close_notify back; there will be no
	 * other call that it could end. */
	if (say_goodbye(c) == 0 &&
	    (error = transport_nudge(c), error == -ETIMEDOUT ||
	    error == -ECANCELED)) {
		weft_set_context(c->fd, NULL);
		weft_set_write_deadline(c->fd, 0);
		transport_nudge(c);
	}
	weft_mutex_lock(&c->state);
	c->closed = true;
	others = c->users > 1;
	weft_cond_broadcast(&c->fed);
	weft_mutex_unlock(&c->state);
	if (others)
		weft_shutdown(c->fd, SHUT_RDWR);
	tls_leave(c);
	return 0;
}

public void
weft_tls_free(weft_tls *c)
{
	if (!c)
		return;
	weft_mutex_lock(&c->state);
	if (c->users > 0) {
		fprintf(stderr, "weft_tls_free: %d calls on this connection "
		    "are in progress; wait for them after weft_tls_close\n",
		    c->users);
		abort();
	}
	weft_mutex_unlock(&c->state);
	weft_tls_close(c);
	tls_thread_begin();
	SSL_free(c->ssl);
	tls_thread_end();
	transport_free(c);
	weft_tls_config_release(c->conf);
	free(c->name);
	free(c);
}

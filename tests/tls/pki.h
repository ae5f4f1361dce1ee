/* SPDX-License-Identifier: MIT */
/*
 * Connections of both kinds: of weft, and of plain OpenSSL on a thread of its
 * own; with the certificates of certificate.h.
 */
#ifndef TEST_PKI_H
#define TEST_PKI_H

#define _GNU_SOURCE 1
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <weft/tls.h>

#include "certificate.h"
#include "fd_pairs.h"
#include "plain_thread.h"
#include "run_env.h"

/* ---- connections of weft ----------------------------------------------- */

static inline weft_tls_config *
config_of(const weft_tls_options *o)
{
	weft_tls_config *conf = NULL;
	char why[WEFT_TLS_TEXT];
	int err = weft_tls_config_make(&conf, why, o, sizeof *o);

	if (err)
		fprintf(stderr, "# %s\n", why);
	MUST(err == 0);
	return conf;
}
#define CONFIG(...) config_of(&(weft_tls_options){ __VA_ARGS__ })
/* Servers and clients as they are mostly needed. */
#define SERVER(...) CONFIG(.cert = server_id.cert, .key = server_id.key, \
	__VA_ARGS__)
#define CLIENT(...) CONFIG(.ca = ca.cert, __VA_ARGS__)

/* Its error is that; says what it is if not. */
static inline void
error_is(int line, weft_tls *c, const char *part)
{
	char text[WEFT_TLS_TEXT];

	weft_tls_error(c, text, sizeof text);
	if (strstr(text, part))
		return;
	fprintf(stderr, "# it said: %s\n# not: %s\n", text, part);
	t_fail(__FILE__, line, "the text of the error");
}
#define ERROR_IS(c, part) error_is(__LINE__, c, part)

#define TEXT_IS(fn, c, expected) do {					\
	char text_[WEFT_TLS_TEXT];					\
	if (strcmp(fn(c, text_, sizeof text_), expected) != 0) {	\
		fprintf(stderr, "# %s\n", text_);			\
		t_fail(__FILE__, __LINE__, #fn " is " #expected);	\
	}								\
} while (0)

/* Two ends of a connection, both of weft, without a handshake. */
struct both {
	weft_tls *s, *c;
};

static inline struct both
pair_of(weft_tls_config *sc, weft_tls_config *cc)
{
	struct both b = {0};
	int end[2];

	wire(STREAM_NB, end);
	EQ(weft_tls_server(&b.s, sc, end[0]), 0);
	EQ(weft_tls_client(&b.c, cc, end[1], HERE), 0);
	return b;
}

static inline void
shake_into(weft_tls *c, weft_chan *out)
{
	weft_send(out, weft_tls_handshake(c));
}

/* Handshakes of both: the server's result, and the client's in *client. */
static inline int
shake_both(struct both b, int *client)
{
	weft_chan *out = weft_chan_of(int, 1);
	int r;

	weft_go(shake_into, b.s, out);
	*client = weft_tls_handshake(b.c);
	r = weft_recv(out, int);
	weft_chan_release(out);
	return r;
}

/* A pair that has made its handshake; the configurations are released. */
static inline struct both
joined_pair(weft_tls_config *sc, weft_tls_config *cc)
{
	struct both b = pair_of(sc, cc);
	int client;

	EQ(shake_both(b, &client), 0);
	EQ(client, 0);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
	return b;
}

static inline void
drop_pair(struct both b)
{
	weft_tls_free(b.c);
	weft_tls_free(b.s);
}

/* ---- plain OpenSSL on a thread ----------------------------------------- */

/* fn(ssl) runs there, on a blocking socket, and makes the handshake. */
struct plain {
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;
	void (*fn)(SSL *ssl);
	pthread_t thread;
};

static inline SSL_CTX *
plain_context(const struct identity *id)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);

	MUST(SSL_CTX_use_certificate(ctx, id->x) == 1);
	MUST(SSL_CTX_use_PrivateKey(ctx, id->pkey) == 1);
	MUST(X509_STORE_add_cert(store, ca.x) == 1);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"t", 1);
	return ctx;
}

static inline void *
plain_run(void *arg)
{
	struct plain *p = arg;

	p->fn(p->ssl);
	SSL_free(p->ssl);
	SSL_CTX_free(p->ctx);
	close(p->fd);
	return NULL;
}

static inline void
plain_start(struct plain *p, SSL_CTX *ctx, int fd, bool server,
    void (*fn)(SSL *ssl))
{
	*p = (struct plain){ .ctx = ctx, .ssl = SSL_new(ctx), .fd = fd,
		.fn = fn };
	MUST(p->ssl && SSL_set_fd(p->ssl, fd) == 1);
	if (server) {
		SSL_set_accept_state(p->ssl);
	} else {
		SSL_set_tlsext_host_name(p->ssl, HERE);
		SSL_set1_host(p->ssl, HERE);
		SSL_set_verify(p->ssl, SSL_VERIFY_PEER, NULL);
		SSL_set_connect_state(p->ssl);
	}
	EQ(pthread_create(&p->thread, NULL, plain_run, p), 0);
}

static inline void
plain_join(struct plain *p)
{
	weft_blocking(thread_join, &p->thread);
}

/* Reads just so many bytes; false at an end or error. */
static inline bool
plain_read(SSL *ssl, void *buf, size_t len)
{
	size_t have = 0, n;

	while (have < len && SSL_read_ex(ssl, (char *)buf + have, len - have,
	    &n) == 1)
		have += n;
	return have == len;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Configurations: an SSL_CTX, constant once it is made, and what is not in it.
 *
 * PEM is read into memory by weft, so that a slow disk delays no other
 * goroutine, and then parsed in one stretch. Nothing is ever asked of a
 * terminal: a key that is encrypted has its password in the options.
 */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

enum { PEM_MAX = 16 << 20, ALPN_MAX = 255 };

struct weft_tls_config {
	/* constant */
	SSL_CTX *ctx;
	enum weft_tls_client_auth client_auth;
	bool no_verify, has_cert, has_ca;
	unsigned alpn_bytes;
	unsigned char alpn[ALPN_MAX + 1];	/* as on the wire */
	/* any thread, atomic */
	int owners;
	weft_once system;
};

/* The PEM of the options, each NUL-terminated or NULL, and to be freed. */
struct pem {
	char *cert, *key, *ca;
};

/* ---- reading ----------------------------------------------------------- */

static int
refuse(char *why, int error, const char *what)
{
	snprintf(why, WEFT_TLS_TEXT, "%s", what);
	return error;
}

static int
load(char **out, const char *file, const char *text, char *why)
{
	int error = 0;

	*out = NULL;
	if (file && text)
		return refuse(why, -EINVAL, "both a file and its contents");
	if (text && !(*out = strdup(text)))
		error = -ENOMEM;
	if (file)
		error = weft_read_file(file, PEM_MAX, out, NULL);
	if (error)
		snprintf(why, WEFT_TLS_TEXT, "%.300s: %s",
		    file ? file : "options", weft_strerror(error));
	return error;
}

static void
unload(struct pem *pem)
{
	if (pem->key)
		OPENSSL_cleanse(pem->key, strlen(pem->key));
	free(pem->cert);
	free(pem->key);
	free(pem->ca);
}

static int
load_all(struct pem *pem, const weft_tls_options *o, char *why)
{
	int error = load(&pem->cert, o->cert_file, o->cert, why);

	if (!error)
		error = load(&pem->key, o->key_file, o->key, why);
	if (!error)
		error = load(&pem->ca, o->ca_file, o->ca, why);
	return error;
}

/* ---- parsing; all within a stretch ------------------------------------- */

/* -EPROTO is for peers. */
static int
blame(const char *doing, char *why)
{
	int error = tls_explain(doing, why);

	return error == -EPROTO ? -EINVAL : error;
}

static int
no_password(char *buf, int cap, int writing, void *unused)
{
	(void)buf, (void)cap, (void)writing, (void)unused;
	return -1;
}

/* Did the reading of certificates end because there are no more? */
static bool
at_end(void)
{
	unsigned long e = ERR_peek_last_error();

	if (ERR_GET_LIB(e) != ERR_LIB_PEM ||
	    ERR_GET_REASON(e) != PEM_R_NO_START_LINE)
		return false;
	ERR_clear_error();
	return true;
}

/* Calls fn, which takes the certificate over if it returns true, for each of
 * them: how many, or -1. */
static int
each_cert(const char *text, bool (*fn)(SSL_CTX *ctx, X509 *x, int nr),
    SSL_CTX *ctx)
{
	BIO *b = BIO_new_mem_buf(text, -1);
	bool ok = b != NULL;
	X509 *x;
	int n = 0;

	while (ok && (x = PEM_read_bio_X509_AUX(b, NULL, no_password, NULL))) {
		ok = fn(ctx, x, n++);
		if (!ok)
			X509_free(x);
	}
	ok = ok && at_end();
	BIO_free(b);
	return ok ? n : -1;
}

static bool
add_cert(SSL_CTX *ctx, X509 *x, int nr)
{
	bool ok;

	if (nr > 0)
		return SSL_CTX_add0_chain_cert(ctx, x) == 1;
	ok = SSL_CTX_use_certificate(ctx, x) == 1;
	if (ok)
		X509_free(x);		/* it has a reference of its own */
	return ok;
}

static bool
add_ca(SSL_CTX *ctx, X509 *x, int nr)
{
	bool ok = X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x) == 1 &&
	    SSL_CTX_add_client_CA(ctx, x) == 1;

	(void)nr;
	if (ok)
		X509_free(x);
	return ok;
}

static bool
use_key(SSL_CTX *ctx, const char *text, const char *password)
{
	BIO *b = BIO_new_mem_buf(text, -1);
	EVP_PKEY *key = b ? PEM_read_bio_PrivateKey(b, NULL,
	    password ? NULL : no_password, (void *)(uintptr_t)password) : NULL;
	bool ok = key && SSL_CTX_use_PrivateKey(ctx, key) == 1;

	EVP_PKEY_free(key);
	BIO_free(b);
	return ok;
}

static int
set_certs(weft_tls_config *conf, const struct pem *pem, const char *password,
    char *why)
{
	int n;

	if (!pem->cert != !pem->key)
		return refuse(why, -EINVAL, "a certificate needs its key, and "
		    "a key its certificate");
	if (pem->cert) {
		n = each_cert(pem->cert, add_cert, conf->ctx);
		if (n < 0)
			return blame("certificate", why);
		if (n == 0)
			return refuse(why, -EINVAL,
			    "certificate: no PEM certificate in it");
		if (!use_key(conf->ctx, pem->key, password) ||
		    SSL_CTX_check_private_key(conf->ctx) != 1)
			return blame("private key", why);
		conf->has_cert = true;
	}
	if (pem->ca) {
		n = each_cert(pem->ca, add_ca, conf->ctx);
		if (n < 0)
			return blame("authorities", why);
		if (n == 0)
			return refuse(why, -EINVAL,
			    "authorities: no PEM certificate in it");
		conf->has_ca = true;
	}
	return 0;
}

/* "h2,http/1.1" as lengths and names. */
static int
set_alpn(weft_tls_config *conf, const char *names, char *why)
{
	size_t len;

	while (names && *names) {
		len = strcspn(names, ",");
		if (len == 0 || conf->alpn_bytes + 1 + len > ALPN_MAX)
			return refuse(why, -EINVAL, "alpn: an empty name, or "
			    "more than 255 bytes");
		conf->alpn[conf->alpn_bytes] = (unsigned char)len;
		memcpy(conf->alpn + conf->alpn_bytes + 1, names, len);
		conf->alpn_bytes += 1 + (unsigned)len;
		names += len;
		if (*names == ',' && !*++names)
			return refuse(why, -EINVAL, "alpn: an empty name");
	}
	return 0;
}

/* A server has been offered names. */
static int
select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
    const unsigned char *offered, unsigned bytes, void *arg)
{
	weft_tls_config *conf = arg;
	unsigned char *chosen;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_len, conf->alpn,
	    conf->alpn_bytes, offered, bytes) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/*
 * Sessions of one server's configuration are of no use to another one, whose
 * tickets have other keys. For clients they are: all have the same context, or
 * a client would refuse its own session in another process.
 */
static bool
set_sessions(weft_tls_config *conf, const weft_tls_options *o)
{
	static const unsigned char context[] = "weft";

	if (SSL_CTX_set_session_id_context(conf->ctx, context,
	    sizeof context - 1) != 1)
		return false;
	if (o->session_lifetime > 0)
		SSL_CTX_set_timeout(conf->ctx,
		    (long)(o->session_lifetime / WEFT_SECOND));
	if (!o->no_resumption)
		return true;
	SSL_CTX_set_session_cache_mode(conf->ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(conf->ctx, SSL_OP_NO_TICKET);
	return SSL_CTX_set_num_tickets(conf->ctx, 0) == 1;
}

static bool
set_basics(weft_tls_config *conf, const weft_tls_options *o)
{
	conf->ctx = SSL_CTX_new(TLS_method());
	if (!conf->ctx)
		return false;
	SSL_CTX_set_options(conf->ctx, SSL_OP_NO_RENEGOTIATION |
	    SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(conf->ctx, SSL_MODE_RELEASE_BUFFERS |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* What is given as an authority is trusted, root or not. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(conf->ctx),
	    X509_V_FLAG_PARTIAL_CHAIN);
	return SSL_CTX_set_min_proto_version(conf->ctx, o->min_version ?
	    (int)o->min_version : TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_max_proto_version(conf->ctx,
	    (int)o->max_version) == 1 && set_sessions(conf, o);
}

static int
build(weft_tls_config *conf, const weft_tls_options *o, const struct pem *pem,
    char *why)
{
	int error;

	conf->client_auth = o->client_auth;
	conf->no_verify = o->no_verify;
	if (!set_basics(conf, o))
		return blame("options", why);
	error = set_certs(conf, pem, o->key_password, why);
	if (!error)
		error = set_alpn(conf, o->alpn, why);
	if (error)
		return error;
	if (conf->alpn_bytes > 0)
		SSL_CTX_set_alpn_select_cb(conf->ctx, select_alpn, conf);
	if (conf->client_auth != WEFT_TLS_NO_CERT && !conf->has_ca)
		return refuse(why, -EINVAL, "client_auth needs a ca");
	return 0;
}

/* ---- the object -------------------------------------------------------- */

static int
make(weft_tls_config **out, const weft_tls_options *o, char *why)
{
	weft_tls_config *conf = calloc(1, sizeof *conf);
	struct pem pem = {0};
	int error;

	if (!conf)
		return refuse(why, -ENOMEM, "out of memory");
	conf->owners = 1;
	error = load_all(&pem, o, why);
	if (!error) {
		tls_thread_begin();
		error = build(conf, o, &pem, why);
		tls_thread_end();
	}
	unload(&pem);
	if (error)
		weft_tls_config_release(conf);
	else
		*out = conf;
	return error;
}

public int
weft_tls_config_make(weft_tls_config **out, char *why,
    const weft_tls_options *opt, size_t size)
{
	char unwanted[WEFT_TLS_TEXT];
	weft_tls_options o = {0};

	if (opt)
		memcpy(&o, opt, size < sizeof o ? size : sizeof o);
	if (!why)
		why = unwanted;
	why[0] = 0;
	return make(out, &o, why);
}

void
config_retain(weft_tls_config *conf)
{
	__atomic_add_fetch(&conf->owners, 1, __ATOMIC_RELAXED);
}

public void
weft_tls_config_release(weft_tls_config *conf)
{
	if (!conf || __atomic_sub_fetch(&conf->owners, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	tls_thread_begin();
	SSL_CTX_free(conf->ctx);
	tls_thread_end();
	free(conf);
}

bool
config_has_cert(const weft_tls_config *conf)
{
	return conf->has_cert;
}

bool
config_verifies(const weft_tls_config *conf, bool server)
{
	return server ? conf->client_auth != WEFT_TLS_NO_CERT :
	    !conf->no_verify;
}

static void *
load_system(void *arg)
{
	weft_tls_config *conf = arg;

	ERR_clear_error();
	SSL_CTX_set_default_verify_paths(conf->ctx);
	ERR_clear_error();
	return NULL;
}

/* It parses some hundred certificates, from files. Without them no certificate
 * is valid, which a handshake says. */
static void
load_system_once(void *arg)
{
	weft_blocking(load_system, arg);
}

void
config_load_system(weft_tls_config *conf)
{
	if (!conf->has_ca && !conf->no_verify)
		weft_once_do(&conf->system, load_system_once, conf);
}

SSL *
config_open(const weft_tls_config *conf, bool server)
{
	int mode = SSL_VERIFY_NONE;
	SSL *ssl = SSL_new(conf->ctx);

	if (!ssl)
		return NULL;
	if (config_verifies(conf, server))
		mode = SSL_VERIFY_PEER;
	if (server && conf->client_auth == WEFT_TLS_REQUIRE_CERT)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	SSL_set_verify(ssl, mode, NULL);
	if (server) {
		SSL_set_accept_state(ssl);
		return ssl;
	}
	SSL_set_connect_state(ssl);
	/* 0 is its success. */
	if (conf->alpn_bytes > 0 && SSL_set_alpn_protos(ssl, conf->alpn,
	    conf->alpn_bytes) != 0) {
		SSL_free(ssl);
		return NULL;
	}
	return ssl;
}

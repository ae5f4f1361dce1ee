/* SPDX-License-Identifier: MIT */
/* What is known of a connection: of the peer, and of what was agreed on. */
#include "connection.h"

#include <stdio.h>
#include <string.h>

#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

/*
 * A stretch that also begins after a failure, and after weft_tls_close: the
 * object is there until weft_tls_free.
 */
static void
look(weft_tls *c)
{
	weft_mutex_lock(&c->state);
	tls_thread_begin();
}

public char *
weft_tls_error(weft_tls *c, char *text, size_t cap)
{
	look(c);
	tls_copy_text(text, cap, c->why);
	tls_end(c);
	return text;
}

static bool
know_peer(weft_tls *c)
{
	return c->established || c->failed;
}

public char *
weft_tls_verify_text(weft_tls *c, char *text, size_t cap)
{
	const char *s = "";
	long result;

	look(c);
	if (know_peer(c)) {
		result = SSL_get_verify_result(c->ssl);
		s = result != X509_V_OK ?
		    X509_verify_cert_error_string(result) :
		    SSL_get0_peer_certificate(c->ssl) ? "ok" :
		    "no certificate";
	}
	tls_copy_text(text, cap, s);
	tls_end(c);
	return text;
}

/* Within a stretch. */
static void
print_subject(X509 *x, char *text, size_t cap)
{
	BIO *b = BIO_new(BIO_s_mem());
	long n;
	char *p;

	if (b && X509_NAME_print_ex(b, X509_get_subject_name(x), 0,
	    XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB) >= 0 &&
	    (n = BIO_get_mem_data(b, &p)) > 0 && cap > 0)
		snprintf(text, cap, "%.*s", (int)n, p);
	BIO_free(b);
}

public char *
weft_tls_peer_subject(weft_tls *c, char *text, size_t cap)
{
	X509 *x;

	tls_copy_text(text, cap, "");
	look(c);
	x = SSL_get0_peer_certificate(c->ssl);
	if (x && know_peer(c))
		print_subject(x, text, cap);
	tls_end(c);
	return text;
}

public ssize_t
weft_tls_peer_cert(weft_tls *c, void *buf, size_t cap)
{
	unsigned char *p = buf;
	ssize_t n = 0;
	X509 *x;

	look(c);
	x = SSL_get0_peer_certificate(c->ssl);
	if (x && know_peer(c)) {
		n = i2d_X509(x, NULL);
		if (n > 0 && (size_t)n <= cap)
			n = i2d_X509(x, &p);
	}
	tls_end(c);
	return n < 0 ? -ENOMEM : n;
}

public char *
weft_tls_alpn(weft_tls *c, char *text, size_t cap)
{
	const unsigned char *name = NULL;
	unsigned len = 0;

	look(c);
	if (c->established)
		SSL_get0_alpn_selected(c->ssl, &name, &len);
	if (cap > 0)
		snprintf(text, cap, "%.*s", (int)len,
		    name ? (const char *)name : "");
	tls_end(c);
	return text;
}

public char *
weft_tls_server_name(weft_tls *c, char *text, size_t cap)
{
	const char *s = c->name;

	look(c);
	if (c->server && know_peer(c))
		s = SSL_get_servername(c->ssl, TLSEXT_NAMETYPE_host_name);
	tls_copy_text(text, cap, s ? s : "");
	tls_end(c);
	return text;
}

public char *
weft_tls_cipher(weft_tls *c, char *text, size_t cap)
{
	look(c);
	tls_copy_text(text, cap, c->established ?
	    SSL_get_cipher_name(c->ssl) : "");
	tls_end(c);
	return text;
}

public int
weft_tls_version(weft_tls *c)
{
	int version;

	look(c);
	version = c->established ? SSL_version(c->ssl) : 0;
	tls_end(c);
	return version;
}

public bool
weft_tls_resumed(weft_tls *c)
{
	bool resumed;

	look(c);
	resumed = c->established && SSL_session_reused(c->ssl);
	tls_end(c);
	return resumed;
}

/* SPDX-License-Identifier: MIT */
/*
 * Sessions as bytes. OpenSSL's own form does not say reliably for which name
 * the certificate was verified, or that it was, and neither is checked again
 * when it is resumed. So there is a head in front of it:
 *
 *	4 bytes		"WTS1"
 *	1 byte		1: the certificate was verified
 *	1 byte		length of the server's name
 *	the name, and OpenSSL's DER
 */
#include "connection.h"

#include <string.h>

static const unsigned char magic[4] = { 'W', 'T', 'S', '1' };
enum { AT_VERIFIED = sizeof magic, AT_LENGTH, AT_NAME };

static size_t
name_length(const weft_tls *c)
{
	return c->name ? strlen(c->name) : 0;
}

/* Within a stretch: as weft_tls_session_get. */
static ssize_t
put(weft_tls *c, SSL_SESSION *s, unsigned char *buf, size_t cap)
{
	size_t name = name_length(c);
	int der = i2d_SSL_SESSION(s, NULL);
	unsigned char *p;

	if (der <= 0)
		return -ENOMEM;
	if (cap < AT_NAME + name + (size_t)der)
		return (ssize_t)(AT_NAME + name + (size_t)der);
	memcpy(buf, magic, sizeof magic);
	buf[AT_VERIFIED] = c->verify &&
	    SSL_get_verify_result(c->ssl) == X509_V_OK;
	buf[AT_LENGTH] = (unsigned char)name;
	memcpy(buf + AT_NAME, c->name ? c->name : "", name);
	p = buf + AT_NAME + name;
	i2d_SSL_SESSION(s, &p);
	return p - buf;
}

public ssize_t
weft_tls_session_get(weft_tls *c, void *buf, size_t cap)
{
	ssize_t n = tls_enter(c);
	SSL_SESSION *s;

	if (n)
		return n;
	n = tls_begin(c);
	if (n == 0) {
		s = c->established && !c->server ? SSL_get1_session(c->ssl) :
		    NULL;
		if (s && SSL_SESSION_is_resumable(s))
			n = put(c, s, buf, cap);
		SSL_SESSION_free(s);
		tls_end(c);
	}
	tls_leave(c);
	return n;
}

/* Are these bytes of a connection like this one? */
static bool
matches(const weft_tls *c, const unsigned char *p, size_t len)
{
	size_t name = name_length(c);

	return len > AT_NAME + name && memcmp(p, magic, sizeof magic) == 0 &&
	    (p[AT_VERIFIED] || !c->verify) && p[AT_LENGTH] == name &&
	    memcmp(p + AT_NAME, c->name ? c->name : "", name) == 0;
}

/* Within a stretch. */
static int
set(weft_tls *c, const unsigned char *p, size_t len)
{
	const unsigned char *end = p + len;
	SSL_SESSION *s = NULL;
	int error = -EINVAL;

	if (c->server || !SSL_in_before(c->ssl))
		return -EISCONN;
	if (!matches(c, p, len) || len > INT32_MAX)
		return error;
	p += AT_NAME + name_length(c);
	s = d2i_SSL_SESSION(NULL, &p, (long)(end - p));
	if (s && p == end)
		error = SSL_set_session(c->ssl, s) == 1 ? 0 : -EINVAL;
	SSL_SESSION_free(s);
	return error;
}

public int
weft_tls_session_set(weft_tls *c, const void *buf, size_t len)
{
	int error = tls_enter(c);

	if (error)
		return error;
	error = tls_begin(c);
	if (!error) {
		error = set(c, buf, len);
		tls_end(c);
	}
	tls_leave(c);
	return error;
}

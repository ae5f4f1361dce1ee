/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, as a number and as text.
 *
 * OpenSSL's queue of errors belongs to the thread: it is emptied before a call
 * (tls_begin) and read after it, within the same stretch.
 */
#include "connection.h"

#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

char *
tls_copy_text(char *text, size_t cap, const char *s)
{
	if (cap > 0)
		snprintf(text, cap, "%s", s);
	return text;
}

/* The cause comes first; what other parts of OpenSSL say about it is of less
 * use than what its TLS says. */
static unsigned long
take_error(void)
{
	unsigned long first = ERR_get_error(), e;

	for (e = first; e; e = ERR_get_error()) {
		if (ERR_GET_LIB(e) == ERR_LIB_SSL) {
			ERR_clear_error();
			return e;
		}
	}
	return first;
}

static int
number_of(unsigned long e)
{
	int reason = ERR_GET_REASON(e);

	if (reason == ERR_R_MALLOC_FAILURE)
		return -ENOMEM;
	if (ERR_GET_LIB(e) == ERR_LIB_SSL &&
	    (reason == SSL_R_CERTIFICATE_VERIFY_FAILED ||
	    reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE))
		return -EKEYREJECTED;
	return -EPROTO;
}

/* The peer's own words begin with the name of a version that means nothing. */
static void
describe(unsigned long e, char *text, size_t cap)
{
	const char *s = ERR_reason_error_string(e), *word;
	bool alert = ERR_GET_LIB(e) == ERR_LIB_SSL &&
	    ERR_GET_REASON(e) > SSL_AD_REASON_OFFSET;

	if (s && alert && (word = strstr(s, "alert ")))
		snprintf(text, cap, "alert from the peer: %s", word + 6);
	else if (s)
		snprintf(text, cap, "%s", s);
	else if (e)
		ERR_error_string_n(e, text, cap);
	else
		snprintf(text, cap, "unknown error");
}

int
tls_explain(const char *doing, char *why)
{
	unsigned long e = take_error();
	char text[WEFT_TLS_TEXT / 2];

	describe(e, text, sizeof text);
	snprintf(why, WEFT_TLS_TEXT, "%s: %s", doing, text);
	return number_of(e);
}

static void
explain_failure(weft_tls *c)
{
	const char *doing = c->established ? "connection" : "handshake";
	long verified = SSL_get_verify_result(c->ssl);
	size_t n;

	c->failed = tls_explain(doing, c->why);
	if (c->no_memory)
		c->failed = -ENOMEM;
	n = strlen(c->why);
	if (c->failed == -EKEYREJECTED && verified != X509_V_OK)
		snprintf(c->why + n, sizeof c->why - n, ": %s",
		    X509_verify_cert_error_string(verified));
}

enum tls_step
tls_judge(weft_tls *c, int r)
{
	switch (SSL_get_error(c->ssl, r)) {
	case SSL_ERROR_NONE:
		return TLS_DONE;
	case SSL_ERROR_WANT_READ:
		return TLS_WANTS_INPUT;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANTS_ROOM;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_ENDED;
	default:
		explain_failure(c);
		return TLS_FAILED;
	}
}

int
tls_fail(weft_tls *c, const char *doing, int error)
{
	char text[WEFT_TLS_TEXT / 2];

	if (error >= 0)
		return error;
	snprintf(text, sizeof text, "%s", weft_strerror(error));
	weft_mutex_lock(&c->state);
	/* What OpenSSL has said stays, as its result does. */
	if (!c->failed)
		snprintf(c->why, sizeof c->why, "%s: %s", doing, text);
	weft_mutex_unlock(&c->state);
	return error;
}

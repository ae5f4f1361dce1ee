/* SPDX-License-Identifier: MIT */
/* A certificate that is valid for a day, made by OpenSSL. */
#define _GNU_SOURCE 1
#include "certificate.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static char *
text_of(BIO *b)
{
	char *p = NULL;
	long n = BIO_get_mem_data(b, &p);

	return n > 0 ? strndup(p, (size_t)n) : NULL;
}

static bool
add_name(X509 *x, const char *name)
{
	X509_NAME *subject = X509_get_subject_name(x);
	char alt[300];
	X509_EXTENSION *e;
	bool ok;

	snprintf(alt, sizeof alt, "DNS:%s", name);
	e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alt);
	ok = e && X509_add_ext(x, e, -1) == 1 &&
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
	    (const unsigned char *)name, -1, -1, 0) == 1 &&
	    X509_set_issuer_name(x, subject) == 1;
	X509_EXTENSION_free(e);
	return ok;
}

_Bool
certificate_make(const char *name, char **cert, char **key)
{
	EVP_PKEY *pkey = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	BIO *c = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_mem());
	bool ok = pkey && x && c && k && X509_set_version(x, 2) == 1 &&
	    ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -60) &&
	    X509_gmtime_adj(X509_getm_notAfter(x), 86400) &&
	    add_name(x, name) && X509_set_pubkey(x, pkey) == 1 &&
	    X509_sign(x, pkey, EVP_sha256()) > 0 &&
	    PEM_write_bio_X509(c, x) == 1 &&
	    PEM_write_bio_PrivateKey(k, pkey, NULL, NULL, 0, NULL, NULL) == 1;

	*cert = ok ? text_of(c) : NULL;
	*key = ok ? text_of(k) : NULL;
	BIO_free(c);
	BIO_free(k);
	X509_free(x);
	EVP_PKEY_free(pkey);
	return *cert && *key;
}

/* SPDX-License-Identifier: MIT */
/* Certificates for tests, made in memory when they are needed, by libcrypto. */
#ifndef CERTIFICATE_H
#define CERTIFICATE_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "t.h"

#define MUST(x) do { if (!(x)) { t_fail(__FILE__, __LINE__, #x); abort(); } \
	} while (0)

struct identity {
	char *cert, *key;	/* PEM */
	X509 *x;
	EVP_PKEY *pkey;
};

static inline char *
pem_text(BIO *b)
{
	char *p, *text;
	long n = BIO_get_mem_data(b, &p);

	text = strndup(p, (size_t)n);
	BIO_free(b);
	return text;
}

static inline void
add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX v3;
	X509_EXTENSION *e;

	X509V3_set_ctx(&v3, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &v3, nid, value);
	MUST(e && X509_add_ext(x, e, -1) == 1);
	X509_EXTENSION_free(e);
}

/* Signed by ca, or by itself. alt: "DNS:a,IP:b"; NULL: it is an authority. It
 * is valid from a day ago for so many days. */
static inline struct identity
identity(const char *cn, const char *alt, const struct identity *ca, int days)
{
	static int serial = 1;
	struct identity id = {0};
	X509 *x = id.x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	BIO *b = BIO_new(BIO_s_mem());

	MUST(b && (id.pkey = EVP_EC_gen("P-256")));
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
	X509_gmtime_adj(X509_getm_notBefore(x), -86400);
	X509_gmtime_adj(X509_getm_notAfter(x), (days - 1) * 86400L);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)cn, -1, -1, 0);
	X509_set_issuer_name(x, ca ? X509_get_subject_name(ca->x) : name);
	X509_set_pubkey(x, id.pkey);
	add_extension(x, ca ? ca->x : x, NID_basic_constraints,
	    alt ? "CA:FALSE" : "critical,CA:TRUE");
	if (alt)
		add_extension(x, ca ? ca->x : x, NID_subject_alt_name, alt);
	MUST(X509_sign(x, ca ? ca->pkey : id.pkey, EVP_sha256()) > 0);
	PEM_write_bio_X509(b, x);
	id.cert = pem_text(b);
	b = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(b, id.pkey, NULL, NULL, 0, NULL, NULL);
	id.key = pem_text(b);
	return id;
}

#define HERE "here.test"

/* Of all tests: an authority, a server, a client; and another authority. */
static struct identity ca, server_id, client_id, other_ca;

static inline void
make_identities(void)
{
	if (ca.x)
		return;
	ca = identity("weft test CA", NULL, NULL, 10);
	other_ca = identity("another CA", NULL, NULL, 10);
	server_id = identity("the server", "DNS:" HERE ",IP:127.0.0.1,IP:::1",
	    &ca, 10);
	client_id = identity("a client", "DNS:client.test", &ca, 10);
}

#endif

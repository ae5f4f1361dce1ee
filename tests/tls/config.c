/* SPDX-License-Identifier: MIT */
/* Configurations that cannot be made, and why; and where PEM comes from. */
#include "pki.h"

static void
refused(int line, int error, const char *says, const weft_tls_options *o)
{
	weft_tls_config *conf = NULL;
	char why[WEFT_TLS_TEXT];

	EQ(weft_tls_config_make(&conf, why, o, sizeof *o), error);
	OK(!conf);
	if (!strstr(why, says)) {
		fprintf(stderr, "# it said: %s\n", why);
		t_fail(__FILE__, line, says);
	}
	EQ(weft_tls_config_make(&conf, NULL, o, sizeof *o), error);
}
#define REFUSED(error, says, ...) \
	refused(__LINE__, error, says, &(weft_tls_options){ __VA_ARGS__ })

GTEST(bad_options, 1)
{
	make_identities();
	REFUSED(-EINVAL, "needs its key", .cert = server_id.cert);
	REFUSED(-EINVAL, "needs its key", .key = server_id.key);
	REFUSED(-EINVAL, "private key: key values mismatch",
	    .cert = server_id.cert, .key = client_id.key);
	REFUSED(-EINVAL, "certificate: no PEM", .cert = "", .key = "");
	REFUSED(-EINVAL, "certificate: no PEM", .cert = "hello",
	    .key = server_id.key);
	REFUSED(-EINVAL, "private key: ", .cert = server_id.cert,
	    .key = "hello");
	REFUSED(-EINVAL, "certificate: ", .key = server_id.key,
	    .cert = "-----BEGIN CERTIFICATE-----\nAAAA\n"
	    "-----END CERTIFICATE-----\n");
	REFUSED(-EINVAL, "authorities: no PEM", .ca = server_id.key);
	REFUSED(-EINVAL, "client_auth needs a ca",
	    .client_auth = WEFT_TLS_ASK_CERT);
	REFUSED(-EINVAL, "both a file", .ca = ca.cert, .ca_file = "x");
	REFUSED(-EINVAL, "alpn: ", .alpn = ",");
	REFUSED(-EINVAL, "alpn: ", .alpn = "a,");
	REFUSED(-EINVAL, "alpn: ", .alpn = "a,,b");
	REFUSED(-EINVAL, "options: ",
	    .min_version = (enum weft_tls_protocol)5);
	REFUSED(-ENOENT, "/nowhere/x: No such file", .ca_file = "/nowhere/x");
	REFUSED(-EISDIR, "/: Is a directory", .ca_file = "/");
}

GTEST(long_alpn, 1)
{
	char names[300];

	make_identities();
	memset(names, 'a', sizeof names);
	names[254] = 0;
	weft_tls_config_release(CONFIG(.alpn = names));
	names[254] = 'a';
	names[255] = 0;
	REFUSED(-EINVAL, "alpn: ", .alpn = names);
}

static char *
encrypted_key(const char *password)
{
	BIO *b = BIO_new(BIO_s_mem());

	MUST(PEM_write_bio_PKCS8PrivateKey(b, server_id.pkey,
	    EVP_aes_128_cbc(), (char *)(uintptr_t)password,
	    (int)strlen(password), NULL, NULL) == 1);
	return pem_text(b);
}

/* No password: it is not asked for at the terminal. */
GTEST(encrypted, 1)
{
	char *key;

	make_identities();
	key = encrypted_key("secret");
	REFUSED(-EINVAL, "private key: ", .cert = server_id.cert, .key = key);
	REFUSED(-EINVAL, "private key: ", .cert = server_id.cert, .key = key,
	    .key_password = "wrong");
	weft_tls_config_release(CONFIG(.cert = server_id.cert, .key = key,
	    .key_password = "secret"));
	free(key);
}

static const char *
file_with(const char *dir, const char *name, const char *text)
{
	static char ring[4][128];
	static int next;
	char *path = ring[next++ % 4];

	snprintf(path, 128, "%s/%s", dir, name);
	EQ(weft_write_file(path, text, strlen(text), 0600), 0);
	return path;
}

/* From files, with a chain: the client knows the root only. */
GTEST(files_and_chain, 2)
{
	char dir[] = "/tmp/weft-tls-XXXXXX", chain[16384];
	struct identity middle, leaf;
	const char *cert, *key, *root;
	struct both b;

	make_identities();
	MUST(mkdtemp(dir));
	middle = identity("between", NULL, &ca, 10);
	leaf = identity("leaf", "DNS:" HERE, &middle, 10);
	snprintf(chain, sizeof chain, "%s%s", leaf.cert, middle.cert);
	cert = file_with(dir, "cert", chain);
	key = file_with(dir, "key", leaf.key);
	root = file_with(dir, "ca", ca.cert);
	b = joined_pair(CONFIG(.cert_file = cert, .key_file = key),
	    CONFIG(.ca_file = root));
	TEXT_IS(weft_tls_peer_subject, b.c, "CN = leaf");
	drop_pair(b);
	/* What is between may be what is trusted. */
	b = joined_pair(CONFIG(.cert = leaf.cert, .key = leaf.key),
	    CONFIG(.ca = middle.cert));
	drop_pair(b);
	EQ(weft_unlink(cert), 0);
	EQ(weft_unlink(key), 0);
	EQ(weft_unlink(root), 0);
	EQ(weft_rmdir(dir), 0);
}

/* A caller that was compiled with fewer members. */
GTEST(short_options, 1)
{
	weft_tls_options o = {0};
	weft_tls_config *conf;

	make_identities();
	o.cert = server_id.cert;
	o.key = server_id.key;
	o.alpn = ",";
	EQ(weft_tls_config_make(&conf, NULL, &o,
	    offsetof(weft_tls_options, alpn)), 0);
	weft_tls_config_release(conf);
	EQ(weft_tls_config_make(&conf, NULL, NULL, 0), 0);
	weft_tls_config_release(conf);
}

/* Connections outlive it. */
GTEST(released_early, 2)
{
	struct both b;
	weft_tls_config *sc, *cc;
	int client;

	make_identities();
	sc = SERVER(.alpn = "a");
	cc = CLIENT(.alpn = "a");
	b = pair_of(sc, cc);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
	EQ(shake_both(b, &client), 0);
	TEXT_IS(weft_tls_alpn, b.s, "a");
	drop_pair(b);
}

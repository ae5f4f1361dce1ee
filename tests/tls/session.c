/* SPDX-License-Identifier: MIT */
/* Sessions that are resumed, and those that must not be. */
#include "pki.h"

enum { ROOM = 16384 };

static char saved[ROOM];
static ssize_t saved_len;

/* A connection that resumes what is saved, and saves the next. */
static struct both
resume(weft_tls_config *sc, weft_tls_config *cc, bool expected)
{
	struct both b = pair_of(sc, cc);
	char byte;
	int client;

	if (saved_len > 0)
		EQ(weft_tls_session_set(b.c, saved, (size_t)saved_len), 0);
	EQ(shake_both(b, &client), 0);
	EQ(client, 0);
	EQ(weft_tls_resumed(b.c), expected);
	EQ(weft_tls_resumed(b.s), expected);
	/* The tickets of TLS 1.3 come with the first bytes. */
	EQ(weft_tls_write(b.s, "x", 1), 1);
	EQ(weft_tls_read(b.c, &byte, 1), 1);
	saved_len = weft_tls_session_get(b.c, saved, ROOM);
	OK(saved_len <= ROOM);
	EQ(weft_tls_session_get(b.c, NULL, 0), saved_len);
	return b;
}

static void
resumed(enum weft_tls_protocol version)
{
	weft_tls_config *sc = SERVER(.max_version = version, .alpn = "a",
	    .ca = ca.cert, .client_auth = WEFT_TLS_REQUIRE_CERT);
	weft_tls_config *cc = CLIENT(.cert = client_id.cert, .alpn = "a",
	    .key = client_id.key);
	struct both b;

	saved_len = 0;
	drop_pair(resume(sc, cc, false));
	for (int i = 0; i < 3; i++) {
		OK(saved_len > 0);
		b = resume(sc, cc, true);
		TEXT_IS(weft_tls_verify_text, b.c, "ok");
		TEXT_IS(weft_tls_peer_subject, b.c, "CN = the server");
		TEXT_IS(weft_tls_peer_subject, b.s, "CN = a client");
		TEXT_IS(weft_tls_verify_text, b.s, "ok");
		TEXT_IS(weft_tls_alpn, b.c, "a");
		drop_pair(b);
	}
	weft_tls_config_release(sc);
	/* Another server does not know it, and all goes on. */
	sc = SERVER(.max_version = version, .alpn = "a");
	drop_pair(resume(sc, cc, false));
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
}

static void
both_versions(void)
{
	make_identities();
	resumed(WEFT_TLS_1_2);
	resumed(WEFT_TLS_1_3);
}
GTEST(resumed_on_1, 1) { both_versions(); }
GTEST(resumed_on_2, 2) { both_versions(); }
ETEST(resumed_moving, 2, "WEFT_MIGRATE=1") { both_versions(); }

static void
not_given_out(enum weft_tls_protocol version)
{
	weft_tls_config *sc = SERVER(.max_version = version,
	    .no_resumption = true), *cc = CLIENT();

	saved_len = 0;
	drop_pair(resume(sc, cc, false));
	/* With TLS 1.2 the client has a session that no server resumes. */
	drop_pair(resume(sc, cc, false));
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
}

GTEST(no_resumption, 2)
{
	make_identities();
	not_given_out(WEFT_TLS_1_2);
	not_given_out(WEFT_TLS_1_3);
	EQ(saved_len, 0);
}

/* A session must not stand in for a verification that was not made. */
GTEST(not_for_another, 2)
{
	weft_tls_config *sc, *cc, *nv;
	struct both b;
	int end[2];

	make_identities();
	sc = SERVER();
	cc = CLIENT();
	nv = CONFIG(.no_verify = true);
	drop_pair(resume(sc, nv, false));
	b = pair_of(sc, cc);
	EQ(weft_tls_session_set(b.c, saved, (size_t)saved_len), -EINVAL);
	drop_pair(b);
	drop_pair(resume(sc, nv, true));

	/* One that was verified is fine, with the same name. */
	saved_len = 0;
	drop_pair(resume(sc, cc, false));
	drop_pair(resume(sc, nv, true));
	saved_len = 0;
	drop_pair(resume(sc, cc, false));
	wire(STREAM, end);
	EQ(weft_tls_client(&b.c, cc, end[0], "there.test"), 0);
	EQ(weft_tls_session_set(b.c, saved, (size_t)saved_len), -EINVAL);
	weft_tls_free(b.c);
	EQ(weft_close(end[1]), 0);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
	weft_tls_config_release(nv);
}

GTEST(bytes_that_are_none, 2)
{
	weft_tls_config *sc, *cc;
	struct both b;
	char copy[ROOM];
	int client;

	make_identities();
	sc = SERVER();
	cc = CLIENT();
	drop_pair(resume(sc, cc, false));
	b = pair_of(sc, cc);
	EQ(weft_tls_session_set(b.c, saved, 0), -EINVAL);
	EQ(weft_tls_session_set(b.c, "hello", 5), -EINVAL);
	for (ssize_t n = 0; n < saved_len; n++)
		EQ(weft_tls_session_set(b.c, saved, (size_t)n), -EINVAL);
	/* Whatever is damaged, nothing bad happens but a new session. */
	for (unsigned i = 0, seed = 1; i < 200; i++) {
		memcpy(copy, saved, (size_t)saved_len);
		copy[(size_t)rand_r(&seed) % (size_t)saved_len] ^=
		    (char)(1 << rand_r(&seed) % 8);
		weft_tls_session_set(b.c, copy, (size_t)saved_len);
	}
	EQ(weft_tls_session_set(b.c, saved, (size_t)saved_len), 0);
	EQ(weft_tls_session_set(b.s, saved, (size_t)saved_len), -EISCONN);
	EQ(shake_both(b, &client), 0);
	OK(weft_tls_resumed(b.c));
	EQ(weft_tls_session_set(b.c, saved, (size_t)saved_len), -EISCONN);
	drop_pair(b);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
}

/* OpenSSL as the server, and as the client, of the same. */
static void
serve_one(SSL *ssl)
{
	char byte;
	size_t n;

	EQ(SSL_do_handshake(ssl), 1);
	OK(plain_read(ssl, &byte, 1));
	byte = SSL_session_reused(ssl) ? 'r' : 'n';
	EQ(SSL_write_ex(ssl, &byte, 1, &n), 1);
	SSL_shutdown(ssl);
}

static void
ask_plain(weft_tls_config *cc, SSL_CTX *ctx, char expected)
{
	struct plain p;
	weft_tls *c;
	char byte;
	int end[2];

	wire(TCP4, end);
	SSL_CTX_up_ref(ctx);
	plain_start(&p, ctx, end[1], true, serve_one);
	EQ(weft_tls_client(&c, cc, end[0], HERE), 0);
	if (saved_len > 0)
		EQ(weft_tls_session_set(c, saved, (size_t)saved_len), 0);
	EQ(weft_tls_write(c, "?", 1), 1);
	EQ(weft_tls_read(c, &byte, 1), 1);
	EQ(byte, expected);
	EQ(weft_tls_resumed(c), expected == 'r');
	saved_len = weft_tls_session_get(c, saved, ROOM);
	weft_tls_free(c);
	plain_join(&p);
}

static void
with_plain(int version)
{
	weft_tls_config *cc = CLIENT();
	SSL_CTX *ctx = plain_context(&server_id);

	SSL_CTX_set_max_proto_version(ctx, version);
	saved_len = 0;
	ask_plain(cc, ctx, 'n');
	ask_plain(cc, ctx, 'r');
	ask_plain(cc, ctx, 'r');
	SSL_CTX_free(ctx);
	weft_tls_config_release(cc);
}

GTEST(resumed_by_plain_openssl, 2)
{
	make_identities();
	with_plain(TLS1_2_VERSION);
	with_plain(TLS1_3_VERSION);
}

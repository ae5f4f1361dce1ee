/* SPDX-License-Identifier: MIT */
/*
 * Handshakes between two ends of weft: what is agreed on, which certificates
 * are refused and by which end, and what ends a handshake.
 */
#include "pki.h"

/* Both results; the texts are the ends'. */
static void
fails(weft_tls_config *sc, weft_tls_config *cc, int server, const char *s_says,
    int client, const char *c_says)
{
	struct both b = pair_of(sc, cc);
	char byte;
	int got;

	EQ(shake_both(b, &got), server);
	/* With TLS 1.3 a client learns later that it is refused. */
	if (got == 0 && client < 0)
		got = (int)weft_tls_read(b.c, &byte, 1);
	EQ(got, client);
	if (server)
		ERROR_IS(b.s, s_says);
	if (client)
		ERROR_IS(b.c, c_says);
	/* It stays so. */
	if (server)
		EQ(weft_tls_read(b.s, &byte, 1), server);
	if (client)
		EQ(weft_tls_write(b.c, "x", 1), client);
	drop_pair(b);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
}

/* ---- agreement ---- */

static void
agrees_on(enum weft_tls_protocol version)
{
	struct both b = joined_pair(SERVER(.max_version = version,
	    .alpn = "h2,http/1.1"), CLIENT(.alpn = "http/1.0,http/1.1,h2"));
	char cert[4096], text[64];

	EQ(weft_tls_version(b.s), version);
	EQ(weft_tls_version(b.c), version);
	TEXT_IS(weft_tls_alpn, b.s, "h2");
	TEXT_IS(weft_tls_alpn, b.c, "h2");
	TEXT_IS(weft_tls_server_name, b.s, HERE);
	TEXT_IS(weft_tls_server_name, b.c, HERE);
	TEXT_IS(weft_tls_peer_subject, b.c, "CN = the server");
	TEXT_IS(weft_tls_peer_subject, b.s, "");
	TEXT_IS(weft_tls_verify_text, b.c, "ok");
	TEXT_IS(weft_tls_verify_text, b.s, "no certificate");
	TEXT_IS(weft_tls_error, b.c, "");
	OK(weft_tls_cipher(b.c, text, sizeof text)[0]);
	OK(!weft_tls_resumed(b.c));
	EQ(weft_tls_peer_cert(b.s, cert, sizeof cert), 0);
	EQ(weft_tls_peer_cert(b.c, NULL, 0), i2d_X509(server_id.x, NULL));
	EQ(weft_tls_peer_cert(b.c, cert, sizeof cert),
	    i2d_X509(server_id.x, NULL));
	EQ(weft_tls_handshake(b.c), 0);
	weft_tls_peer_subject(b.c, text, 4);
	EQ(strcmp(text, "CN "), 0);
	drop_pair(b);
}

static void
agreement(void)
{
	make_identities();
	agrees_on(WEFT_TLS_1_2);
	agrees_on(WEFT_TLS_1_3);
}
GTEST(agreement_on_1, 1) { agreement(); }
GTEST(agreement_on_2, 2) { agreement(); }
GTEST(agreement_on_4, 4) { agreement(); }
ETEST(agreement_moving, 2, "WEFT_MIGRATE=1") { agreement(); }

GTEST(nothing_known_before, 1)
{
	struct both b;
	char cert[1];

	make_identities();
	b = pair_of(SERVER(.alpn = "a"), CLIENT(.alpn = "a"));
	EQ(weft_tls_version(b.c), 0);
	TEXT_IS(weft_tls_alpn, b.c, "");
	TEXT_IS(weft_tls_cipher, b.c, "");
	TEXT_IS(weft_tls_verify_text, b.c, "");
	TEXT_IS(weft_tls_peer_subject, b.c, "");
	EQ(weft_tls_peer_cert(b.c, cert, 1), 0);
	EQ(weft_tls_session_get(b.c, cert, 1), 0);
	EQ(weft_tls_shutdown(b.c), -ENOTCONN);
	OK(!weft_tls_buffered(b.c));
	drop_pair(b);
}

GTEST(no_protocol_in_common, 2)
{
	make_identities();
	fails(SERVER(.alpn = "a"), CLIENT(.alpn = "b"), -EPROTO, "handshake: ",
	    -EPROTO, "alert from the peer: no application protocol");
}

GTEST(no_version_in_common, 2)
{
	make_identities();
	fails(SERVER(.max_version = WEFT_TLS_1_2),
	    CLIENT(.min_version = WEFT_TLS_1_3), -EPROTO,
	    "unsupported protocol", -EPROTO, "alert from the peer");
}

/* ---- certificates ---- */

GTEST(server_of_another_authority, 2)
{
	make_identities();
	fails(SERVER(), CONFIG(.ca = other_ca.cert), -EPROTO,
	    "alert from the peer: unknown ca", -EKEYREJECTED,
	    "certificate verify failed: unable to get local issuer");
}

GTEST(server_unknown_to_the_system, 2)
{
	make_identities();
	fails(SERVER(), CONFIG(), -EPROTO, "alert from the peer",
	    -EKEYREJECTED, "certificate verify failed");
}

GTEST(server_of_another_name, 2)
{
	struct identity id;

	make_identities();
	id = identity("x", "DNS:elsewhere.test", &ca, 10);
	fails(CONFIG(.cert = id.cert, .key = id.key), CLIENT(), -EPROTO,
	    "alert from the peer: bad certificate", -EKEYREJECTED,
	    "certificate verify failed: hostname mismatch");
}

GTEST(server_out_of_date, 2)
{
	struct identity id;

	make_identities();
	id = identity("x", "DNS:" HERE, &ca, 0);
	fails(CONFIG(.cert = id.cert, .key = id.key), CLIENT(), -EPROTO,
	    "alert from the peer: certificate expired", -EKEYREJECTED,
	    "certificate verify failed: certificate has expired");
}

GTEST(server_not_verified, 2)
{
	weft_tls_config *sc, *cc;
	struct both b;
	int end[2], client;

	make_identities();
	b = joined_pair(SERVER(), CONFIG(.no_verify = true));
	TEXT_IS(weft_tls_verify_text, b.c,
	    "unable to get local issuer certificate");
	drop_pair(b);

	/* Without a name. */
	wire(STREAM, end);
	sc = SERVER();
	cc = CONFIG(.no_verify = true);
	EQ(weft_tls_server(&b.s, sc, end[0]), 0);
	EQ(weft_tls_client(&b.c, cc, end[1], NULL), 0);
	EQ(shake_both(b, &client), 0);
	EQ(client, 0);
	TEXT_IS(weft_tls_server_name, b.s, "");
	drop_pair(b);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
}

static void
addressed(const char *name, int result)
{
	weft_tls_config *sc = SERVER(), *cc = CLIENT();
	struct both b;
	int end[2], client;

	wire(TCP4, end);
	EQ(weft_tls_server(&b.s, sc, end[0]), 0);
	EQ(weft_tls_client(&b.c, cc, end[1], name), 0);
	shake_both(b, &client);
	EQ(client, result);
	drop_pair(b);
	weft_tls_config_release(sc);
	weft_tls_config_release(cc);
}

GTEST(names_that_are_addresses, 2)
{
	make_identities();
	addressed("127.0.0.1", 0);
	addressed("::1", 0);
	addressed("127.0.0.2", -EKEYREJECTED);
	addressed("::2", -EKEYREJECTED);
}

static void
client_certificates(enum weft_tls_protocol version)
{
	struct identity stranger = identity("x", "DNS:x", &other_ca, 10);
	struct both b;

	b = joined_pair(SERVER(.ca = ca.cert, .max_version = version,
	    .client_auth = WEFT_TLS_ASK_CERT), CLIENT());
	TEXT_IS(weft_tls_verify_text, b.s, "no certificate");
	drop_pair(b);
	for (int a = WEFT_TLS_ASK_CERT; a <= WEFT_TLS_REQUIRE_CERT; a++) {
		b = joined_pair(SERVER(.ca = ca.cert, .max_version = version,
		    .client_auth = (enum weft_tls_client_auth)a),
		    CLIENT(.cert = client_id.cert, .key = client_id.key));
		TEXT_IS(weft_tls_verify_text, b.s, "ok");
		TEXT_IS(weft_tls_peer_subject, b.s, "CN = a client");
		drop_pair(b);
		fails(SERVER(.ca = ca.cert, .max_version = version,
		    .client_auth = (enum weft_tls_client_auth)a),
		    CLIENT(.cert = stranger.cert, .key = stranger.key),
		    -EKEYREJECTED, "certificate verify failed", -EPROTO,
		    "alert from the peer: unknown ca");
	}
	fails(SERVER(.ca = ca.cert, .max_version = version,
	    .client_auth = WEFT_TLS_REQUIRE_CERT), CLIENT(),
	    -EKEYREJECTED, "peer did not return a certificate", -EPROTO,
	    "alert from the peer");
	/* A server that does not ask gets none. */
	b = joined_pair(SERVER(.max_version = version),
	    CLIENT(.cert = client_id.cert, .key = client_id.key));
	TEXT_IS(weft_tls_verify_text, b.s, "no certificate");
	drop_pair(b);
}

GTEST(client_certificates_1_2, 2)
{
	make_identities();
	client_certificates(WEFT_TLS_1_2);
}
GTEST(client_certificates_1_3, 2)
{
	make_identities();
	client_certificates(WEFT_TLS_1_3);
}

/* ---- what is no TLS ---- */

static void
receives(const char *bytes, size_t n, bool then_closes, int result,
    const char *says)
{
	weft_tls_config *sc = SERVER();
	weft_tls *c;
	int end[2];

	wire(STREAM, end);
	EQ(weft_tls_server(&c, sc, end[0]), 0);
	EQ(weft_write(end[1], bytes, n), n);
	if (then_closes)
		EQ(weft_close(end[1]), 0);
	EQ(weft_tls_handshake(c), result);
	ERROR_IS(c, says);
	weft_tls_free(c);
	if (!then_closes)
		EQ(weft_close(end[1]), 0);
	weft_tls_config_release(sc);
}

GTEST(garbage, 2)
{
	static const char hello[] = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";
	char noise[4096];

	make_identities();
	receives("GET / HTTP/1.1\r\n\r\n", 18, false, -EPROTO, "http request");
	receives("hello, world\n", 13, false, -EPROTO, "handshake: ");
	receives("\x80\x2e\x01\x03\x01", 5, true, -ECONNABORTED,
	    "without close_notify");
	receives(hello, 10, false, -EPROTO, "handshake: ");
	receives("\x15\x03\x03\x00\x02\x02\x28", 7, false, -EPROTO,
	    "handshake: ");
	receives("", 0, true, -ECONNABORTED, "handshake: the stream ended");
	receives("\x16", 1, true, -ECONNABORTED, "handshake: the stream ended");
	for (unsigned seed = 0; seed < 50; seed++) {
		for (size_t i = 0; i < sizeof noise; i++)
			noise[i] = (char)rand_r(&seed);
		noise[0] = 'x';
		receives(noise, sizeof noise, false, -EPROTO, "handshake: ");
	}
}

GTEST(server_that_is_none, 2)
{
	weft_tls_config *cc;
	weft_tls *c;
	int end[2];

	make_identities();
	cc = CLIENT();
	wire(STREAM, end);
	EQ(weft_tls_client(&c, cc, end[0], HERE), 0);
	EQ(weft_write(end[1], "220 mail\r\n", 10), 10);
	EQ(weft_tls_write(c, "x", 1), -EPROTO);
	ERROR_IS(c, "handshake: ");
	weft_tls_free(c);
	EQ(weft_close(end[1]), 0);
	weft_tls_config_release(cc);
}

/* ---- limits ---- */

/* The handshake ends in the middle, and goes on. */
GTEST(deadline_in_a_handshake, 2)
{
	struct both b;
	int client;

	make_identities();
	b = pair_of(SERVER(), CLIENT());
	weft_set_deadline(weft_tls_fd(b.c), weft_deadline(20 * WEFT_MS));
	EQ(weft_tls_handshake(b.c), -ETIMEDOUT);
	ERROR_IS(b.c, "handshake: ");
	weft_set_read_deadline(weft_tls_fd(b.s), weft_deadline(20 * WEFT_MS));
	EQ(weft_tls_handshake(b.s), -ETIMEDOUT);
	EQ(weft_tls_handshake(b.s), -ETIMEDOUT);
	weft_set_deadline(weft_tls_fd(b.c), 0);
	weft_set_deadline(weft_tls_fd(b.s), 0);
	EQ(shake_both(b, &client), 0);
	EQ(client, 0);
	drop_pair(b);
}

static void
cancel_soon(weft_context *ctx)
{
	let_them_wait(1);
	weft_context_cancel(ctx, 0);
}

GTEST(context_in_a_handshake, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct both b;
	char byte;
	int client;

	make_identities();
	b = pair_of(SERVER(), CLIENT());
	EQ(weft_set_context(weft_tls_fd(b.s), ctx), 0);
	weft_go(cancel_soon, ctx);
	EQ(weft_tls_read(b.s, &byte, 1), -ECANCELED);
	EQ(weft_tls_write(b.s, "x", 1), -ECANCELED);
	EQ(weft_set_context(weft_tls_fd(b.s), NULL), 0);
	EQ(shake_both(b, &client), 0);
	EQ(client, 0);
	drop_pair(b);
	weft_context_release(ctx);
}

/* One shakes hands, the others wait for it; then a third closes. */
GTEST(closed_in_a_handshake, 2)
{
	weft_chan *out = weft_chan_of(int, 4);
	struct both b;

	make_identities();
	b = pair_of(SERVER(), CLIENT());
	for (int i = 0; i < 4; i++)
		weft_go(shake_into, b.s, out);
	let_them_wait(1);
	EQ(weft_tls_close(b.s), 0);
	for (int i = 0; i < 4; i++)
		EQ(weft_recv(out, int), -EBADF);
	EQ(weft_tls_close(b.s), -EBADF);
	EQ(weft_tls_handshake(b.s), -EBADF);
	EQ(weft_tls_handshake(b.c), -EPIPE);
	drop_pair(b);
	weft_chan_release(out);
}

GTEST(what_is_refused, 1)
{
	weft_tls_config *cc, *nv;
	char name[300];
	weft_tls *c;
	int end[2];

	make_identities();
	cc = CLIENT();
	nv = CONFIG(.no_verify = true);
	wire(STREAM, end);
	EQ(weft_tls_server(&c, cc, end[0]), -EINVAL);
	EQ(weft_tls_client(&c, cc, end[0], NULL), -EINVAL);
	EQ(weft_tls_client(&c, nv, end[0], ""), -EINVAL);
	EQ(weft_tls_client(&c, cc, end[0], ".test"), -EINVAL);
	memset(name, 'a', 256);
	name[256] = 0;
	EQ(weft_tls_client(&c, cc, end[0], name), -EINVAL);
	EQ(weft_tls_client(&c, cc, -1, HERE), -EBADF);
	EQ(weft_tls_client(&c, cc, 99999, HERE), -EBADF);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	wire(PIPE, end);
	EQ(weft_tls_client(&c, cc, end[0], HERE), -ENOTSOCK);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	wire(DGRAM, end);
	EQ(weft_tls_client(&c, cc, end[0], HERE), -EPROTOTYPE);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	weft_tls_config_release(cc);
	weft_tls_config_release(nv);
	weft_tls_config_release(NULL);
	weft_tls_free(NULL);
}

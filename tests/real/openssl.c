/* SPDX-License-Identifier: MIT */
/*
 * OpenSSL over blocking sockets (SSL_set_fd), with both ends on goroutines: a
 * hundred connections at a time, most of which fail, each in its own way.
 * OpenSSL keeps its queue of errors in a pthread key. A goroutine that waits
 * in the middle of a handshake, and moves before it asks for the error, must
 * find its own there, and no other.
 */
#define _GNU_SOURCE 1
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "certificate.h"
#include "connection.h"
#include "run_env.h"
#include "t.h"
#include "thread_count.h"

enum { CONNECTIONS = 110, ECHOES = 5, BLOCK = 10000 };

static weft_waitgroup all;
static SSL_CTX *server, *old_server, *trusting, *stranger, *modern;
static long failures_seen, echoes_seen;

/* ---- connections ---- */

static SSL_CTX *
context(const struct identity *authority)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());

	MUST(SSL_CTX_use_certificate(ctx, server_id.x) == 1);
	MUST(SSL_CTX_use_PrivateKey(ctx, server_id.pkey) == 1);
	MUST(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), authority->x)
	    == 1);
	return ctx;
}

static SSL *
new_server(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	MUST(ssl && SSL_set_fd(ssl, fd) == 1);
	SSL_set_accept_state(ssl);
	return ssl;
}

static SSL *
new_client(SSL_CTX *ctx, int fd, const char *name)
{
	SSL *ssl = SSL_new(ctx);

	MUST(ssl && SSL_set_fd(ssl, fd) == 1);
	SSL_set_tlsext_host_name(ssl, name);
	SSL_set1_host(ssl, name);
	SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	SSL_set_connect_state(ssl);
	return ssl;
}

/* A close with bytes unread would take what is on its way to the peer. */
static void
end(int fd)
{
	char buf[256];

	shutdown(fd, SHUT_WR);
	while (read(fd, buf, sizeof buf) > 0)
		;
	EQ(close(fd), 0);
}

static void
end_ssl(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	SSL_free(ssl);
	end(fd);
	EQ(ERR_peek_error(), 0);
}

/* ---- its own error ---- */

/* r is what a call of this connection has returned. */
static void
failed(const char *what, SSL *ssl, int r, int reason)
{
	unsigned long code;

	weft_yield();
	EQ(SSL_get_error(ssl, r), SSL_ERROR_SSL);
	weft_yield();
	code = ERR_get_error();
	if (ERR_GET_REASON(code) != reason) {
		fprintf(stderr, "# %s: %s, not %s\n", what,
		    ERR_reason_error_string(code),
		    ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason)));
		t_fail(__FILE__, __LINE__, "its own error");
	}
	weft_yield();
	EQ(ERR_get_error(), 0);
	bump(&failures_seen);
}

/* Beginning with no error of another's. */
static int
handshake(SSL *ssl)
{
	EQ(ERR_peek_error(), 0);
	return SSL_do_handshake(ssl);
}

/* ---- servers ---- */

static void
serve_echo(SSL *ssl)
{
	char buf[3000];
	int n;

	EQ(handshake(ssl), 1);
	while ((n = SSL_read(ssl, buf, sizeof buf)) > 0)
		EQ(SSL_write(ssl, buf, n), n);
	EQ(SSL_get_error(ssl, n), SSL_ERROR_ZERO_RETURN);
	EQ(SSL_shutdown(ssl), 1);
	end_ssl(ssl);
}

/* Fails in its handshake. */
static void
serve_nothing(SSL *ssl, int reason)
{
	failed("server", ssl, handshake(ssl), reason);
	end_ssl(ssl);
}

/* Fails after it. */
static void
serve_damaged(SSL *ssl)
{
	char byte;

	EQ(handshake(ssl), 1);
	failed("server", ssl, SSL_read(ssl, &byte, 1),
	    SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC);
	end_ssl(ssl);
}

/* ---- kinds of clients ---- */

/* By turns of a pair and of TCP; the client's end, with its server. */
static int
begin(SSL_CTX *ctx, SSL **s)
{
	static int turn;
	int fd[2];

	if (__atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED) % 2)
		unix_pair(fd);
	else
		tcp_pair(fd);
	*s = new_server(ctx, fd[0]);
	return fd[1];
}

static void
read_block(SSL *ssl, unsigned char *buf)
{
	size_t have = 0, n;

	while (have < BLOCK &&
	    SSL_read_ex(ssl, buf + have, BLOCK - have, &n) == 1)
		have += n;
	EQ(have, BLOCK);
}

static void
well_behaved(void)
{
	unsigned char out[BLOCK], in[BLOCK];
	SSL *s, *c;
	int fd = begin(server, &s);

	weft_waitgroup_go(&all, serve_echo, s);
	c = new_client(trusting, fd, HERE);
	EQ(handshake(c), 1);
	for (int i = 0; i < ECHOES; i++) {
		EQ(RAND_bytes(out, sizeof out), 1);
		EQ(SSL_write(c, out, sizeof out), sizeof out);
		read_block(c, in);
		OK(memcmp(in, out, sizeof in) == 0);
		bump(&echoes_seen);
	}
	EQ(SSL_shutdown(c), 0);
	EQ(SSL_read(c, in, 1), 0);
	EQ(SSL_get_error(c, 0), SSL_ERROR_ZERO_RETURN);
	end_ssl(c);
}

static void
sends(const char *bytes, size_t n, int reason)
{
	SSL *s;
	int fd = begin(server, &s);

	weft_waitgroup_go(&all, serve_nothing, s, reason);
	EQ(write(fd, bytes, n), n);
	/* The server may wait for more, and finds the end instead. */
	weft_yield();
	end(fd);
}

static void
asks_for_pages(void)
{
	sends("GET / HTTP/1.1\r\n\r\n", 18, SSL_R_HTTP_REQUEST);
}

static void
talks(void)
{
	sends("hello, my friend\n", 17, SSL_R_WRONG_VERSION_NUMBER);
}

static void
goes_away(void)
{
	sends("\x16\x03\x01", 3, SSL_R_UNEXPECTED_EOF_WHILE_READING);
}

static void
sends_no_hello(void)
{
	sends("\x16\x03\x01\x00\x04\x0e\x00\x00\x00", 9,
	    SSL_R_UNEXPECTED_MESSAGE);
}

static void
client_fails(SSL_CTX *sc, SSL_CTX *cc, const char *name, int reason,
    int server_reason)
{
	SSL *s, *c;
	int fd = begin(sc, &s);

	weft_waitgroup_go(&all, serve_nothing, s, server_reason);
	c = new_client(cc, fd, name);
	failed("client", c, handshake(c), reason);
	end_ssl(c);
}

static void
trusts_others(void)
{
	client_fails(server, stranger, HERE, SSL_R_CERTIFICATE_VERIFY_FAILED,
	    SSL_R_TLSV1_ALERT_UNKNOWN_CA);
}

static void
wants_another(void)
{
	client_fails(server, trusting, "there.test",
	    SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE);
}

static void
is_modern(void)
{
	client_fails(old_server, modern, HERE,
	    SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_UNSUPPORTED_PROTOCOL);
}

/* After the handshake. */
static void
damages(void)
{
	SSL *s, *c;
	int fd = begin(server, &s);
	char byte;

	weft_waitgroup_go(&all, serve_damaged, s);
	c = new_client(trusting, fd, HERE);
	EQ(handshake(c), 1);
	EQ(write(fd, "\x17\x03\x03\x00\x20"
	    "0123456789abcdef0123456789abcdef", 37), 37);
	failed("client", c, SSL_read(c, &byte, 1),
	    SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
	end_ssl(c);
}

static void (*const kinds[])(void) = { well_behaved, asks_for_pages,
    well_behaved, talks, goes_away, trusts_others, well_behaved,
    sends_no_hello, wants_another, is_modern, damages };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void
set_up(void)
{
	make_identities();
	server = context(&ca);
	old_server = context(&ca);
	SSL_CTX_set_max_proto_version(old_server, TLS1_2_VERSION);
	trusting = context(&ca);
	stranger = context(&other_ca);
	modern = context(&ca);
	SSL_CTX_set_min_proto_version(modern, TLS1_3_VERSION);
}

static void
own_errors(void)
{
	long n = t_scale(10) > 3 ? 4 : 1;

	set_up();
	for (long i = 0; i < n; i++) {
		for (size_t k = 0; k < CONNECTIONS; k++)
			weft_waitgroup_go(&all, kinds[k % KINDS]);
		weft_waitgroup_wait(&all);
	}
	/* Of eleven: four that the server alone sees fail, four that both. */
	EQ(get(&failures_seen), n * CONNECTIONS / KINDS * 12);
	EQ(get(&echoes_seen), n * CONNECTIONS / KINDS * 3 * ECHOES);
}
GTEST(own_errors_on_1, 1) { own_errors(); }
GTEST(own_errors_on_2, 2) { own_errors(); }
GTEST(own_errors_on_4, 4) { own_errors(); }
ETEST(own_errors_moving_on_1, 1, "WEFT_MIGRATE=1") { own_errors(); }
ETEST(own_errors_moving_on_2, 2, "WEFT_MIGRATE=1") { own_errors(); }
ETEST(own_errors_moving_on_4, 4, "WEFT_MIGRATE=1") { own_errors(); }
ETEST(own_errors_sliced_on_2, 2, "WEFT_SLICE_US=50") { own_errors(); }
ETEST(own_errors_sliced_on_4, 4, "WEFT_SLICE_US=50") { own_errors(); }
TEST(own_errors_moving_and_sliced)
{
	OK(putenv((char *)(uintptr_t)"WEFT_SLICE_US=50") == 0);
	run_env(4, "WEFT_MIGRATE=1", own_errors);
}

/* ---- many wait, few threads ---- */

GTEST(waiting_takes_few_threads, 2)
{
	static SSL *c[CONNECTIONS];

	set_up();
	for (int i = 0; i < CONNECTIONS; i++) {
		SSL *s;
		int fd = begin(server, &s);

		weft_waitgroup_go(&all, serve_echo, s);
		c[i] = new_client(trusting, fd, HERE);
	}
	await_waiting(CONNECTIONS);
	OK(threads_are_few());
	for (int i = 0; i < CONNECTIONS; i++) {
		EQ(handshake(c[i]), 1);
		EQ(SSL_shutdown(c[i]), 0);
		end_ssl(c[i]);
	}
	weft_waitgroup_wait(&all);
}

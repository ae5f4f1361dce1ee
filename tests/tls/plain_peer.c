/* SPDX-License-Identifier: MIT */
/*
 * The other end is OpenSSL as its manual uses it: blocking, on a thread of its
 * own, over the descriptor. And messages of the protocol that come when no
 * handshake is made: updates of keys, tickets, attempts to negotiate again.
 */
#include "pki.h"

#include <sys/ioctl.h>

enum { ROUNDS = 50, BYTES = 30000 };

static weft_waitgroup all;

/* ---- an echo, both ways ---- */

static void
plain_echo(SSL *ssl)
{
	char buf[5000];
	size_t n, m;

	EQ(SSL_do_handshake(ssl), 1);
	while (SSL_read_ex(ssl, buf, sizeof buf, &n) == 1)
		EQ(SSL_write_ex(ssl, buf, n, &m), 1);
	EQ(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN);
	OK(SSL_shutdown(ssl) >= 0);
}

static void
echo_writer(weft_tls *c)
{
	char *buf = malloc(BYTES);

	for (size_t i = 0; i < ROUNDS; i++) {
		wire_fill(buf, BYTES, i * BYTES);
		EQ(weft_tls_write(c, buf, BYTES), BYTES);
	}
	EQ(weft_tls_shutdown(c), 0);
	free(buf);
}

static void
echo_reader(weft_tls *c)
{
	char buf[7777];
	size_t at = 0;
	ssize_t n;

	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0) {
		OK(wire_same(buf, (size_t)n, at));
		at += (size_t)n;
	}
	EQ(n, 0);
	EQ(at, ROUNDS * BYTES);
}

/* Both ends have little room. */
static bool narrow;

static void
make_ends(int end[2])
{
	int bytes = 4096;

	wire(narrow ? STREAM : TCP4, end);
	for (int i = 0; i < 2 && narrow; i++)
		EQ(setsockopt(end[i], SOL_SOCKET, SO_SNDBUF, &bytes,
		    sizeof bytes), 0);
}

/* weft is the one end, OpenSSL the other; fn is what that does. */
static void
against(bool plain_serves, int version, void (*fn)(SSL *ssl),
    void (*ours)(weft_tls *c))
{
	weft_tls_config *conf;
	SSL_CTX *ctx;
	struct plain p;
	weft_tls *c;
	int end[2];

	make_identities();
	make_ends(end);
	ctx = plain_context(plain_serves ? &server_id : &client_id);
	SSL_CTX_set_max_proto_version(ctx, version);
	conf = plain_serves ? CLIENT() : SERVER();
	plain_start(&p, ctx, end[1], plain_serves, fn);
	if (plain_serves)
		EQ(weft_tls_client(&c, conf, end[0], HERE), 0);
	else
		EQ(weft_tls_server(&c, conf, end[0]), 0);
	ours(c);
	weft_tls_free(c);
	plain_join(&p);
	weft_tls_config_release(conf);
}

static void
two_goroutines(weft_tls *c)
{
	weft_waitgroup_go(&all, echo_writer, c);
	weft_waitgroup_go(&all, echo_reader, c);
	weft_waitgroup_wait(&all);
}

static void
echoes(void)
{
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION;
	    version++) {
		against(true, version, plain_echo, two_goroutines);
		against(false, version, plain_echo, two_goroutines);
	}
}
GTEST(echo_on_1, 1) { echoes(); }
GTEST(echo_on_2, 2) { echoes(); }
GTEST(echo_on_4, 4) { echoes(); }
ETEST(echo_moving, 2, "WEFT_MIGRATE=1") { echoes(); }
ETEST(echo_sliced, 2, "WEFT_SLICE_US=50") { echoes(); }

/* ---- updates of keys ---- */

/* Before each piece a new key, and it wants one of us. */
static void
echo_with_new_keys(SSL *ssl)
{
	char buf[5000];
	size_t n, m;

	EQ(SSL_do_handshake(ssl), 1);
	while (SSL_read_ex(ssl, buf, sizeof buf, &n) == 1) {
		EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		EQ(SSL_write_ex(ssl, buf, n, &m), 1);
	}
	EQ(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN);
	OK(SSL_shutdown(ssl) >= 0);
}

static void
new_keys(void)
{
	against(true, TLS1_3_VERSION, echo_with_new_keys, two_goroutines);
	against(false, TLS1_3_VERSION, echo_with_new_keys, two_goroutines);
}
GTEST(new_keys_on_1, 1) { new_keys(); }
GTEST(new_keys_on_2, 2) { new_keys(); }
ETEST(new_keys_moving, 2, "WEFT_MIGRATE=1") { new_keys(); }

/*
 * It asks for new keys without end, and reads nothing meanwhile: what we answer
 * must not fill the memory, nor keep us from reading.
 */
enum { FLOOD = 3000 };

static void
flood_of_updates(SSL *ssl)
{
	char byte = 'x';
	size_t n;

	EQ(SSL_do_handshake(ssl), 1);
	for (int i = 0; i < FLOOD; i++) {
		EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		EQ(SSL_write_ex(ssl, &byte, 1, &n), 1);
	}
	OK(plain_read(ssl, &byte, 1));
	EQ(byte, 'y');
	OK(SSL_shutdown(ssl) >= 0);
}

static void
read_flood(weft_tls *c)
{
	char buf[FLOOD];

	EQ(weft_tls_read_full(c, buf, FLOOD, NULL), FLOOD);
	EQ(weft_tls_write(c, "y", 1), 1);
	EQ(weft_tls_read(c, buf, 1), 0);
}

GTEST(flood_of_key_updates, 2)
{
	against(true, TLS1_3_VERSION, flood_of_updates, read_flood);
	against(false, TLS1_3_VERSION, flood_of_updates, read_flood);
}

/* So many that the answers fit nowhere: a read waits for room, within the write
 * deadline, and the memory is bounded. */
enum { TOO_MANY = 30000 };

static void
endless_updates(SSL *ssl)
{
	size_t n;

	EQ(SSL_do_handshake(ssl), 1);
	for (int i = 0; i < TOO_MANY; i++)
		if (SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) != 1 ||
		    SSL_write_ex(ssl, "x", 1, &n) != 1)
			return;
	t_fail(__FILE__, __LINE__, "all were taken");
}

static void
bounded(weft_tls *c)
{
	char buf[1000];
	ssize_t n;

	signal(SIGPIPE, SIG_IGN);
	EQ(weft_tls_handshake(c), 0);
	weft_set_write_deadline(weft_tls_fd(c), weft_deadline(WEFT_SECOND));
	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0)
		;
	EQ(n, -ETIMEDOUT);
	EQ(weft_tls_close(c), 0);
}

GTEST(endless_key_updates, 2)
{
	narrow = true;
	against(true, TLS1_3_VERSION, endless_updates, bounded);
}

/* ---- a flight that fits nowhere ---- */

enum { LINKS = 400 };

static char *
long_chain(void)
{
	size_t one = strlen(ca.cert), at = strlen(server_id.cert);
	char *all_of_it = malloc(at + LINKS * one + 1);

	memcpy(all_of_it, server_id.cert, at);
	for (int i = 0; i < LINKS; i++, at += one)
		memcpy(all_of_it + at, ca.cert, one);
	all_of_it[at] = 0;
	return all_of_it;
}

static void
patient(SSL *ssl)
{
	char byte;

	SSL_set_max_cert_list(ssl, 10 << 20);
	SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
	EQ(SSL_do_handshake(ssl), 1);
	OK(plain_read(ssl, &byte, 1));
	SSL_shutdown(ssl);
}

/* The peer does not read, and then it does. */
static void
slow_handshake(int version)
{
	weft_tls_config *conf;
	struct plain p;
	weft_tls *c;
	SSL_CTX *ctx;
	char *chain, byte;
	int end[2];

	make_identities();
	narrow = true;
	chain = long_chain();
	conf = CONFIG(.cert = chain, .key = server_id.key,
	    .max_version = (enum weft_tls_protocol)version);
	free(chain);
	make_ends(end);
	EQ(weft_tls_server(&c, conf, end[0]), 0);
	ctx = plain_context(&client_id);
	plain_start(&p, ctx, end[1], false, patient);
	for (int i = 0; i < 3; i++) {
		weft_set_write_deadline(end[0], weft_deadline(WEFT_MS / 10));
		OK(weft_tls_handshake(c) <= 0);
	}
	weft_set_write_deadline(end[0], 0);
	EQ(weft_tls_handshake(c), 0);
	EQ(weft_tls_write(c, "x", 1), 1);
	EQ(weft_tls_read(c, &byte, 1), 0);
	weft_tls_free(c);
	plain_join(&p);
	weft_tls_config_release(conf);
}
GTEST(long_chain_1_2, 2) { slow_handshake(WEFT_TLS_1_2); }
GTEST(long_chain_1_3, 2) { slow_handshake(WEFT_TLS_1_3); }

/* ---- negotiating again ---- */

static void
renegotiate(SSL *ssl)
{
	char byte;

	EQ(SSL_do_handshake(ssl), 1);
	OK(plain_read(ssl, &byte, 1));
	EQ(SSL_renegotiate(ssl), 1);
	OK(SSL_do_handshake(ssl) != 1 || SSL_is_server(ssl));
	SSL_write(ssl, "z", 1);
	/* It is refused, by an alert that is no end of the connection, or by
	 * one that is. */
	plain_read(ssl, &byte, 1);
}

static void
refuse_to(weft_tls *c)
{
	ssize_t n;
	char byte;

	EQ(weft_tls_write(c, "x", 1), 1);
	n = weft_tls_read(c, &byte, 1);
	OK(n == 1 || n == -EPROTO || n == -ECONNABORTED || n == -ECONNRESET ||
	    n == 0);
	EQ(weft_tls_close(c), 0);
}

GTEST(not_negotiated_again, 2)
{
	against(true, TLS1_2_VERSION, renegotiate, refuse_to);
	against(false, TLS1_2_VERSION, renegotiate, refuse_to);
}

/* ---- ends, as the other sees them ---- */

static void
see_the_end(SSL *ssl)
{
	char buf[10];
	size_t n;

	EQ(SSL_do_handshake(ssl), 1);
	EQ(SSL_write_ex(ssl, "w", 1, &n), 1);
	EQ(SSL_read_ex(ssl, buf, 10, &n), 1);
	EQ(SSL_read_ex(ssl, buf, 10, &n), 0);
	EQ(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN);
}

/* It reads first: what has not been read when the socket is closed would reset
 * the connection. */
static void
write_and_close(weft_tls *c)
{
	char byte;

	EQ(weft_tls_read(c, &byte, 1), 1);
	EQ(weft_tls_write(c, "x", 1), 1);
	EQ(weft_tls_close(c), 0);
}

GTEST(close_says_so, 2)
{
	against(true, TLS1_3_VERSION, see_the_end, write_and_close);
	against(false, TLS1_3_VERSION, see_the_end, write_and_close);
	against(true, TLS1_2_VERSION, see_the_end, write_and_close);
	against(false, TLS1_2_VERSION, see_the_end, write_and_close);
}

static void
break_off(SSL *ssl)
{
	size_t n;

	EQ(SSL_do_handshake(ssl), 1);
	EQ(SSL_write_ex(ssl, "x", 1, &n), 1);
}

static void
see_it_broken(weft_tls *c)
{
	char buf[10];

	EQ(weft_tls_read(c, buf, 10), 1);
	EQ(weft_tls_read(c, buf, 10), -ECONNABORTED);
}

GTEST(broken_off, 2)
{
	against(true, TLS1_2_VERSION, break_off, see_it_broken);
	against(true, TLS1_3_VERSION, break_off, see_it_broken);
}

/* ---- a message in parts ---- */

/*
 * OpenSSL as a server over memory, whose bytes the test hands on as it likes.
 * Its records are small, so that a ticket has several.
 */
struct by_hand {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in, *out;
	int fd;
};

static void
hand_open(struct by_hand *h, int fd)
{
	h->ctx = plain_context(&server_id);
	SSL_CTX_set_verify(h->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_num_tickets(h->ctx, 1);
	h->ssl = SSL_new(h->ctx);
	h->in = BIO_new(BIO_s_mem());
	h->out = BIO_new(BIO_s_mem());
	h->fd = fd;
	SSL_set_bio(h->ssl, h->in, h->out);
	SSL_set_max_send_fragment(h->ssl, 512);
	SSL_set_accept_state(h->ssl);
}

/* Takes in what has come. */
static void
hand_take(struct by_hand *h)
{
	char buf[20000];
	ssize_t n = weft_read(h->fd, buf, sizeof buf);

	MUST(n > 0);
	MUST(BIO_write(h->in, buf, (int)n) == n);
}

/* Hands on all but the last bytes, which come with the next call. */
static void
hand_give(struct by_hand *h, int but)
{
	static char buf[20000];
	int n = (int)BIO_pending(h->out) - but;

	MUST(n > 0 && BIO_read(h->out, buf, n) == n);
	EQ(weft_write(h->fd, buf, (size_t)n), n);
}

static void
hand_shake(struct by_hand *h)
{
	do {
		hand_take(h);
		if (SSL_do_handshake(h->ssl) == 1)
			return;
		if (BIO_pending(h->out) > 0)
			hand_give(h, 0);
	} while (SSL_want_read(h->ssl));
	MUST(!"a handshake");
}

/* There is nothing to read from the client, and there will not be. */
static bool
silent(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return weft_poll(&p, 1, weft_deadline(30 * WEFT_MS)) == 0;
}

static void
write_hello(weft_tls *c)
{
	EQ(weft_tls_write(c, "hello", 5), 5);
}

static void
shut_down(weft_tls *c)
{
	EQ(weft_tls_shutdown(c), 0);
}

static void
read_to_end(weft_tls *c)
{
	char buf[10];

	EQ(weft_tls_read(c, buf, 10), 2);
	EQ(weft_tls_read(c, buf, 10), 0);
}

/* Half a ticket: no write can be made before the rest has come. */
static void
half_a_ticket(struct by_hand *h, weft_tls *c, bool with_reader)
{
	int unread = 0;
	char byte;

	/* It has more than one record. */
	MUST(BIO_pending(h->out) > 512 + 40);
	hand_give(h, 20);
	if (with_reader) {
		/* It has taken it, and waits again. */
		do
			MUST(ioctl(weft_tls_fd(c), FIONREAD, &unread) == 0);
		while (unread > 0);
		let_them_wait(1);
		return;
	}
	do {		/* until the time was enough to take it */
		weft_set_read_deadline(weft_tls_fd(c),
		    weft_deadline(20 * WEFT_MS));
		EQ(weft_tls_read(c, &byte, 1), -ETIMEDOUT);
		MUST(ioctl(weft_tls_fd(c), FIONREAD, &unread) == 0);
	} while (unread > 0);
	weft_set_read_deadline(weft_tls_fd(c), 0);
}

static void
write_late(weft_tls *c)
{
	size_t done = 9;

	weft_set_write_deadline(weft_tls_fd(c), weft_deadline(10 * WEFT_MS));
	EQ(weft_tls_write_full(c, "x", 1, &done), -ETIMEDOUT);
	EQ(done, 0);
	weft_set_write_deadline(weft_tls_fd(c), 0);
}

static void
in_parts(bool with_reader)
{
	weft_chan *out = weft_chan_of(int, 1);
	weft_tls_config *conf;
	struct by_hand h;
	weft_tls *c;
	char buf[10];
	size_t n;
	int end[2];

	make_identities();
	conf = CLIENT(.cert = client_id.cert, .key = client_id.key);
	wire(STREAM, end);
	hand_open(&h, end[1]);
	EQ(weft_tls_client(&c, conf, end[0], HERE), 0);
	weft_go(shake_into, c, out);
	hand_shake(&h);
	EQ(weft_recv(out, int), 0);
	if (with_reader)
		weft_waitgroup_go(&all, read_to_end, c);

	half_a_ticket(&h, c, with_reader);
	if (with_reader)
		write_late(c);
	weft_waitgroup_go(&all, write_hello, c);
	OK(silent(end[1]));
	hand_give(&h, 0);
	hand_take(&h);
	EQ(SSL_read_ex(h.ssl, buf, 10, &n), 1);
	EQ(n, 5);

	MUST(SSL_new_session_ticket(h.ssl) == 1);
	MUST(SSL_do_handshake(h.ssl) == 1);
	half_a_ticket(&h, c, with_reader);
	weft_waitgroup_go(&all, shut_down, c);
	OK(silent(end[1]));
	hand_give(&h, 0);
	hand_take(&h);
	EQ(SSL_read_ex(h.ssl, buf, 10, &n), 0);
	EQ(SSL_get_error(h.ssl, 0), SSL_ERROR_ZERO_RETURN);

	EQ(SSL_write_ex(h.ssl, "hi", 2, &n), 1);
	SSL_shutdown(h.ssl);
	hand_give(&h, 0);
	if (!with_reader)
		read_to_end(c);
	weft_waitgroup_wait(&all);
	weft_tls_free(c);
	EQ(weft_close(end[1]), 0);
	SSL_free(h.ssl);
	SSL_CTX_free(h.ctx);
	weft_tls_config_release(conf);
	weft_chan_release(out);
}
GTEST(ticket_in_parts_without_a_reader, 2) { in_parts(false); }
GTEST(ticket_in_parts_beside_a_reader, 2) { in_parts(true); }

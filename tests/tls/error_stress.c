/* SPDX-License-Identifier: MIT */
/*
 * A hundred connections at a time, most of which fail, each in its own way: no
 * one reports another's error, and none is disturbed by another's. OpenSSL has
 * one queue of errors for a thread, and goroutines change threads.
 */
#include "pki.h"

enum { CONNECTIONS = 100 };

static weft_waitgroup all;
static weft_tls_config *plain_server, *old_server, *client, *stranger, *modern;
static long failures_seen;

/* ---- what each end says ---- */

static void
check(weft_tls *c, ssize_t got, int error, const char *text)
{
	char said[WEFT_TLS_TEXT];

	weft_tls_error(c, said, sizeof said);
	if (got == error && strcmp(said, text) == 0) {
		bump(&failures_seen);
		return;
	}
	fprintf(stderr, "# %zd \"%s\"\n# not %d \"%s\"\n", got, said, error,
	    text);
	t_fail(__FILE__, __LINE__, "its own error");
}

static void
server_fails(weft_tls *c, int error, const char *text)
{
	char byte;

	check(c, weft_tls_read(c, &byte, 1), error, text);
	/* The second time it is the same, wherever it runs by now. */
	weft_yield();
	if (error == -EPROTO)
		check(c, weft_tls_write(c, &byte, 1), error, text);
	weft_tls_free(c);
}

static void
serve_echo(weft_tls *c)
{
	char buf[3000];
	ssize_t n;

	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0)
		EQ(weft_tls_write(c, buf, (size_t)n), n);
	EQ(n, 0);
	TEXT_IS(weft_tls_error, c, "");
	weft_tls_free(c);
}

/* ---- kinds of clients ---- */

static int
begin(weft_tls_config *conf, weft_tls **s)
{
	int end[2];

	wire(STREAM_NB, end);
	EQ(weft_tls_server(s, conf, end[0]), 0);
	return end[1];
}

static void
well_behaved(void)
{
	char buf[3000];
	weft_tls *s, *c;
	int fd = begin(plain_server, &s);

	weft_waitgroup_go(&all, serve_echo, s);
	EQ(weft_tls_client(&c, client, fd, HERE), 0);
	for (int i = 0; i < 5; i++) {
		wire_fill(buf, sizeof buf, (size_t)i);
		EQ(weft_tls_write(c, buf, sizeof buf), sizeof buf);
		memset(buf, 0, sizeof buf);
		EQ(weft_tls_read_full(c, buf, sizeof buf, NULL), sizeof buf);
		OK(wire_same(buf, sizeof buf, (size_t)i));
	}
	EQ(weft_tls_shutdown(c), 0);
	EQ(weft_tls_read(c, buf, 1), 0);
	TEXT_IS(weft_tls_error, c, "");
	weft_tls_free(c);
}

static void
sends(const char *bytes, int error, const char *text)
{
	weft_tls *s;
	int fd = begin(plain_server, &s);

	weft_waitgroup_go(&all, server_fails, s, error, text);
	EQ(weft_write(fd, bytes, strlen(bytes)), strlen(bytes));
	weft_yield();
	if (error == -EPROTO)	/* an alert, and the end */
		weft_wait_readable(fd);
	EQ(weft_close(fd), 0);
}

static void
asks_for_pages(void)
{
	sends("GET / HTTP/1.1\r\n\r\n", -EPROTO, "handshake: http request");
}

static void
talks(void)
{
	sends("hello, my friend\n", -EPROTO,
	    "handshake: wrong version number");
}

static void
goes_away(void)
{
	sends("", -ECONNABORTED,
	    "handshake: the stream ended without close_notify");
}

static void
goes_away_early(void)
{
	sends("\x16\x03\x01", -ECONNABORTED,
	    "handshake: the stream ended without close_notify");
}

static void
client_fails(weft_tls_config *sc, weft_tls_config *cc, const char *name,
    int error, const char *text, const char *server_text)
{
	weft_tls *s, *c;
	int fd = begin(sc, &s);

	weft_waitgroup_go(&all, server_fails, s, -EPROTO, server_text);
	EQ(weft_tls_client(&c, cc, fd, name), 0);
	check(c, weft_tls_handshake(c), error, text);
	weft_yield();
	check(c, weft_tls_write(c, "x", 1), error, text);
	/* The alert is read before the socket is closed, or lost with it. */
	weft_wait_readable(fd);
	weft_tls_free(c);
}

static void
trusts_others(void)
{
	client_fails(plain_server, stranger, HERE, -EKEYREJECTED, "handshake: "
	    "certificate verify failed: unable to get local issuer "
	    "certificate", "handshake: alert from the peer: unknown ca");
}

static void
wants_another(void)
{
	client_fails(plain_server, client, "there.test", -EKEYREJECTED,
	    "handshake: certificate verify failed: hostname mismatch",
	    "handshake: alert from the peer: bad certificate");
}

static void
is_modern(void)
{
	client_fails(old_server, modern, HERE, -EPROTO,
	    "handshake: alert from the peer: protocol version",
	    "handshake: unsupported protocol");
}

/* After the handshake. */
static void
damages(void)
{
	weft_tls *s, *c;
	int fd = begin(plain_server, &s);
	char byte;

	weft_waitgroup_go(&all, server_fails, s, -EPROTO,
	    "connection: decryption failed or bad record mac");
	EQ(weft_tls_client(&c, client, fd, HERE), 0);
	EQ(weft_tls_handshake(c), 0);
	EQ(weft_write(fd, "\x17\x03\x03\x00\x20"
	    "0123456789abcdef0123456789abcdef", 37), 37);
	check(c, weft_tls_read(c, &byte, 1), -EPROTO,
	    "connection: alert from the peer: bad record mac");
	weft_tls_free(c);
}

static void (*const kinds[])(void) = { well_behaved, asks_for_pages,
    well_behaved, talks, goes_away, trusts_others, well_behaved,
    goes_away_early, wants_another, is_modern, damages };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void
set_up(void)
{
	make_identities();
	plain_server = SERVER();
	old_server = SERVER(.max_version = WEFT_TLS_1_2);
	client = CLIENT();
	stranger = CONFIG(.ca = other_ca.cert);
	modern = CLIENT(.min_version = WEFT_TLS_1_3);
}

static void
a_hundred(void)
{
	long n = t_scale(10) > 3 ? 4 : 1;

	set_up();
	while (n-- > 0) {
		for (size_t i = 0; i < CONNECTIONS; i++)
			weft_waitgroup_go(&all, kinds[i % KINDS]);
		weft_waitgroup_wait(&all);
	}
	OK(get(&failures_seen) > CONNECTIONS);
}
GTEST(a_hundred_on_1, 1) { a_hundred(); }
GTEST(a_hundred_on_2, 2) { a_hundred(); }
GTEST(a_hundred_on_4, 4) { a_hundred(); }
ETEST(a_hundred_moving_on_1, 1, "WEFT_MIGRATE=1") { a_hundred(); }
ETEST(a_hundred_moving, 2, "WEFT_MIGRATE=1") { a_hundred(); }
ETEST(a_hundred_moving_on_4, 4, "WEFT_MIGRATE=1") { a_hundred(); }
ETEST(a_hundred_sliced, 2, "WEFT_SLICE_US=50") { a_hundred(); }
ETEST(a_hundred_sliced_on_4, 4, "WEFT_SLICE_US=50") { a_hundred(); }
TEST(a_hundred_moving_and_sliced)
{
	OK(putenv((char *)(uintptr_t)"WEFT_SLICE_US=50") == 0);
	run_env(4, "WEFT_MIGRATE=1", a_hundred);
}

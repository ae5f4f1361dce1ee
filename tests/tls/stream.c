/* SPDX-License-Identifier: MIT */
/*
 * Bytes over connections between two ends of weft: amounts, both directions at
 * once, ends of the stream, deadlines after which nothing is lost, and closes
 * by a third goroutine.
 */
#include "pki.h"

static weft_waitgroup all;

static struct both
connected(void)
{
	make_identities();
	return joined_pair(SERVER(), CLIENT());
}

/* ---- amounts ---- */

static void
send_bytes(weft_tls *c, size_t len)
{
	char *buf = malloc(len);

	wire_fill(buf, len, 0);
	EQ(weft_tls_write(c, buf, len), len);
	free(buf);
}

static void
receive_bytes(weft_tls *c, size_t len, size_t at_once)
{
	char *buf = malloc(at_once);
	size_t have = 0;
	ssize_t n = 1;

	while (have < len && n > 0) {
		n = weft_tls_read(c, buf, at_once);
		OK(n > 0 && wire_same(buf, (size_t)n, have));
		have += n > 0 ? (size_t)n : 0;
	}
	EQ(have, len);
	free(buf);
}

/* Both directions at once, so that no end may wait for the other to read. */
static void
exchange(weft_tls *a, weft_tls *b, size_t len, size_t at_once)
{
	weft_waitgroup_go(&all, send_bytes, a, len);
	weft_waitgroup_go(&all, send_bytes, b, len);
	weft_waitgroup_go(&all, receive_bytes, a, len, at_once);
	weft_waitgroup_go(&all, receive_bytes, b, len, at_once);
	weft_waitgroup_wait(&all);
}

static void
amounts(void)
{
	struct both b = connected();

	exchange(b.s, b.c, 1, 1);
	exchange(b.s, b.c, 1000, 7);
	exchange(b.s, b.c, 16384, 16384);
	exchange(b.s, b.c, 16385, 100000);
	exchange(b.s, b.c, (size_t)t_scale(8 << 20), 65536);
	drop_pair(b);
}
GTEST(amounts_on_1, 1) { amounts(); }
GTEST(amounts_on_2, 2) { amounts(); }
GTEST(amounts_on_4, 4) { amounts(); }
ETEST(amounts_moving, 2, "WEFT_MIGRATE=1") { amounts(); }
ETEST(amounts_sliced, 2, "WEFT_SLICE_US=50") { amounts(); }

/* As amounts, with a handshake that each of the four would make. */
static void
implicit_handshake(void)
{
	struct both b;

	make_identities();
	b = pair_of(SERVER(), CLIENT());
	exchange(b.s, b.c, 100000, 4096);
	drop_pair(b);
}
GTEST(implicit_handshake_on_1, 1) { implicit_handshake(); }
GTEST(implicit_handshake_on_4, 4) { implicit_handshake(); }
ETEST(implicit_handshake_moving, 4, "WEFT_MIGRATE=1") { implicit_handshake(); }

GTEST(nothing, 2)
{
	struct both b = connected();
	char byte = 'x';

	EQ(weft_tls_write(b.c, &byte, 0), 0);
	EQ(weft_tls_write(b.c, NULL, 0), 0);
	EQ(weft_tls_writev(b.c, NULL, 0, NULL), 0);
	EQ(weft_tls_writev(b.c, NULL, -1, NULL), -EINVAL);
	EQ(weft_tls_read(b.s, &byte, 0), 0);
	weft_set_read_deadline(weft_tls_fd(b.s), weft_deadline(5 * WEFT_MS));
	EQ(weft_tls_read(b.s, &byte, 1), -ETIMEDOUT);
	drop_pair(b);
}

GTEST(pieces, 2)
{
	struct both b = connected();
	char *text = malloc(100000), *got = malloc(100000);
	struct iovec v[5] = { { text, 1 }, { text + 1, 0 }, { text + 1, 20000 },
	    { text + 20001, 70000 }, { text + 90001, 9999 } };
	size_t done;

	wire_fill(text, 100000, 0);
	weft_waitgroup_go(&all, receive_bytes, b.s, (size_t)100000,
	    (size_t)16384);
	EQ(weft_tls_writev(b.c, v, 5, &done), 100000);
	EQ(done, 100000);
	weft_waitgroup_wait(&all);
	/* Small ones share a record: one read gets all. */
	v[2].iov_len = 3;
	EQ(weft_tls_writev(b.c, v, 3, &done), 4);
	EQ(weft_tls_read(b.s, got, 100), 4);
	free(text);
	free(got);
	drop_pair(b);
}

GTEST(full, 2)
{
	struct both b = connected();
	char buf[100];
	size_t done = 99;

	EQ(weft_tls_write(b.c, "hello", 5), 5);
	EQ(weft_tls_write(b.c, "world", 5), 5);
	EQ(weft_tls_read_full(b.s, buf, 8, &done), 8);
	EQ(done, 8);
	weft_set_read_deadline(weft_tls_fd(b.s), weft_deadline(5 * WEFT_MS));
	EQ(weft_tls_read_full(b.s, buf, 8, &done), -ETIMEDOUT);
	EQ(done, 2);
	weft_set_read_deadline(weft_tls_fd(b.s), 0);
	EQ(weft_tls_write(b.c, "end", 3), 3);
	EQ(weft_tls_shutdown(b.c), 0);
	EQ(weft_tls_read_full(b.s, buf, 8, &done), 3);
	EQ(weft_tls_read_full(b.s, buf, 8, NULL), 0);
	drop_pair(b);
}

/* What is left of a record, or of a receive, is not on the descriptor. */
GTEST(buffered, 2)
{
	struct both b = connected();
	char buf[10];

	OK(!weft_tls_buffered(b.s));
	EQ(weft_tls_write(b.c, "hello", 5), 5);
	EQ(weft_tls_write(b.c, "world", 5), 5);
	EQ(weft_tls_read(b.s, buf, 2), 2);
	OK(weft_tls_buffered(b.s));
	EQ(weft_tls_read(b.s, buf, 3), 3);
	OK(weft_tls_buffered(b.s));
	EQ(weft_tls_read(b.s, buf, 10), 5);
	OK(!weft_tls_buffered(b.s));
	drop_pair(b);
}

/* ---- ends ---- */

static void
half_closed(void)
{
	struct both b = connected();
	char buf[10];

	EQ(weft_tls_write(b.c, "last", 4), 4);
	EQ(weft_tls_shutdown(b.c), 0);
	EQ(weft_tls_shutdown(b.c), 0);
	EQ(weft_tls_write(b.c, "x", 1), -EPIPE);
	EQ(weft_tls_read(b.s, buf, 10), 4);
	EQ(weft_tls_read(b.s, buf, 10), 0);
	EQ(weft_tls_read(b.s, buf, 10), 0);
	/* The other direction goes on. */
	EQ(weft_tls_write(b.s, "answer", 6), 6);
	EQ(weft_tls_read(b.c, buf, 10), 6);
	EQ(weft_tls_close(b.s), 0);
	EQ(weft_tls_read(b.c, buf, 10), 0);
	EQ(weft_tls_read(b.s, buf, 10), -EBADF);
	EQ(weft_tls_write(b.s, buf, 10), -EBADF);
	EQ(weft_tls_shutdown(b.s), -EBADF);
	TEXT_IS(weft_tls_peer_subject, b.s, "");
	drop_pair(b);
}
GTEST(half_closed_on_1, 1) { half_closed(); }
GTEST(half_closed_on_2, 2) { half_closed(); }

/* Limits that are over do not keep close_notify back. */
GTEST(closed_after_the_deadline, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct both b = connected();
	char byte;

	weft_set_deadline(weft_tls_fd(b.s), weft_now());
	EQ(weft_tls_read(b.s, &byte, 1), -ETIMEDOUT);
	EQ(weft_tls_close(b.s), 0);
	EQ(weft_tls_read(b.c, &byte, 1), 0);
	drop_pair(b);
	b = connected();
	weft_set_context(weft_tls_fd(b.s), ctx);
	weft_context_cancel(ctx, 0);
	EQ(weft_tls_read(b.s, &byte, 1), -ECANCELED);
	EQ(weft_tls_close(b.s), 0);
	EQ(weft_tls_read(b.c, &byte, 1), 0);
	drop_pair(b);
	weft_context_release(ctx);
}

/* The kernel's end of the stream, without close_notify, is none. */
GTEST(truncated, 2)
{
	struct both b = connected();
	char buf[10];

	EQ(weft_tls_write(b.c, "some", 4), 4);
	EQ(weft_shutdown(weft_tls_fd(b.c), SHUT_WR), 0);
	EQ(weft_tls_read(b.s, buf, 10), 4);
	EQ(weft_tls_read(b.s, buf, 10), -ECONNABORTED);
	ERROR_IS(b.s, "read: the stream ended without close_notify");
	EQ(weft_tls_read(b.s, buf, 10), -ECONNABORTED);
	/* That was one direction. */
	EQ(weft_tls_write(b.s, "answer", 6), 6);
	EQ(weft_tls_read(b.c, buf, 10), 6);
	drop_pair(b);
}

/* In the middle of a record, and bytes that are not of it. */
GTEST(damaged, 2)
{
	struct both b = connected();
	char buf[10];

	EQ(weft_write(weft_tls_fd(b.c), "\x17\x03\x03\x00\x20 half", 10), 10);
	EQ(weft_shutdown(weft_tls_fd(b.c), SHUT_WR), 0);
	EQ(weft_tls_read(b.s, buf, 10), -ECONNABORTED);
	drop_pair(b);

	b = connected();
	EQ(weft_write(weft_tls_fd(b.c), "\x17\x03\x03\x00\x20"
	    "0123456789abcdef0123456789abcdef", 37), 37);
	EQ(weft_tls_read(b.s, buf, 10), -EPROTO);
	ERROR_IS(b.s, "connection: decryption failed or bad record mac");
	EQ(weft_tls_write(b.s, "x", 1), -EPROTO);
	EQ(weft_tls_read(b.c, buf, 10), -EPROTO);
	ERROR_IS(b.c, "alert from the peer: bad record mac");
	drop_pair(b);
}

/* ---- a peer that does not read ---- */

enum { MUCH = 4 << 20 };

/* Writes until it is out of time, again and again, behind what was taken. */
static void
write_in_slices(weft_tls *c, size_t len, long *timeouts)
{
	char *buf = malloc(len);
	size_t at = 0, done;
	ssize_t n;

	wire_fill(buf, len, 0);
	do {
		weft_set_write_deadline(weft_tls_fd(c),
		    weft_deadline(2 * WEFT_MS));
		n = weft_tls_write_full(c, buf + at, len - at, &done);
		at += done;
		if (n == -ETIMEDOUT)
			bump(timeouts);
	} while (n == -ETIMEDOUT);
	EQ(n, done);
	EQ(at, len);
	free(buf);
}

static void
slow_reader(void)
{
	struct both b = connected();
	long timeouts = 0;

	weft_waitgroup_go(&all, write_in_slices, b.c, (size_t)MUCH, &timeouts);
	await(&timeouts, 3);
	receive_bytes(b.s, MUCH, 50000);
	weft_waitgroup_wait(&all);
	drop_pair(b);
}
GTEST(slow_reader_on_1, 1) { slow_reader(); }
GTEST(slow_reader_on_2, 2) { slow_reader(); }
ETEST(slow_reader_moving, 2, "WEFT_MIGRATE=1") { slow_reader(); }

static void
expect_write(weft_tls *c, int result)
{
	char *buf = calloc(1, MUCH);

	EQ(weft_tls_write(c, buf, MUCH), result);
	free(buf);
}

static void
expect_read(weft_tls *c, int result)
{
	char buf[10];

	EQ(weft_tls_read(c, buf, 10), result);
}

/* A writer that waits keeps no reader of the same connection from its bytes. */
GTEST(writer_waits_and_reader_reads, 2)
{
	struct both b = connected();
	char buf[10];

	weft_waitgroup_go(&all, expect_write, b.c, -EBADF);
	let_them_wait(1);
	for (int i = 0; i < 100; i++) {
		EQ(weft_tls_write(b.s, "ping", 4), 4);
		EQ(weft_tls_read(b.c, buf, 10), 4);
	}
	EQ(weft_tls_close(b.c), 0);
	weft_waitgroup_wait(&all);
	drop_pair(b);
}

/* ---- closed by a third ---- */

static void
closed_by_a_third(void)
{
	for (int i = 0; i < 20; i++) {
		struct both b = connected();
		int fd = weft_tls_fd(b.c);
		uint64_t id = wire_id(fd);

		weft_waitgroup_go(&all, expect_write, b.c, -EBADF);
		weft_waitgroup_go(&all, expect_write, b.c, -EBADF);
		weft_waitgroup_go(&all, expect_read, b.c, -EBADF);
		weft_waitgroup_go(&all, expect_read, b.c, -EBADF);
		let_them_wait(2);
		EQ(weft_tls_close(b.c), 0);
		weft_waitgroup_wait(&all);
		OK(wire_id(fd) != id);
		drop_pair(b);
	}
}
GTEST(closed_by_a_third_on_1, 1) { closed_by_a_third(); }
GTEST(closed_by_a_third_on_4, 4) { closed_by_a_third(); }
ETEST(closed_by_a_third_moving, 2, "WEFT_MIGRATE=1") { closed_by_a_third(); }

/* The number is not another file's before the last call has returned. */
static void
read_until_closed(weft_tls *c)
{
	char buf[100];
	ssize_t n;

	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0)
		OK(wire_same(buf, (size_t)n, 0));
	EQ(n, -EBADF);
}

static void
numbers_reused(void)
{
	char buf[100];

	wire_fill(buf, sizeof buf, 0);
	for (int i = 0; i < t_scale(300); i++) {
		struct both b = connected();
		int end[2];

		weft_waitgroup_go(&all, read_until_closed, b.c);
		EQ(weft_tls_write(b.s, buf, 100), 100);
		EQ(weft_tls_close(b.c), 0);
		/* Bytes that a late reader would take away. */
		wire(STREAM, end);
		EQ(weft_write(end[0], buf, 100), 100);
		EQ(weft_write(end[1], buf, 100), 100);
		EQ(weft_read_full(end[0], buf, 100, NULL), 100);
		EQ(weft_read_full(end[1], buf, 100, NULL), 100);
		wire_drop(end);
		weft_waitgroup_wait(&all);
		drop_pair(b);
	}
}
GTEST(numbers_reused_on_2, 2) { numbers_reused(); }
GTEST(numbers_reused_on_4, 4) { numbers_reused(); }
ETEST(numbers_reused_moving, 2, "WEFT_MIGRATE=1") { numbers_reused(); }

static void
expect_nothing(weft_tls *c, long *waits)
{
	char byte;

	bump(waits);
	EQ(weft_tls_read(c, &byte, 1), -EBADF);
}

DIES(freed_in_use, 2, "weft_tls_free: 1 calls on this connection")
{
	struct both b = connected();
	long waits = 0;

	weft_go(expect_nothing, b.c, &waits);
	await(&waits, 1);
	let_them_wait(1);
	weft_tls_free(b.c);
}

/* ---- deadlines and contexts ---- */

static void
ended_by(weft_tls *c, int result)
{
	char byte;

	EQ(weft_tls_read(c, &byte, 1), result);
	EQ(weft_tls_write(c, "x", 1), result);
}

GTEST(limits, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct both b = connected();
	int fd = weft_tls_fd(b.c);
	char buf[10];

	weft_set_deadline(fd, weft_deadline(5 * WEFT_MS));
	ended_by(b.c, -ETIMEDOUT);
	ERROR_IS(b.c, "write: ");
	weft_set_deadline(fd, 0);
	weft_set_context(fd, ctx);
	weft_waitgroup_go(&all, ended_by, b.c, -ECANCELED);
	let_them_wait(1);
	weft_context_cancel(ctx, 0);
	weft_waitgroup_wait(&all);
	weft_set_context(fd, NULL);
	/* Nothing is lost: the first write has taken its byte, the second one
	 * could not send that. */
	EQ(weft_tls_write(b.c, "y", 1), 1);
	EQ(weft_tls_read_full(b.s, buf, 2, NULL), 2);
	EQ(memcmp(buf, "xy", 2), 0);
	EQ(weft_tls_write(b.s, "z", 1), 1);
	EQ(weft_tls_read(b.c, buf, 10), 1);
	drop_pair(b);
	weft_context_release(ctx);
}

/* A plain thread blocks, and is served in the same way. */
static void *
thread_echo(void *arg)
{
	char buf[100];
	ssize_t n;

	while ((n = weft_tls_read(arg, buf, sizeof buf)) > 0)
		EQ(weft_tls_write(arg, buf, (size_t)n), n);
	EQ(n, 0);
	return NULL;
}

static void
ask_thread(weft_tls *c)
{
	char buf[10];

	EQ(weft_tls_write(c, "hello", 5), 5);
	EQ(weft_tls_read_full(c, buf, 5, NULL), 5);
	EQ(memcmp(buf, "hello", 5), 0);
	EQ(weft_tls_shutdown(c), 0);
}

GTEST(plain_thread, 2)
{
	struct both b;

	make_identities();
	b = pair_of(SERVER(), CLIENT());
	weft_waitgroup_go(&all, ask_thread, b.c);
	thread_run_blocking(thread_echo, b.s);
	weft_waitgroup_wait(&all);
	drop_pair(b);
}

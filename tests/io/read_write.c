/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing on every kind of descriptor that can be waited for. The
 * other side is another goroutine, mostly of the same one processor: so a
 * call that waits here does not stop it.
 */
#define _GNU_SOURCE 1
#include "fd_pairs.h"

enum { MUCH = 3 << 20, MESSAGE = 1000 };

static weft_waitgroup all;

static long
much(void)
{
	return t_scale(MUCH);
}

/* ---- one waits for the other ---- */

static void
byte_by_byte(int k, int rd, int wr)
{
	char c = 0;

	(void)k;
	for (int i = 0; i < 5; i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(write_when_awaited, wr, (char)('a' + i), &all);
		EQ(weft_read(rd, &c, 1), 1);
		EQ(c, 'a' + i);
		weft_waitgroup_wait(&all);
	}
}

GTEST(a_reader_waits_on_one, 1) { wire_each(byte_by_byte); }
GTEST(a_reader_waits_on_four, 4) { wire_each(byte_by_byte); }

/* In what is there the caller finds it at once. */
static void
there_already(int k, int rd, int wr)
{
	char buf[8] = {0};

	EQ(weft_write(wr, "abc", 3), 3);
	EQ(weft_wait_readable(rd), 0);
	EQ(weft_read(rd, buf, sizeof buf), 3);
	OK(!memcmp(buf, "abc", 4));
	EQ(weft_write(wr, "defgh", 5), 5);
	EQ(weft_read(rd, buf, 2), 2);
	OK(!memcmp(buf, "de", 2));
	if (wire_has_messages(k))
		EQ(weft_write(wr, "xyz", 3), 3);
	EQ(weft_read(rd, buf, sizeof buf), 3);
	OK(!memcmp(buf, wire_has_messages(k) ? "xyz" : "fgh", 3));
}

GTEST(what_is_there_already, 1) { wire_each(there_already); }

/* In both directions of what has two, at the same time. */
static void
echo_back(int fd, int n)
{
	char c;

	while (n-- > 0) {
		EQ(weft_read(fd, &c, 1), 1);
		c++;
		EQ(weft_write(fd, &c, 1), 1);
	}
	weft_waitgroup_done(&all);
}

static void
there_and_back(int k, int a, int b)
{
	char c = 0;
	int n = (int)t_scale(200);

	if (k < STREAM)
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(echo_back, b, n);
	for (int i = 0; i < n; i++) {
		char was = c;

		EQ(weft_write(a, &c, 1), 1);
		EQ(weft_read(a, &c, 1), 1);
		EQ(c, (char)(was + 1));
	}
	weft_waitgroup_wait(&all);
}

GTEST(there_and_back_on_one, 1) { wire_each(there_and_back); }
GTEST(there_and_back_on_four, 4) { wire_each(there_and_back); }

/* ---- much ---- */

static void
write_much(int fd)
{
	char *buf = malloc(64 << 10);
	size_t at = 0, end = (size_t)much();
	unsigned seed = 1;

	while (at < end) {
		size_t len = (size_t)rand_r(&seed) % (64 << 10);
		ssize_t n;

		len = len < end - at ? len + 1 : end - at;
		len = len < 64 << 10 ? len : 64 << 10;
		wire_fill(buf, len, at);
		n = weft_write(fd, buf, len);
		if (n <= 0 || n > (ssize_t)len) {
			EQ(n, len);
			break;
		}
		at += (size_t)n;
	}
	free(buf);
	weft_waitgroup_done(&all);
}

static void
read_much(int fd)
{
	char *buf = malloc(64 << 10);
	size_t at = 0, end = (size_t)much();
	unsigned seed = 2;

	while (at < end) {
		size_t len = (size_t)rand_r(&seed) % (64 << 10) + 1;
		ssize_t n = weft_read(fd, buf, len);

		if (n <= 0 || !wire_same(buf, (size_t)n, at)) {
			EQ(n, 1);
			break;
		}
		at += (size_t)n;
	}
	EQ(at, end);
	free(buf);
}

/* The writer waits, too, since the reader begins only then. */
static void
flow(int k, int rd, int wr)
{
	if (wire_has_messages(k) || k == PTY)
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(write_much, wr);
	let_them_fill(1);
	read_much(rd);
	weft_waitgroup_wait(&all);
}

GTEST(much_flows_on_one, 1) { wire_each(flow); }
GTEST(much_flows_on_four, 4) { wire_each(flow); }

/* A terminal keeps 4 KiB at most. */
static void
write_to_terminal(int fd, const char *buf, size_t len)
{
	EQ(weft_write_full(fd, buf, len, NULL), len);
	weft_waitgroup_done(&all);
}

GTEST(much_flows_through_a_terminal, 1)
{
	enum { LEN = 100 << 10 };
	char *out = malloc(LEN), *in = malloc(LEN);
	int end[2];

	wire(PTY, end);
	wire_fill(out, LEN, 0);
	weft_waitgroup_add(&all, 1);
	weft_go(write_to_terminal, end[1], out, LEN);
	let_them_fill(1);
	EQ(weft_read_full(end[0], in, LEN, NULL), LEN);
	OK(wire_same(in, LEN, 0));
	weft_waitgroup_wait(&all);
	wire_drop(end);
	free(out);
	free(in);
}

/* Messages stay whole, in order, and the sender waits while it is full. (UDP
 * may lose them: its sender waits for each to be received.) */
static void
write_messages(int fd, int n, weft_chan *turn)
{
	char buf[MESSAGE];

	for (int i = 0; i < n; i++) {
		wire_fill(buf, sizeof buf, (size_t)i);
		EQ(weft_write(fd, buf, (size_t)(i % MESSAGE)), i % MESSAGE);
		if (turn)
			weft_recv(turn, int);
	}
	weft_waitgroup_done(&all);
}

static void
messages(int k, int rd, int wr)
{
	weft_chan *turn = k >= UDP4 ? weft_chan_make(sizeof(int), 0) : NULL;
	int n = (int)t_scale(1000);
	char buf[2 * MESSAGE];

	if (!wire_has_messages(k))
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(write_messages, wr, n, turn);
	let_them_fill(1);
	for (int i = 0; i < n; i++) {
		ssize_t got = weft_read(rd, buf, sizeof buf);

		EQ(got, i % MESSAGE);
		OK(got >= 0 && wire_same(buf, (size_t)got, (size_t)i));
		if (turn)
			weft_send(turn, 0);
	}
	weft_waitgroup_wait(&all);
	if (turn)
		weft_chan_release(turn);
}

GTEST(messages_on_one, 1) { wire_each(messages); }
GTEST(messages_on_four, 4) { wire_each(messages); }

/* ---- vectors ---- */

static void
writev_when_awaited(int fd)
{
	char a[] = "ab", b[] = "cdef", c[] = "g";
	struct iovec v[] = { { a, 2 }, { NULL, 0 }, { b, 4 }, { c, 1 } };

	let_them_wait(1);
	EQ(weft_writev(fd, v, 4), 7);
	weft_waitgroup_done(&all);
}

static void
vectors(int k, int rd, int wr)
{
	char a[3] = {0}, b[1] = {0}, c[10] = {0};
	struct iovec v[] = { { a, 3 }, { b, 1 }, { NULL, 0 }, { c, 10 } };

	(void)k;
	weft_waitgroup_add(&all, 1);
	weft_go(writev_when_awaited, wr);
	EQ(weft_readv(rd, v, 4), 7);
	OK(!memcmp(a, "abc", 3) && *b == 'd' && !memcmp(c, "efg", 4));
	weft_waitgroup_wait(&all);
	EQ(weft_readv(rd, v, -1), -EINVAL);
	EQ(weft_writev(wr, v, -1), -EINVAL);
	EQ(weft_readv(rd, v, 1025), -EINVAL);
	EQ(weft_writev(wr, v, 1025), -EINVAL);
}

GTEST(vectors_on_one, 1) { wire_each(vectors); }

static void
write_vectors(int fd, const char *buf, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t part = (len - at) / 3;
		struct iovec v[] = { { (char *)(uintptr_t)buf + at, part },
		    { (char *)(uintptr_t)buf + at + part, len - at - part } };
		ssize_t n = weft_writev(fd, v, 2);

		if (n <= 0) {
			EQ(n, 1);
			break;
		}
		at += (size_t)n;
	}
	weft_waitgroup_done(&all);
}

/* More than fits: the rest waits. */
static void
vectors_flow(int k, int rd, int wr)
{
	size_t len = (size_t)much() / 4 + 2, half = len / 2, at = 0;
	char *out = malloc(len), *in = malloc(len);

	if (!wire_has_messages(k) && k != PTY) {
		wire_fill(out, len, 0);
		weft_waitgroup_add(&all, 1);
		weft_go(write_vectors, wr, out, len);
		let_them_fill(1);
		while (at < len) {
			size_t n1 = at < half ? half - at : 0;
			struct iovec v[] = { { in + at, n1 },
			    { in + at + n1, len - at - n1 } };
			ssize_t n = weft_readv(rd, v, 2);

			if (n <= 0) {
				EQ(n, 1);
				break;
			}
			at += (size_t)n;
		}
		OK(wire_same(in, len, 0));
		weft_waitgroup_wait(&all);
	}
	free(out);
	free(in);
}

GTEST(vectors_flow_on_one, 1) { wire_each(vectors_flow); }

/* ---- all of it ---- */

static void
write_full_done(int fd, const char *buf, size_t len, bool close_it)
{
	size_t done = 0;

	EQ(weft_write_full(fd, buf, len, &done), len);
	EQ(done, len);
	if (close_it)
		EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

/* Takes the pair. */
static void
full_both_ways(int end[2], size_t len)
{
	char *out = malloc(len), *in = malloc(len + 100);
	size_t done = 0;

	wire_fill(out, len, 0);
	weft_waitgroup_add(&all, 1);
	weft_go(write_full_done, end[1], out, len, true);
	EQ(weft_read_full(end[0], in, len / 2, NULL), len / 2);
	/* and up to the end, which comes before the buffer's */
	EQ(weft_read_full(end[0], in + len / 2, len - len / 2 + 100, &done),
	    len - len / 2);
	EQ(done, len - len / 2);
	OK(wire_same(in, len, 0));
	done = 7;
	EQ(weft_read_full(end[0], in, 1, &done), 0);
	EQ(done, 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[0]), 0);
	free(out);
	free(in);
}

GTEST(all_of_it, 1)
{
	int end[2];

	for (int k = 0; k < PTY; k++)
		if (wire_make(k, end))
			full_both_ways(end, (size_t)much() / 3);
}

/* A call that waits has begun, and has taken what there was. */
/* Some, and then an error: the bytes that came are not lost. */
static void
cut_short(int k, int rd, int wr)
{
	char in[100] = {0};
	size_t done = 99;

	if (wire_has_messages(k))
		return;
	EQ(weft_write(wr, "hello", 5), 5);
	EQ(weft_wait_readable(rd), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(expire_when_awaited, rd, weft_set_deadline, &all);
	EQ(weft_read_full(rd, in, sizeof in, &done), -ETIMEDOUT);
	EQ(done, 5);
	OK(!memcmp(in, "hello", 5));
	weft_waitgroup_wait(&all);
	done = 99;
	EQ(weft_read_full(rd, in, sizeof in, &done), -ETIMEDOUT);
	EQ(done, 0);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
}

GTEST(reads_cut_short, 1) { wire_each(cut_short); }

static void
stuck_halfway(int k, int rd, int wr)
{
	size_t len = 16 << 20, done = 0, at = 0;
	char *buf, *in;

	if (wire_has_messages(k) || k == PTY)
		return;
	buf = malloc(len);
	in = malloc(64 << 10);
	wire_fill(buf, len, 0);
	weft_waitgroup_add(&all, 1);
	weft_go(expire_when_awaited, wr, weft_set_deadline, &all);
	EQ(weft_write_full(wr, buf, len, &done), -ETIMEDOUT);
	OK(done > 0 && done < len);
	weft_waitgroup_wait(&all);
	EQ(weft_set_write_deadline(wr, WEFT_NEVER), 0);
	/* exactly that many are on the way */
	while (at < done) {
		ssize_t n = weft_read(rd, in, 64 << 10);

		if (n <= 0) {
			EQ(n, 1);
			break;
		}
		OK(wire_same(in, (size_t)n, at));
		at += (size_t)n;
	}
	EQ(at, done);
	EQ(weft_set_read_deadline(rd, weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_read(rd, in, 1), -ETIMEDOUT);
	free(buf);
	free(in);
}

GTEST(writes_cut_short, 1) { wire_each(stuck_halfway); }

GTEST(full_of_what_has_failed, 1)
{
	size_t done = 5;
	char c = 0;

	EQ(weft_read_full(-1, &c, 1, &done), -EBADF);
	EQ(done, 0);
	done = 5;
	EQ(weft_write_full(-1, &c, 1, &done), -EBADF);
	EQ(done, 0);
	EQ(weft_read_full(-1, &c, 1, NULL), -EBADF);
	EQ(weft_write_full(-1, &c, 1, NULL), -EBADF);
}

/* ---- the end ---- */

static void
close_when_awaited(int fd)
{
	let_them_wait(1);
	EQ(close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
at_the_end(int end[2])
{
	char c[4];
	struct iovec v = { c, 4 };

	EQ(weft_write(end[1], "x", 1), 1);
	EQ(weft_read(end[0], c, 4), 1);
	weft_waitgroup_add(&all, 1);
	weft_go(close_when_awaited, end[1]);
	EQ(weft_read(end[0], c, 4), 0);
	EQ(weft_read(end[0], c, 4), 0);
	EQ(weft_readv(end[0], &v, 1), 0);
	EQ(weft_read_full(end[0], c, 4, NULL), 0);
	EQ(weft_wait_readable(end[0]), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[0]), 0);
}

GTEST(end_of_file, 1)
{
	int end[2];

	for (int k = 0; k < WIRES; k++)
		if (wire_ends(k) && wire_make(k, end))
			at_the_end(end);
}

/* What was written before the end is read first. */
GTEST(end_of_file_after_data, 2)
{
	char buf[8];
	int end[2];

	for (int k = 0; k < WIRES; k++) {
		if (!wire_ends(k) || !wire_make(k, end))
			continue;
		EQ(weft_write(end[1], "last", 4), 4);
		EQ(weft_close(end[1]), 0);
		EQ(weft_read(end[0], buf, 8), 4);
		EQ(weft_read(end[0], buf, 8), 0);
		EQ(weft_close(end[0]), 0);
	}
}

/* ---- nothing ---- */

static void
zero_bytes(int k, int rd, int wr)
{
	char c = 'c';
	struct iovec v = { &c, 0 };

	if (!wire_has_messages(k)) {
		EQ(weft_read(rd, &c, 0), 0);
		EQ(weft_write(wr, &c, 0), 0);
		EQ(weft_readv(rd, &v, 1), 0);
		EQ(weft_writev(wr, &v, 1), 0);
		EQ(weft_readv(rd, NULL, 0), 0);
		EQ(weft_writev(wr, NULL, 0), 0);
		EQ(weft_write(wr, "y", 1), 1);
		EQ(weft_read(rd, &c, 0), 0);
		EQ(weft_read(rd, &c, 1), 1);
		EQ(c, 'y');
		EQ(weft_read_full(rd, &c, 0, NULL), 0);
		EQ(weft_write_full(wr, &c, 0, NULL), 0);
	}
}

GTEST(zero_length, 1) { wire_each(zero_bytes); }

/* ---- the reader has gone ---- */

typedef ssize_t writer_fn(int fd, const char *buf, size_t len);

static ssize_t
by_write(int fd, const char *buf, size_t len)
{
	return weft_write(fd, buf, len);
}

static ssize_t
by_writev(int fd, const char *buf, size_t len)
{
	struct iovec v = { (char *)(uintptr_t)buf, len };

	return weft_writev(fd, &v, 1);
}

static ssize_t
by_write_full(int fd, const char *buf, size_t len)
{
	return weft_write_full(fd, buf, len, NULL);
}

static ssize_t
by_send(int fd, const char *buf, size_t len)
{
	return weft_sock_send(fd, buf, len, 0);
}

static ssize_t
by_sendto(int fd, const char *buf, size_t len)
{
	return weft_sendto(fd, buf, len, 0, NULL, 0);
}

static ssize_t
by_sendmsg(int fd, const char *buf, size_t len)
{
	struct iovec v = { (char *)(uintptr_t)buf, len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return weft_sendmsg(fd, &m, 0);
}

/* Writes until it fails; a connection of TCP needs to hear of it first. */
static ssize_t
until_it_fails(writer_fn *by, int fd)
{
	double limit = t_now() + 10;
	ssize_t n;

	do
		n = by(fd, "abc", 3);
	while (n == 3 && t_now() < limit);
	return n;
}

static void
broken(int k, writer_fn *by)
{
	ssize_t n;
	int end[2];

	if (!wire_ends(k) || !wire_make(k, end))
		return;
	EQ(weft_close(end[0]), 0);
	n = until_it_fails(by, end[1]);
	if (n == -ECONNRESET)
		n = until_it_fails(by, end[1]);
	EQ(n, -EPIPE);
	EQ(by(end[1], "abc", 3), -EPIPE);
	EQ(weft_close(end[1]), 0);
}

/* SIGPIPE has its default, and would end this process. */
GTEST(broken_sockets_send_no_signal, 1)
{
	static writer_fn *const ways[] = { by_write, by_writev, by_write_full,
	    by_send, by_sendto, by_sendmsg };

	for (int k = 0; k < WIRES; k++)
		for (int i = 0; wire_is_socket(k) && i < 6; i++)
			broken(k, ways[i]);
}

GTEST(broken_pipes, 1)
{
	signal(SIGPIPE, SIG_IGN);
	for (int k = PIPE; k <= FIFO; k++) {
		broken(k, by_write);
		broken(k, by_writev);
		broken(k, by_write_full);
	}
}

/* As the system has it: a signal, if it is not ignored. */
static int signals;

static void on_signal(int sig) { (void)sig; signals++; }

GTEST(broken_pipes_send_a_signal, 1)
{
	struct sigaction sa = { .sa_handler = on_signal,
	    .sa_flags = SA_ONSTACK };
	int end[2];

	sigaction(SIGPIPE, &sa, NULL);
	wire(PIPE_NB, end);
	EQ(weft_close(end[0]), 0);
	EQ(weft_write(end[1], "abc", 3), -EPIPE);
	EQ(signals, 1);
	EQ(weft_close(end[1]), 0);
}

/* The writer waits for room when the last reader goes. */
static void
write_until_broken(int fd)
{
	char buf[5000] = {0};
	ssize_t n;

	do
		n = weft_write(fd, buf, sizeof buf);
	while (n > 0);
	OK(n == -EPIPE || n == -ECONNRESET);
	weft_waitgroup_done(&all);
}

GTEST(broken_while_a_writer_waits, 1)
{
	signal(SIGPIPE, SIG_IGN);
	for (int k = 0; k < WIRES; k++) {
		int end[2];

		if (!wire_ends(k) || !wire_make(k, end))
			continue;
		weft_waitgroup_add(&all, 1);
		weft_go(write_until_broken, end[1]);
		let_them_wait(1);
		EQ(weft_close(end[0]), 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[1]), 0);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The other side does not read: a writer waits, goes on when there is room,
 * and all bytes arrive, in their order. A writer that is stuck has a deadline.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "connection.h"
#include "run_env.h"

enum { CHUNK = 100003 };

static weft_waitgroup all;

/* More than fits into any buffers. */
static size_t
much(void)
{
	return (size_t)(8 + t_scale(12)) * CHUNK;
}

static void
narrow_tcp(int fd[2])
{
	tcp_pair(fd);
	make_narrow(fd[0]);
	make_narrow(fd[1]);
}

static void
narrow_unix(int fd[2])
{
	unix_pair(fd);
	make_narrow(fd[0]);
	make_narrow(fd[1]);
}

/* fd[0] is written, as above. */
static void
narrow_pipe(int fd[2])
{
	int end[2];

	NEED(pipe2(end, O_CLOEXEC));
	NEED(fcntl(end[1], F_SETPIPE_SZ, 4096));
	fd[0] = end[1];
	fd[1] = end[0];
}

/* ---- ways to write it all ---- */

static void
write_chunks(int fd)
{
	static unsigned char buf[CHUNK];

	for (size_t at = 0; at < much(); at += CHUNK) {
		size_t done = 0;

		fill_wave(buf, CHUNK, at);
		EQ(weft_write_full(fd, buf, CHUNK, &done), CHUNK);
		EQ(done, CHUNK);
	}
}

static void
write_pieces(int fd)
{
	static unsigned char buf[CHUNK];

	for (size_t at = 0; at < much();) {
		size_t n = much() - at < CHUNK ? much() - at : CHUNK;
		ssize_t r;

		fill_wave(buf, n, at);
		r = weft_write(fd, buf, n);
		OK(r > 0 && (size_t)r <= n);
		if (r <= 0)
			break;
		at += (size_t)r;
	}
}

static void
write_vectors(int fd)
{
	static unsigned char buf[CHUNK];

	for (size_t at = 0; at < much();) {
		size_t n = much() - at < CHUNK ? much() - at : CHUNK;
		struct iovec v[3] = { { buf, n / 3 },
			{ buf + n / 3, n / 3 },
			{ buf + n / 3 * 2, n - n / 3 * 2 } };
		ssize_t r;

		fill_wave(buf, n, at);
		r = weft_writev(fd, v, 3);
		OK(r > 0 && (size_t)r <= n);
		if (r <= 0)
			break;
		at += (size_t)r;
	}
}

/* All of it in a file without a name. */
static int
wave_file(void)
{
	static unsigned char buf[CHUNK];
	int file = NEED(memfd_create("wave", MFD_CLOEXEC));

	for (size_t at = 0; at < much(); at += CHUNK) {
		fill_wave(buf, CHUNK, at);
		EQ(write(file, buf, CHUNK), CHUNK);
	}
	return file;
}

static void
make_nonblocking(int fd)
{
	NEED(fcntl(fd, F_SETFL, O_NONBLOCK));
}

static void
send_file(int fd)
{
	int file = wave_file();
	off_t at = 0;

	make_nonblocking(fd);
	while ((size_t)at < much()) {
		ssize_t r = weft_sendfile(fd, file, &at, much() - (size_t)at);

		OK(r > 0);
		if (r <= 0)
			break;
	}
	EQ(weft_close(file), 0);
}

static void
copy_file(int fd)
{
	int file = wave_file();

	make_nonblocking(fd);
	EQ(lseek(file, 0, SEEK_SET), 0);
	EQ(weft_copy(fd, file, INT64_MAX), much());
	EQ(weft_close(file), 0);
}

/* ---- all of it arrives ---- */

static void
writes(int fd, void (*way)(int))
{
	way(fd);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

/* In pieces of odd sizes. */
static void
drain(int fd)
{
	static unsigned char buf[30011];
	size_t at = 0, size = 1;
	ssize_t n;

	while ((n = weft_read(fd, buf, size)) > 0) {
		EQ(check_wave(buf, (size_t)n, at), n);
		at += (size_t)n;
		size = size * 7 % sizeof buf + 1;
	}
	EQ(n, 0);
	EQ(at, much());
}

/* Reading begins when the writer waits. */
static void
slow_start(void (*make)(int *), void (*way)(int))
{
	int fd[2];

	make(fd);
	weft_waitgroup_add(&all, 1);
	weft_go(writes, fd[0], way);
	await_waiting(1);
	drain(fd[1]);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd[1]), 0);
}

#define WAY(way)							\
	GTEST(tcp_##way##_1, 1) { slow_start(narrow_tcp, way); }	\
	GTEST(tcp_##way##_4, 4) { slow_start(narrow_tcp, way); }	\
	GTEST(unix_##way##_2, 2) { slow_start(narrow_unix, way); }	\
	GTEST(pipe_##way##_2, 2) { slow_start(narrow_pipe, way); }

WAY(write_chunks)
WAY(write_pieces)
WAY(write_vectors)
WAY(send_file)
WAY(copy_file)

/* ---- a writer that is stuck ---- */

/* A goroutine that writes until it is told to stop, and how far it came. */
struct stuck {
	int fd, from;
	size_t done;
	int64_t result;
};

/* When it is stuck its time is up soon: no sooner, and it is told. */
static void
get_stuck(struct stuck *s, void (*fn)(struct stuck *s))
{
	int64_t when;

	EQ(weft_set_write_deadline(s->fd, WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(fn, s);
	await_waiting(1);
	when = weft_deadline(5 * WEFT_MS);
	EQ(weft_set_write_deadline(s->fd, when), 0);
	weft_waitgroup_wait(&all);
	OK(weft_now() >= when);
	EQ(s->result, -ETIMEDOUT);
	OK(s->done > 0);
}

static void
stuffs(struct stuck *s)
{
	static unsigned char buf[CHUNK];
	size_t from = s->done, done;

	do {
		fill_wave(buf, sizeof buf, s->done);
		s->result = weft_write_full(s->fd, buf, sizeof buf, &done);
		s->done += done;
	} while (s->result > 0);
	s->done -= from;
	weft_waitgroup_done(&all);
}

/* Writes as much as fits: how much that is. */
static size_t
stuff(int fd, size_t from)
{
	struct stuck s = { .fd = fd, .done = from };

	get_stuck(&s, stuffs);
	return s.done;
}

static void
sized_drain(int fd, size_t at, size_t n)
{
	static unsigned char buf[4096];

	while (n > 0) {
		size_t k = n < sizeof buf ? n : sizeof buf;

		EQ(weft_read_full(fd, buf, k, NULL), k);
		EQ(check_wave(buf, k, at), k);
		at += k;
		n -= k;
	}
}

/* What got through is what it said, not a byte more; then it goes on. */
static void
stuck(void (*make)(int *))
{
	unsigned char c;
	size_t done, more;
	int fd[2];

	make(fd);
	done = stuff(fd[0], 0);
	OK(done > 0);
	EQ(weft_write(fd[0], "x", 1), -ETIMEDOUT);
	sized_drain(fd[1], 0, done);
	EQ(weft_set_read_deadline(fd[1], weft_deadline(2 * WEFT_MS)), 0);
	EQ(weft_read(fd[1], &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(fd[1], WEFT_NEVER), 0);
	/* That there is room may not have been told yet. */
	EQ(weft_set_write_deadline(fd[0], WEFT_NEVER), 0);
	EQ(weft_wait_writable(fd[0]), 0);
	more = stuff(fd[0], done);
	OK(more > 0);
	sized_drain(fd[1], done, more);
	EQ(weft_set_write_deadline(fd[0], WEFT_NEVER), 0);
	EQ(weft_write(fd[0], "y", 1), 1);
	EQ(weft_read(fd[1], &c, 1), 1);
	EQ(c, 'y');
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

GTEST(stuck_tcp_1, 1) { stuck(narrow_tcp); }
GTEST(stuck_tcp_4, 4) { stuck(narrow_tcp); }
GTEST(stuck_unix_2, 2) { stuck(narrow_unix); }
GTEST(stuck_pipe_2, 2) { stuck(narrow_pipe); }

/* The same, sent from a file, to one that blocks and one that does not. */
static void
sends(struct stuck *s)
{
	off_t at = 0;

	do
		s->result = weft_sendfile(s->fd, s->from, &at, much());
	while (s->result > 0);
	s->done = (size_t)at;
	weft_waitgroup_done(&all);
}

/* It tells of an error only if there is nothing else to tell. */
static void
copies(struct stuck *s)
{
	do
		s->result = weft_copy(s->fd, s->from, INT64_MAX);
	while (s->result > 0);
	s->done = (size_t)lseek(s->from, 0, SEEK_CUR);
	weft_waitgroup_done(&all);
}

static void
stuck_file(void (*make)(int *), bool nonblocking, void (*fn)(struct stuck *))
{
	struct stuck s = { .from = wave_file() };
	int fd[2];

	make(fd);
	s.fd = fd[0];
	if (nonblocking)
		make_nonblocking(fd[0]);
	NEED((int)lseek(s.from, 0, SEEK_SET));
	get_stuck(&s, fn);
	sized_drain(fd[1], 0, s.done);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
	EQ(weft_close(s.from), 0);
}

GTEST(stuck_sendfile_tcp, 2) { stuck_file(narrow_tcp, true, sends); }
GTEST(stuck_sendfile_tcp_blocking, 2) { stuck_file(narrow_tcp, false, sends); }
GTEST(stuck_sendfile_unix, 2) { stuck_file(narrow_unix, true, sends); }
GTEST(stuck_sendfile_unix_blocking, 2)
{
	stuck_file(narrow_unix, false, sends);
}
GTEST(stuck_sendfile_pipe, 2) { stuck_file(narrow_pipe, true, sends); }
GTEST(stuck_sendfile_pipe_blocking, 2)
{
	stuck_file(narrow_pipe, false, sends);
}
GTEST(stuck_copy_tcp, 2) { stuck_file(narrow_tcp, true, copies); }
GTEST(stuck_copy_pipe, 2) { stuck_file(narrow_pipe, true, copies); }

/* From a pipe that always has something. */
static void
splices(struct stuck *s)
{
	static unsigned char buf[4096];
	size_t in = 0;
	int end[2];

	NEED(pipe2(end, O_CLOEXEC));
	do {
		while (in - s->done < 2 * sizeof buf) {
			fill_wave(buf, sizeof buf, in);
			EQ(write(end[1], buf, sizeof buf), sizeof buf);
			in += sizeof buf;
		}
		s->result = weft_splice(end[0], NULL, s->fd, NULL, 1 << 20, 0);
		s->done += s->result > 0 ? (size_t)s->result : 0;
	} while (s->result > 0);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_done(&all);
}

static void
stuck_splice(void (*make)(int *), bool nonblocking)
{
	struct stuck s = { .done = 0 };
	int fd[2];

	make(fd);
	s.fd = fd[0];
	if (nonblocking)
		make_nonblocking(fd[0]);
	get_stuck(&s, splices);
	sized_drain(fd[1], 0, s.done);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

GTEST(stuck_splice_tcp, 2) { stuck_splice(narrow_tcp, true); }
GTEST(stuck_splice_tcp_blocking, 2) { stuck_splice(narrow_tcp, false); }
GTEST(stuck_splice_unix, 2) { stuck_splice(narrow_unix, true); }
GTEST(stuck_splice_unix_blocking, 2) { stuck_splice(narrow_unix, false); }

/* ---- several readers, or writers, of one that blocks ---- */

static void
gets_or_times_out(int fd, long *got)
{
	char c;
	ssize_t n = weft_read(fd, &c, 1);

	OK(n == 1 || n == -ETIMEDOUT);
	if (n == 1)
		bump(got);
	weft_waitgroup_done(&all);
}

/* One gets what there is; the others are not stuck in the kernel. */
GTEST(many_read_blocking_pipe, 4)
{
	int end[2];

	NEED(pipe2(end, O_CLOEXEC));
	for (int i = 0; i < t_scale(100); i++) {
		long got = 0;

		EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
		weft_waitgroup_add(&all, 4);
		for (int k = 0; k < 4; k++)
			weft_go(gets_or_times_out, end[0], &got);
		await_waiting(4);
		EQ(write(end[1], "x", 1), 1);
		await(&got, 1);
		EQ(weft_set_read_deadline(end[0], weft_now()), 0);
		weft_waitgroup_wait(&all);
		EQ(got, 1);
	}
	EQ(weft_close(end[0]), 0);
	NEED(close(end[1]));
}

/* ---- several writers: what one call wrote stays together ---- */

enum { WRITERS = 8, MESSAGE = 512 };

static long messages;

static void
send_messages(int fd, int writer)
{
	unsigned char m[MESSAGE];

	memset(m, writer, sizeof m);
	for (long i = 0; i < messages; i++) {
		memcpy(m + 1, &i, sizeof i);
		EQ(weft_write(fd, m, sizeof m), MESSAGE);
	}
	weft_waitgroup_done(&all);
}

static void
receive_messages(int fd)
{
	unsigned char m[MESSAGE], want[MESSAGE];
	long next[WRITERS] = {0};

	for (long i = 0; i < messages * WRITERS; i++) {
		EQ(weft_read(fd, m, sizeof m), MESSAGE);
		OK(m[0] < WRITERS);
		memset(want, m[0], sizeof want);
		memcpy(want + 1, &next[m[0] % WRITERS], sizeof(long));
		next[m[0] % WRITERS]++;
		OK(!memcmp(m, want, sizeof m));
	}
}

/* Packets, and a pipe, whose small writes are whole. */
static void
many_writers(int in, int out)
{
	messages = t_scale(500);
	weft_waitgroup_add(&all, WRITERS);
	for (int i = 0; i < WRITERS; i++)
		weft_go(send_messages, in, i);
	await_waiting(WRITERS);
	receive_messages(out);
	weft_waitgroup_wait(&all);
	EQ(weft_close(in), 0);
	EQ(weft_close(out), 0);
}

static void
many_write_packets(int type)
{
	int fd[2];

	NEED(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fd));
	make_narrow(fd[0]);
	many_writers(fd[0], fd[1]);
}

GTEST(many_write_seqpacket_1, 1) { many_write_packets(SOCK_SEQPACKET); }
GTEST(many_write_seqpacket_4, 4) { many_write_packets(SOCK_SEQPACKET); }
GTEST(many_write_dgram_1, 1) { many_write_packets(SOCK_DGRAM); }
GTEST(many_write_dgram_4, 4) { many_write_packets(SOCK_DGRAM); }

GTEST(many_write_pipe_4, 4)
{
	int fd[2];

	narrow_pipe(fd);
	many_writers(fd[0], fd[1]);
}

/* ---- one goroutine waits for room without writing ---- */

static void
says_writable(int fd, long *seen)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	EQ(weft_wait_writable(fd), 0);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLOUT);
	bump(seen);
	weft_waitgroup_done(&all);
}

static void
polled(int fd, long *in_vain)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t when = weft_deadline(5 * WEFT_MS);

	EQ(weft_poll(&p, 1, when), 0);
	OK(weft_now() >= when);
	bump(in_vain);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	weft_waitgroup_done(&all);
}

GTEST(wait_for_room, 2)
{
	long seen = 0, in_vain = 0;
	size_t done;
	int fd[2];

	narrow_unix(fd);
	done = stuff(fd[0], 0);
	EQ(weft_set_write_deadline(fd[0], WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 3);
	weft_go(says_writable, fd[0], &seen);
	weft_go(says_writable, fd[0], &seen);
	weft_go(polled, fd[0], &in_vain);
	await(&in_vain, 1);
	await_waiting(3);
	EQ(get(&seen), 0);
	sized_drain(fd[1], 0, done);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

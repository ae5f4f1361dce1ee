/* SPDX-License-Identifier: MIT */
/* From descriptor to descriptor: sendfile, splice, copy. */
#define _GNU_SOURCE 1
#include "fd_pairs.h"

static weft_waitgroup all;

/* A file of so many bytes, without a name, at its beginning. */
static int
file_of(size_t len)
{
	char path[] = "/tmp/weft-copying-XXXXXX", buf[4096];
	int fd = mkstemp(path);

	OK(fd >= 0);
	unlink(path);
	for (size_t at = 0; at < len; at += sizeof buf) {
		size_t n = len - at < sizeof buf ? len - at : sizeof buf;

		wire_fill(buf, n, at);
		EQ(write(fd, buf, n), n);
	}
	EQ(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* The bytes at..at+len come from fd, and if `end` nothing more. */
static void
expect(int fd, size_t len, size_t at, bool end)
{
	char *buf = malloc(len + 1);

	EQ(weft_read_full(fd, buf, len + end, NULL), len);
	OK(wire_same(buf, len, at));
	free(buf);
}

static void
expect_later(int fd, size_t len, size_t at, bool end)
{
	let_them_fill(1);
	expect(fd, len, at, end);
	weft_waitgroup_done(&all);
}

/* What a file holds now. */
static void
expect_file(int fd, size_t len)
{
	EQ(lseek(fd, 0, SEEK_SET), 0);
	expect(fd, len, 0, true);
}

/* ---- sendfile ---- */

static void
sendfile_all(int to, int from, size_t len, size_t at)
{
	off_t off = (off_t)at;

	while (off < (off_t)(at + len)) {
		off_t was = off;
		ssize_t n = weft_sendfile(to, from, &off,
		    at + len - (size_t)off);

		if (n <= 0) {
			EQ(n, 1);
			break;
		}
		EQ(off, was + n);
	}
}

/* More than fits: the sender waits for the reader. */
static void
send_a_file(int k, int rd, int wr)
{
	size_t len = (size_t)t_scale(4 << 20);
	int file;

	if (wire_has_messages(k) || k == PTY)
		return;
	file = file_of(len + 100);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_later, rd, len, 100, false);
	sendfile_all(wr, file, len, 100);
	weft_waitgroup_wait(&all);
	EQ(lseek(file, 0, SEEK_CUR), 0);
	EQ(weft_close(file), 0);
}

GTEST(sendfile_on_one, 1) { wire_each(send_a_file); }
GTEST(sendfile_on_four, 4) { wire_each(send_a_file); }

GTEST(sendfile_moves_the_file, 1)
{
	int end[2], file = file_of(1000), other = file_of(0);
	off_t off = 5000;

	wire(TCP4, end);
	EQ(weft_sendfile(end[1], file, NULL, 600), 600);
	EQ(lseek(file, 0, SEEK_CUR), 600);
	expect(end[0], 600, 0, false);
	EQ(weft_sendfile(end[1], file, NULL, 600), 400);
	expect(end[0], 400, 600, false);
	EQ(weft_sendfile(end[1], file, NULL, 600), 0);
	EQ(weft_sendfile(end[1], file, &off, 1), 0);
	EQ(off, 5000);
	/* to a file */
	off = 0;
	EQ(weft_sendfile(other, file, &off, 1000), 1000);
	expect_file(other, 1000);
	wire_drop(end);
	EQ(weft_close(file), 0);
	EQ(weft_close(other), 0);
}

GTEST(sendfile_fails, 1)
{
	int end[2], file = file_of(1000);
	off_t off = 0;

	wire(STREAM, end);
	EQ(weft_sendfile(-1, file, &off, 10), -EBADF);
	EQ(weft_sendfile(end[1], -1, &off, 10), -EBADF);
	EQ(weft_sendfile(end[1], end[0], NULL, 10), -EINVAL);
	EQ(weft_set_write_deadline(end[1], weft_deadline(0)), 0);
	EQ(weft_sendfile(end[1], file, &off, 10), -ETIMEDOUT);
	EQ(off, 0);
	EQ(weft_set_write_deadline(end[1], WEFT_NEVER), 0);
	EQ(weft_close(end[0]), 0);
	EQ(weft_sendfile(end[1], file, &off, 10), -EPIPE);
	EQ(off, 0);
	EQ(weft_close(end[1]), 0);
	EQ(weft_sendfile(end[1], file, &off, 10), -EBADF);
	EQ(weft_close(file), 0);
}

/* The reader does not read: the sender waits, and is ended. */
static void
sendfile_until(int to, int file, ssize_t expected)
{
	off_t off = 0;
	ssize_t n;

	do
		n = weft_sendfile(to, file, &off, (16 << 20) - (size_t)off);
	while (n > 0 && off < 16 << 20);
	EQ(n, expected);
	OK(off > 0);
	weft_waitgroup_done(&all);
}

GTEST(sendfile_is_ended, 1)
{
	int file = file_of(0);

	EQ(ftruncate(file, 16 << 20), 0);
	for (int k = 0; k < PTY; k++) {
		int end[2];

		if (!wire_make(k, end))
			continue;
		weft_waitgroup_add(&all, 1);
		weft_go(sendfile_until, end[1], file, -ETIMEDOUT);
		let_them_wait(1);
		EQ(weft_set_write_deadline(end[1], weft_deadline(20 * WEFT_MS)),
		    0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[0]), 0);
		EQ(weft_close(end[1]), 0);
		wire(k, end);
		weft_waitgroup_add(&all, 1);
		weft_go(sendfile_until, end[1], file, -EBADF);
		let_them_wait(1);
		EQ(weft_close(end[1]), 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[0]), 0);
	}
	EQ(weft_close(file), 0);
}

/* ---- splice ---- */

static void
splice_through(int from, int to, size_t len)
{
	while (len > 0) {
		ssize_t n = weft_splice(from, NULL, to, NULL, len, 0);

		if (n <= 0) {
			EQ(n, 1);
			break;
		}
		len -= (size_t)n;
	}
	weft_waitgroup_done(&all);
}

static void
feed(int fd, size_t len)
{
	char buf[3000];

	for (size_t at = 0; at < len;) {
		size_t n = len - at < sizeof buf ? len - at : sizeof buf;

		wire_fill(buf, n, at);
		EQ(weft_write_full(fd, buf, n, NULL), n);
		at += n;
	}
	weft_waitgroup_done(&all);
}

/* A socket, a pipe, a socket; only the writer begins at once. */
static void
splice_chain(int k, int pipes)
{
	int in[2], mid[2], out[2];
	size_t len = (size_t)t_scale(1 << 20);

	if (!wire_make(k, in) || !wire_make(k, out))
		return;
	wire(pipes, mid);
	weft_waitgroup_add(&all, 3);
	weft_go(splice_through, in[0], mid[1], len);
	weft_go(splice_through, mid[0], out[1], len);
	let_them_wait(2);
	weft_go(feed, in[1], len);
	expect(out[0], len, 0, false);
	weft_waitgroup_wait(&all);
	wire_drop(in);
	wire_drop(mid);
	wire_drop(out);
}

GTEST(splice_on_one, 1)
{
	for (int k = 0; k < PTY; k++) {
		splice_chain(k, PIPE);
		splice_chain(k, PIPE_NB);
	}
}

GTEST(splice_on_four, 4)
{
	for (int k = 0; k < PTY; k++)
		splice_chain(k, PIPE);
}

GTEST(splice_with_files, 1)
{
	int end[2], file = file_of(1000), other = file_of(0);
	off_t from = 200, to = 0;

	wire(PIPE, end);
	EQ(weft_splice(file, &from, end[1], NULL, 500, 0), 500);
	EQ(from, 700);
	EQ(weft_splice(end[0], NULL, other, &to, 300, 0), 300);
	EQ(to, 300);
	expect(end[0], 200, 500, false);
	expect(other, 300, 200, true);
	EQ(weft_close(end[1]), 0);
	EQ(weft_splice(end[0], NULL, other, &to, 300, 0), 0);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(file), 0);
	EQ(weft_close(other), 0);
}

GTEST(splice_fails, 1)
{
	int end[2], pair[2], file = file_of(10);
	off_t off = 0;

	wire(PIPE, end);
	wire(STREAM, pair);
	EQ(weft_splice(-1, NULL, end[1], NULL, 5, 0), -EBADF);
	EQ(weft_splice(end[0], NULL, -1, NULL, 5, 0), -EBADF);
	EQ(weft_splice(pair[0], NULL, pair[1], NULL, 5, 0), -EINVAL);
	EQ(weft_splice(file, &off, pair[1], NULL, 5, 0), -EINVAL);
	/* asked not to wait */
	EQ(weft_splice(pair[0], NULL, end[1], NULL, 5, SPLICE_F_NONBLOCK),
	    -EAGAIN);
	EQ(weft_splice(end[0], NULL, pair[1], NULL, 5, SPLICE_F_NONBLOCK),
	    -EAGAIN);
	EQ(weft_set_read_deadline(pair[0], weft_deadline(10 * WEFT_MS)), 0);
	EQ(weft_splice(pair[0], NULL, end[1], NULL, 5, 0), -ETIMEDOUT);
	EQ(weft_set_read_deadline(end[0], weft_deadline(10 * WEFT_MS)), 0);
	EQ(weft_splice(end[0], NULL, pair[1], NULL, 5, 0), -ETIMEDOUT);
	EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
	EQ(weft_write(end[1], "abc", 3), 3);
	EQ(weft_close(pair[0]), 0);
	EQ(weft_splice(end[0], NULL, pair[1], NULL, 3, 0), -EPIPE);
	EQ(weft_close(pair[1]), 0);
	wire_drop(end);
	EQ(weft_close(file), 0);
}

/* A call that waits for fd, one of the two, ends by its deadline and close. */
static void
ends_by_deadline_and_close(void (*call)(int from, int to, ssize_t expected),
    int from, int to, int fd)
{
	weft_waitgroup_add(&all, 1);
	weft_go(call, from, to, (ssize_t)-ETIMEDOUT);
	let_them_wait(1);
	EQ((fd == from ? weft_set_read_deadline : weft_set_write_deadline)(fd,
	    weft_deadline(WEFT_MS)), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_set_deadline(fd, WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(call, from, to, (ssize_t)-EBADF);
	let_them_wait(1);
	EQ(weft_close(fd), 0);
	weft_waitgroup_wait(&all);
}

/* From what nothing comes, and to what has no room. */
static void
splice_until(int from, int to, ssize_t expected)
{
	ssize_t n;

	do
		n = weft_splice(from, NULL, to, NULL, 1 << 16, 0);
	while (n > 0);
	EQ(n, expected);
	weft_waitgroup_done(&all);
}

static void
splice_ends(int k)
{
	int end[2], mid[2];

	if (!wire_make(k, end))
		return;
	wire(PIPE, mid);
	ends_by_deadline_and_close(splice_until, end[0], mid[1], end[0]);
	EQ(weft_close(end[1]), 0);
	wire(k, end);
	wire_stuff(end[1]);
	wire_stuff(mid[1]);
	ends_by_deadline_and_close(splice_until, mid[0], end[1], end[1]);
	EQ(weft_close(end[0]), 0);
	wire_drop(mid);
}

GTEST(splice_is_ended, 1)
{
	for (int k = 0; k < PTY; k++)
		splice_ends(k);
}

/* ---- copy ---- */

static void
feed_and_end(int fd, size_t len)
{
	weft_waitgroup_add(&all, 1);
	feed(fd, len);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

/* From each kind to each kind, which both wait. */
static void
copy_between(int from, int to)
{
	size_t len = (size_t)t_scale(300 << 10);
	int in[2], out[2];

	if (!wire_make(from, in) || !wire_make(to, out))
		return;
	weft_waitgroup_add(&all, 2);
	weft_go(feed_and_end, in[1], len);
	weft_go(expect_later, out[0], len, 0, true);
	EQ(weft_copy(out[1], in[0], INT64_MAX), len);
	EQ(weft_close(out[1]), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(in[0]), 0);
	EQ(weft_close(out[0]), 0);
}

static void
copy_all_kinds(void)
{
	for (int from = 0; from < PTY; from++)
		for (int to = 0; to < PTY; to++)
			copy_between(from, to);
}

GTEST(copy_all_kinds_on_one, 1) { copy_all_kinds(); }
GTEST(copy_all_kinds_on_four, 4) { copy_all_kinds(); }

/* From a file to each, and from each to a file. */
static void
copy_files(void)
{
	size_t len = (size_t)t_scale(500 << 10);
	int end[2], file = file_of(len), other, k;

	for (k = 0; k < PTY; k++) {
		if (!wire_make(k, end))
			continue;
		lseek(file, 0, SEEK_SET);
		weft_waitgroup_add(&all, 1);
		weft_go(expect_later, end[0], len, 0, true);
		EQ(weft_copy(end[1], file, INT64_MAX), len);
		EQ(weft_close(end[1]), 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[0]), 0);
		EQ(lseek(file, 0, SEEK_CUR), len);
		wire(k, end);
		other = file_of(0);
		weft_waitgroup_add(&all, 1);
		weft_go(feed_and_end, end[1], len);
		EQ(weft_copy(other, end[0], INT64_MAX), len);
		weft_waitgroup_wait(&all);
		expect_file(other, len);
		EQ(weft_close(other), 0);
		EQ(weft_close(end[0]), 0);
	}
	lseek(file, 0, SEEK_SET);
	other = file_of(0);
	EQ(weft_copy(other, file, INT64_MAX), len);
	expect_file(other, len);
	EQ(weft_close(other), 0);
	EQ(weft_close(file), 0);
}

GTEST(copy_files_on_one, 1) { copy_files(); }
TEST(copy_file_without_a_runtime)
{
	int file = file_of(100 << 10), other = file_of(0);

	EQ(weft_copy(other, file, INT64_MAX), 100 << 10);
	expect_file(other, 100 << 10);
}

/* Not more than max: the rest is still there. */
static void
copy_some(int from, int to)
{
	int in[2], out[2];

	if (!wire_make(from, in) || !wire_make(to, out))
		return;
	weft_waitgroup_add(&all, 1);
	feed(in[1], 1000);
	EQ(weft_copy(out[1], in[0], 600), 600);
	EQ(weft_copy(out[1], in[0], 0), 0);
	expect(in[0], 400, 600, false);
	expect(out[0], 600, 0, false);
	wire_drop(in);
	wire_drop(out);
}

GTEST(copy_at_most, 1)
{
	int file = file_of(1000), other = file_of(0), end[2];

	for (int from = 0; from < PTY; from++)
		for (int to = 0; to < PTY; to++)
			copy_some(from, to);
	EQ(weft_copy(other, file, 700), 700);
	EQ(lseek(file, 0, SEEK_CUR), 700);
	expect_file(other, 700);
	wire(TCP4, end);
	EQ(weft_copy(end[1], file, 200), 200);
	EQ(lseek(file, 0, SEEK_CUR), 900);
	expect(end[0], 200, 700, false);
	wire_drop(end);
	EQ(weft_close(file), 0);
	EQ(weft_close(other), 0);
}

/* What others can be copied, too: devices, directories not. */
GTEST(copy_odd_things, 1)
{
	int zero = open("/dev/zero", O_RDWR), null = open("/dev/null", O_RDWR);
	int full = open("/dev/full", O_RDWR), dir = open("/tmp", O_RDONLY);
	int proc = open("/proc/self/status", O_RDONLY), file = file_of(0);

	EQ(weft_copy(null, zero, 1 << 20), 1 << 20);
	EQ(weft_copy(file, null, INT64_MAX), 0);
	EQ(weft_copy(full, zero, 10), -ENOSPC);
	EQ(weft_copy(null, dir, 10), -EISDIR);
	OK(weft_copy(file, proc, INT64_MAX) > 100);
	EQ(lseek(file, 0, SEEK_CUR), lseek(proc, 0, SEEK_CUR));
	EQ(weft_copy(-1, zero, 10), -EBADF);
	EQ(weft_copy(null, -1, 10), -EBADF);
	for (int i = 0; i < 6; i++)
		EQ(weft_close((int[]){ zero, null, full, dir, proc, file }[i]),
		    0);
}

/* The end of either while it waits. */
static void
copy_until(int from, int to, ssize_t expected)
{
	EQ(weft_copy(to, from, INT64_MAX), expected);
	weft_waitgroup_done(&all);
}

static void
copy_ends(int from, int to)
{
	int in[2], out[2];

	if (!wire_make(from, in) || !wire_make(to, out))
		return;
	ends_by_deadline_and_close(copy_until, in[0], out[1], in[0]);
	EQ(weft_close(in[1]), 0);
	wire_drop(out);
}

GTEST(copy_is_ended, 2)
{
	for (int from = 0; from < PTY; from++)
		for (int to = 0; to < PTY; to += 3)
			copy_ends(from, to);
}

/* The reader is gone: -EPIPE, without a signal if it is a socket. */
GTEST(copy_without_a_reader, 1)
{
	int end[2], in[2], file = file_of(1000);

	wire(STREAM, end);
	EQ(weft_close(end[0]), 0);
	EQ(weft_copy(end[1], file, INT64_MAX), -EPIPE);
	wire(PIPE, in);
	EQ(weft_write(in[1], "abc", 3), 3);
	EQ(weft_copy(end[1], in[0], INT64_MAX), -EPIPE);
	wire_drop(in);
	wire(TCP4, in);
	EQ(weft_write(in[1], "abc", 3), 3);
	EQ(weft_copy(end[1], in[0], INT64_MAX), -EPIPE);
	wire_drop(in);
	EQ(weft_close(end[1]), 0);
	EQ(weft_close(file), 0);
}

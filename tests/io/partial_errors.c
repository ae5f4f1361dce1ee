/* SPDX-License-Identifier: MIT */
/*
 * An error after some bytes: the call gives the bytes, and the error is not
 * lost. That a connection has died the kernel says only once, and then that
 * all is well, at the end. And memory that is not there.
 */
#define _GNU_SOURCE 1
#include <sys/mman.h>

#include "connection.h"
#include "fd_pairs.h"

static weft_waitgroup all;

enum { BIG = 4 * 1024 * 1024, HALF = BIG / 2 };
static char big[BIG];

/* ---- a connection that dies in the middle ---- */

struct writing {
	ssize_t (*call)(int fd, size_t *done);
	int fd;
	ssize_t got;
	size_t done;
};

static ssize_t
write_it(int fd, size_t *done)
{
	(void)done;
	return weft_write(fd, big, BIG);
}

static ssize_t
write_full_it(int fd, size_t *done)
{
	return weft_write_full(fd, big, BIG, done);
}

static ssize_t
writev_it(int fd, size_t *done)
{
	struct iovec v[2] = { { big, HALF }, { big + HALF, HALF } };

	(void)done;
	return weft_writev(fd, v, 2);
}

static void
writes(struct writing *w)
{
	w->got = w->call(w->fd, &w->done);
	weft_waitgroup_done(&all);
}

static void
narrow_pair(int fd[2])
{
	tcp_pair(fd);
	make_narrow(fd[0]);
}

/* The goroutine that waits for the other end has ended then. */
static void
reset_when_awaited(int fd)
{
	await_waiting(1);
	reset(fd);
	weft_waitgroup_wait(&all);
}

/* A write that is under way when the other end resets. */
static struct writing
cut_off(ssize_t (*call)(int fd, size_t *done))
{
	struct writing w = { .call = call };
	int fd[2];

	narrow_pair(fd);
	w.fd = fd[0];
	weft_waitgroup_add(&all, 1);
	weft_go(writes, &w);
	reset_when_awaited(fd[1]);
	return w;
}

static ssize_t read_1(int fd) { return weft_read(fd, &(char){0}, 1); }
static ssize_t recv_1(int fd) { return weft_sock_recv(fd, &(char){0}, 1, 0); }
static ssize_t write_1(int fd) { return weft_write(fd, "x", 1); }
static ssize_t send_1(int fd) { return weft_sock_send(fd, "x", 1, 0); }

static ssize_t
readv_1(int fd)
{
	struct iovec v = { &(char){0}, 1 };

	return weft_readv(fd, &v, 1);
}

static ssize_t
writev_1(int fd)
{
	struct iovec v = { &(char){'x'}, 1 };

	return weft_writev(fd, &v, 1);
}

static ssize_t
recvmsg_1(int fd)
{
	struct iovec v = { &(char){0}, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return weft_recvmsg(fd, &m, 0);
}

static ssize_t
sendmsg_1(int fd)
{
	struct iovec v = { &(char){'x'}, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return weft_sendmsg(fd, &m, 0);
}

/* A reader is not told that it was the end, as if nothing was missing. */
static void
read_after(ssize_t (*call)(int fd, size_t *done))
{
	struct writing w = cut_off(call);

	OK(w.got > 0 && w.got < BIG);
	EQ(read_1(w.fd), -ECONNRESET);
	EQ(read_1(w.fd), 0);
	EQ(write_1(w.fd), -EPIPE);
	EQ(weft_close(w.fd), 0);
}

GTEST(read_after_write, 2) { read_after(write_it); }
GTEST(read_after_writev, 2) { read_after(writev_it); }

/* Each call says it, once; but one that asks for nothing does not. */
GTEST(any_call_after, 2)
{
	ssize_t (*const calls[])(int fd) = { read_1, recv_1, readv_1,
	    recvmsg_1, write_1, send_1, writev_1, sendmsg_1 };

	for (int i = 0; i < 8; i++) {
		struct writing w = cut_off(write_it);

		EQ(weft_read(w.fd, NULL, 0), 0);
		EQ(calls[i](w.fd), -ECONNRESET);
		EQ(calls[i](w.fd), i < 4 ? 0 : -EPIPE);
		EQ(weft_close(w.fd), 0);
	}
}

/* A writer that was told is not told again. */
GTEST(nothing_after_write_full, 2)
{
	struct writing w = cut_off(write_full_it);

	EQ(w.got, -ECONNRESET);
	OK(w.done > 0 && w.done < BIG);
	EQ(read_1(w.fd), 0);
	EQ(write_1(w.fd), -EPIPE);
	EQ(weft_close(w.fd), 0);
}

/* Nor is the next user of the number. */
GTEST(nothing_after_close, 2)
{
	struct writing w = cut_off(write_it);
	int fd[2];

	EQ(weft_close(w.fd), 0);
	EQ(raw_pair(SOCK_STREAM, fd), 0);
	if (fd[0] != w.fd && fd[1] != w.fd) {
		EQ(syscall(SYS_dup3, fd[0], w.fd, O_CLOEXEC), w.fd);
		EQ(weft_close(fd[0]), 0);
		fd[0] = w.fd;
	}
	EQ(weft_close(fd[0] == w.fd ? fd[1] : fd[0]), 0);
	EQ(read_1(w.fd), 0);
	EQ(weft_close(w.fd), 0);
}

/* A deadline is nothing of that kind. */
GTEST(nothing_after_a_deadline, 2)
{
	int fd[2];

	tcp_pair(fd);
	make_narrow(fd[0]);
	EQ(weft_set_write_deadline(fd[0], weft_deadline(5 * WEFT_MS)), 0);
	OK(weft_write(fd[0], big, BIG) < BIG);
	EQ(weft_set_write_deadline(fd[0], WEFT_NEVER), 0);
	EQ(shutdown(fd[0], SHUT_WR), 0);
	while (weft_read(fd[1], big, BIG) > 0)
		;
	NEED(close(fd[1]));
	EQ(read_1(fd[0]), 0);
	EQ(write_1(fd[0]), -EPIPE);
	EQ(weft_close(fd[0]), 0);
}

/* ---- one that dies while it is read ---- */

/* Three bytes, and then a reset. */
static int
three_bytes(void)
{
	int fd[2];

	tcp_pair(fd);
	EQ(write(fd[1], "abc", 3), 3);
	reset(fd[1]);
	return fd[0];
}

/* A caller that was not told of the end and copies again is told. */
GTEST(copy_from_the_dead, 2)
{
	int from = three_bytes(), to[2];

	wire(PIPE, to);
	EQ(weft_copy(to[1], from, INT64_MAX), 3);
	EQ(weft_copy(to[1], from, INT64_MAX), -ECONNRESET);
	EQ(weft_copy(to[1], from, INT64_MAX), 0);
	wire_drop(to);
	EQ(weft_close(from), 0);
}

GTEST(all_from_the_dead, 2)
{
	int fd = three_bytes();

	EQ(weft_sock_recv(fd, big, 10, MSG_WAITALL), 3);
	EQ(read_1(fd), -ECONNRESET);
	EQ(read_1(fd), 0);
	EQ(weft_close(fd), 0);
}

GTEST(all_parts_from_the_dead, 2)
{
	struct iovec v[2] = { { big, 3 }, { big + 3, 7 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	int fd = three_bytes();

	EQ(weft_recvmsg(fd, &m, MSG_WAITALL), 3);
	EQ(read_1(fd), -ECONNRESET);
	EQ(read_1(fd), 0);
	EQ(weft_close(fd), 0);
}

struct copying {
	int to, from;
	int64_t got;
};

static void
copies(struct copying *c)
{
	c->got = weft_copy(c->to, c->from, INT64_MAX);
	weft_waitgroup_done(&all);
}

static void
copy_to_the_dead(int from)
{
	struct copying c = { .from = from };
	int fd[2];

	narrow_pair(fd);
	c.to = fd[0];
	weft_waitgroup_add(&all, 1);
	weft_go(copies, &c);
	reset_when_awaited(fd[1]);
	OK(c.got > 0 && c.got < BIG);
	EQ(read_1(fd[0]), -ECONNRESET);
	EQ(write_1(fd[0]), -EPIPE);
	EQ(weft_close(fd[0]), 0);
}

GTEST(copy_file_to_the_dead, 2)
{
	int file = NEED(memfd_create("big", MFD_CLOEXEC));

	EQ(ftruncate(file, BIG), 0);
	copy_to_the_dead(file);
	NEED(close(file));
}

GTEST(copy_zeros_to_the_dead, 2)
{
	int zeros = NEED(open("/dev/zero", O_RDONLY | O_CLOEXEC));

	copy_to_the_dead(zeros);
	NEED(close(zeros));
}

/* ---- memory that is not there ---- */

enum { GOOD = 256 * 1024, HOLE = 64 * 1024 };

/* So many bytes, and nothing behind them. */
static char *
with_a_hole(void)
{
	char *p = mmap(NULL, GOOD + HOLE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(p != MAP_FAILED);
	memset(p, 'g', GOOD);
	EQ(munmap(p + GOOD, HOLE), 0);
	return p;
}

struct drain {
	int fd;
	size_t got;
	bool same;
};

static void
drains(struct drain *d)
{
	static char buf[GOOD];
	ssize_t n;

	while ((n = weft_read(d->fd, buf, sizeof buf)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			d->same &= buf[i] == 'g';
		d->got += (size_t)n;
	}
	EQ(n, 0);
	weft_waitgroup_done(&all);
}

/* What was there is written, and what is written next is not in its way. */
static size_t
around_a_hole(int fd, char *p, bool socket)
{
	struct iovec v[2] = { { p, GOOD }, { p + GOOD, HOLE } };
	size_t done = 0, sum;
	ssize_t n;

	EQ(weft_write_full(fd, p, GOOD + HOLE, &done), -EFAULT);
	sum = done;
	EQ(weft_write(fd, p, 1000), 1000);
	n = weft_write(fd, p, GOOD + HOLE);
	OK(n > 0 || n == -EFAULT);
	sum += n > 0 ? (size_t)n : 0;
	EQ(weft_write_full(fd, p, 1000, NULL), 1000);
	n = weft_writev(fd, v, 2);
	OK(n > 0 || n == -EFAULT);
	sum += n > 0 ? (size_t)n : 0;
	EQ(weft_writev(fd, &(struct iovec){ p, 1000 }, 1), 1000);
	if (!socket)
		return sum + 3000;
	n = weft_sock_send(fd, p, GOOD + HOLE, 0);
	OK(n > 0 || n == -EFAULT);
	sum += n > 0 ? (size_t)n : 0;
	EQ(weft_write(fd, p, 1000), 1000);
	return sum + 4000;
}

static void
try_hole(int kind)
{
	struct drain d = { .same = true };
	char *p = with_a_hole();
	size_t sum;
	int end[2];

	if (!wire_make(kind, end))
		t_skip("no such thing here");
	d.fd = end[0];
	/* Far too long to wait for something that does not come. */
	EQ(weft_set_write_deadline(end[1], weft_deadline(20 * WEFT_SECOND)), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(drains, &d);
	sum = around_a_hole(end[1], p, wire_is_socket(kind));
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	EQ(d.got, sum);
	OK(d.same);
	EQ(weft_close(end[0]), 0);
	munmap(p, GOOD);
}

GTEST(hole_pipe, 2) { try_hole(PIPE); }
GTEST(hole_pipe_nonblocking, 2) { try_hole(PIPE_NB); }
GTEST(hole_stream, 2) { try_hole(STREAM); }
GTEST(hole_tcp, 2) { try_hole(TCP4); }
GTEST(hole_tcp_nonblocking, 2) { try_hole(TCP4_NB); }
GTEST(hole_tcp6, 2) { try_hole(TCP6); }

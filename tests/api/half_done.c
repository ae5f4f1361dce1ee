/* SPDX-License-Identifier: MIT */
/*
 * An error after some bytes: the call gives the bytes, and the next one is not
 * in its way.
 */
#define _GNU_SOURCE 1
#include <sys/mman.h>

#include "traffic.h"
#include "wires.h"

static weft_waitgroup all;

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
	EQ(weft_set_write_deadline(end[1], weft_in(20 * WEFT_SECOND)), 0);
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

/* SPDX-License-Identifier: MIT */
/*
 * read, write, readv and writev, through the hooks, with bad input: the results
 * are the system's. See bad_input.h for how to read the table.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include "bad_input.h"

/* ---- each kind of descriptor ---- */

EACH(RD, read(fd, buf, 8))
EACH(RD, read(fd, buf, 2))
EACH(RD, read(fd, buf, 0))
EACH(RD, read(fd, BAD, 8))
EACH(RD, readv(fd, bytes_of(in, 3), 3))
EACH(RD, readv(fd, in->iov, -1))
EACH(WR, write(fd, buf, 8))
EACH(WR, write(fd, buf, 0))
EACH(WR, write(fd, BAD, 8))
EACH(WR, writev(fd, bytes_of(in, 8), 8))
EACH(WR, writev(fd, in->iov, -1))

/* ---- pointers ---- */

CASE(STREAM_DATA, read(fd, NULL, 8))
CASE(STREAM_DATA, read(fd, NULL, 0))
CASE(STREAM_DATA, read(fd, EDGE, 4))
CASE(STREAM_DATA, read(fd, EDGE, 8))
CASE(STREAM_DATA, read(fd, READ_ONLY, 8))
CASE(TCP_DATA, read(fd, NULL, 8))
CASE(TCP_DATA, read(fd, EDGE, 8))
CASE(TCP_DATA, read(fd, READ_ONLY, 8))
CASE(UDP_DATA, read(fd, EDGE, 8))
CASE(DGRAM_DATA, read(fd, EDGE, 8))
CASE(PIPE_DATA, read(fd, NULL, 8))
CASE(PIPE_DATA, read(fd, NULL, 0))
CASE(PIPE_DATA, read(fd, EDGE, 8))
CASE(PIPE_DATA, read(fd, READ_ONLY, 8))
CASE(PTY_DATA, read(fd, NULL, 8))
CASE(PTY_DATA, read(fd, EDGE, 8))
CASE(FILE_RW, read(fd, NULL, 8))
CASE(FILE_RW, read(fd, EDGE, 8))
CASE(EVENTFD_1, read(fd, NULL, 8))
CASE(EVENTFD_1, read(fd, EDGE, 8))
CASE(EVENTFD_1, read(fd, buf, 7))
CASE(EVENTFD_1, write(fd, buf, 7))
CASE(EVENTFD_1, write(fd, memset(buf, 0xff, 8), 8))
CASE(STREAM_EMPTY_NB, write(fd, NULL, 8))
CASE(STREAM_EMPTY_NB, write(fd, EDGE, 4))
CASE(STREAM_EMPTY_NB, write(fd, EDGE, 8))
CASE(STREAM_EMPTY_NB, write(fd, READ_ONLY, 8))
CASE(STREAM_DATA, write(fd, NULL, 8))
CASE(STREAM_DATA, write(fd, EDGE, 8))
CASE(TCP_DATA, write(fd, NULL, 8))
CASE(TCP_DATA, write(fd, EDGE, 8))
CASE(UDP_DATA, write(fd, EDGE, 8))
CASE(DGRAM_DATA, write(fd, EDGE, 8))
CASE(PIPE_W, write(fd, NULL, 8))
CASE(PIPE_W, write(fd, NULL, 0))
CASE(PIPE_W, write(fd, EDGE, 8))
CASE(PIPE_W, write(fd, READ_ONLY, 8))
CASE(PIPE_BROKEN, write(fd, NULL, 8))
CASE(PIPE_BROKEN, write(fd, NULL, 0))
CASE(PTY_DATA, write(fd, EDGE, 8))
CASE(DEV_NULL, write(fd, NULL, 8))

/* ---- sizes ---- */

CASE(STREAM_DATA, read(fd, buf, SSIZE_MAX))
CASE(STREAM_DATA, read(fd, buf, SIZE_MAX))
CASE(STREAM_DATA, read(fd, buf, (size_t)SSIZE_MAX + 1))
CASE(STREAM_DATA, read(fd, buf, INT_MAX))
CASE(STREAM_DATA, read(fd, buf, (size_t)UINT_MAX + 1))
CASE(TCP_DATA, read(fd, buf, SSIZE_MAX))
CASE(TCP_DATA, read(fd, buf, SIZE_MAX))
CASE(UDP_DATA, read(fd, buf, SSIZE_MAX))
CASE(UDP_DATA, read(fd, buf, SIZE_MAX))
CASE(DGRAM_DATA, read(fd, buf, SIZE_MAX))
CASE(PIPE_DATA, read(fd, buf, SSIZE_MAX))
CASE(PIPE_DATA, read(fd, buf, SIZE_MAX))
CASE(PTY_DATA, read(fd, buf, SSIZE_MAX))
CASE(PTY_DATA, read(fd, buf, SIZE_MAX))
CASE(FILE_RW, read(fd, buf, SSIZE_MAX))
CASE(FILE_RW, read(fd, buf, SIZE_MAX))
CASE(CLOSED, read(fd, buf, SIZE_MAX))
CASE(STREAM_EMPTY_NB, read(fd, buf, SIZE_MAX))
CASE(STREAM_EMPTY_NB, write(fd, buf, SSIZE_MAX))
CASE(STREAM_EMPTY_NB, write(fd, buf, SIZE_MAX))
CASE(STREAM_DATA, write(fd, buf, SIZE_MAX))
CASE(STREAM_DATA, write(fd, buf, SSIZE_MAX))
CASE(TCP_DATA, write(fd, buf, SIZE_MAX))
CASE(TCP_EMPTY_NB, write(fd, buf, SIZE_MAX))
CASE(UDP_DATA, write(fd, buf, SIZE_MAX))
CASE(UDP_DATA, write(fd, buf, 70000))
CASE(UDP_DATA, write(fd, buf, SSIZE_MAX))
CASE(DGRAM_DATA, write(fd, buf, 70000))
CASE(DGRAM_DATA, write(fd, buf, SSIZE_MAX))
CASE(SEQ_DATA, write(fd, buf, SSIZE_MAX))
CASE(PIPE_W, write(fd, buf, SIZE_MAX))
CASE(PIPE_W, write(fd, buf, SSIZE_MAX))
CASE(PIPE_W_NB, write(fd, buf, SSIZE_MAX))
CASE(PIPE_FULL_NB, write(fd, buf, SIZE_MAX))
CASE(FILE_RW, write(fd, buf, SIZE_MAX))

/* ---- parts ---- */

CASE(STREAM_DATA, readv(fd, NULL, 0))
CASE(STREAM_DATA, readv(fd, NULL, 1))
CASE(STREAM_DATA, readv(fd, NULL, -1))
CASE(STREAM_DATA, readv(fd, (struct iovec *)BAD, 1))
CASE(STREAM_DATA, readv(fd, (struct iovec *)BAD, 0))
CASE(STREAM_DATA, readv(fd, bytes_of(in, 1024), 1024))
CASE(STREAM_DATA, readv(fd, bytes_of(in, 1025), 1025))
CASE(STREAM_DATA, readv(fd, bytes_of(in, 5), INT_MAX))
CASE(STREAM_DATA, readv(fd, bytes_of(in, 5), INT_MIN))
CASE(STREAM_DATA, readv(fd, parts_of(in, 2, NULL, 3), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, 2, BAD, 3), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, 0, buf, 0), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, 0, NULL, 0), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, 0, buf + 9, 3), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, 2, buf, SIZE_MAX), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, 2, buf, SSIZE_MAX), 2))
CASE(STREAM_DATA, readv(fd, parts_of(in, SSIZE_MAX, buf, SSIZE_MAX), 2))
CASE(TCP_DATA, readv(fd, bytes_of(in, 1024), IOV_MAX))
CASE(TCP_DATA, readv(fd, bytes_of(in, 1025), 1025))
CASE(TCP_DATA, readv(fd, parts_of(in, 2, BAD, 3), 2))
CASE(TCP_DATA, readv(fd, parts_of(in, 0, buf, 0), 2))
CASE(UDP_DATA, readv(fd, parts_of(in, 2, buf + 9, 1), 2))
CASE(UDP_DATA, readv(fd, parts_of(in, 2, BAD, 3), 2))
CASE(UDP_ZERO, readv(fd, parts_of(in, 2, buf + 9, 1), 2))
CASE(UDP_ZERO, readv(fd, NULL, 0))
CASE(DGRAM_DATA, readv(fd, NULL, 0))
CASE(SEQ_DATA, readv(fd, NULL, 0))
CASE(PIPE_DATA, readv(fd, NULL, 0))
CASE(PIPE_DATA, readv(fd, NULL, 1))
CASE(PIPE_DATA, readv(fd, bytes_of(in, 1024), 1024))
CASE(PIPE_DATA, readv(fd, bytes_of(in, 1025), 1025))
CASE(PIPE_DATA, readv(fd, parts_of(in, 2, BAD, 3), 2))
CASE(PIPE_DATA, readv(fd, parts_of(in, 0, buf, 0), 2))
CASE(PIPE_DATA, readv(fd, parts_of(in, 2, buf, SIZE_MAX), 2))
CASE(PTY_DATA, readv(fd, parts_of(in, 2, buf + 9, 3), 2))
CASE(EVENTFD_1, readv(fd, parts_of(in, 4, buf + 4, 4), 2))
CASE(STREAM_EMPTY_NB, readv(fd, NULL, 0))
CASE(PIPE_EMPTY_NB, readv(fd, NULL, 0))
CASE(CLOSED, readv(fd, NULL, 0))
CASE(CLOSED, readv(fd, NULL, -1))

CASE(STREAM_DATA, writev(fd, NULL, 0))
CASE(STREAM_DATA, writev(fd, NULL, 1))
CASE(STREAM_DATA, writev(fd, (struct iovec *)BAD, 1))
CASE(STREAM_DATA, writev(fd, bytes_of(in, 1024), 1024))
CASE(STREAM_DATA, writev(fd, bytes_of(in, 1025), 1025))
CASE(STREAM_DATA, writev(fd, bytes_of(in, 5), INT_MAX))
CASE(STREAM_DATA, writev(fd, parts_of(in, 2, NULL, 3), 2))
CASE(STREAM_DATA, writev(fd, parts_of(in, 2, BAD, 3), 2))
CASE(STREAM_DATA, writev(fd, parts_of(in, 0, buf, 0), 2))
CASE(STREAM_DATA, writev(fd, parts_of(in, 2, buf, SIZE_MAX), 2))
CASE(TCP_DATA, writev(fd, parts_of(in, 2, BAD, 3), 2))
CASE(TCP_DATA, writev(fd, parts_of(in, 0, buf, 0), 2))
CASE(TCP_DATA, writev(fd, bytes_of(in, 1025), 1025))
CASE(UDP_DATA, writev(fd, NULL, 0))
CASE(UDP_DATA, writev(fd, parts_of(in, 0, buf, 0), 2))
CASE(UDP_DATA, writev(fd, parts_of(in, 2, BAD, 3), 2))
CASE(DGRAM_DATA, writev(fd, NULL, 0))
CASE(DGRAM_DATA, writev(fd, parts_of(in, 2, buf, SIZE_MAX), 2))
CASE(PIPE_W, writev(fd, NULL, 0))
CASE(PIPE_W, writev(fd, NULL, 1))
CASE(PIPE_W, writev(fd, bytes_of(in, 1024), 1024))
CASE(PIPE_W, writev(fd, bytes_of(in, 1025), 1025))
CASE(PIPE_W, writev(fd, parts_of(in, 2, BAD, 3), 2))
CASE(PIPE_W, writev(fd, parts_of(in, 0, buf, 0), 2))
CASE(PIPE_BROKEN, writev(fd, NULL, 0))
CASE(PIPE_BROKEN, writev(fd, parts_of(in, 0, buf, 0), 2))
CASE(PIPE_FULL_NB, writev(fd, NULL, 0))
CASE(CLOSED, writev(fd, NULL, 0))
CASE(CLOSED, writev(fd, NULL, -1))

/* ---- limits in time, which return EAGAIN or what was done ---- */

CASE_WAITS(STREAM_LIMIT, read(fd, buf, 8))
CASE_WAITS(STREAM_LIMIT, read(fd, NULL, 8))
CASE_WAITS(STREAM_LIMIT, readv(fd, bytes_of(in, 3), 3))
CASE_WAITS(STREAM_FULL_LIMIT, write(fd, buf, 8))
CASE_WAITS(STREAM_FULL_LIMIT, writev(fd, bytes_of(in, 3), 3))
CASE_WAITS(TCP_LIMIT, read(fd, buf, 8))
CASE_WAITS(TCP_LIMIT, readv(fd, bytes_of(in, 3), 3))
CASE_WAITS(UDP_LIMIT, read(fd, buf, 8))
CASE(UDP_LIMIT, readv(fd, NULL, 0))

/* More than fits: what did is returned, when the limit is over. */
CASE_BODY(STREAM_LIMIT, write_more_than_fits_with_a_limit)
{
	size_t n = 4 << 20;
	char *big = calloc(1, n);
	long r = in->c->write(in->fd, big, n);
	int err = errno;

	free(big);
	errno = err;
	return r;
}

CASE_BODY(STREAM_EMPTY_NB, write_more_than_fits)
{
	size_t n = 4 << 20;
	char *big = calloc(1, n);
	long r = in->c->write(in->fd, big, n);

	note(in, in->c->write(in->fd, big, n));
	note(in, errno);
	free(big);
	return r;
}

CASE_BODY(PIPE_W_NB, write_more_than_fits_a_pipe)
{
	size_t n = 4 << 20;
	char *big = calloc(1, n);
	long r = in->c->write(in->fd, big, n);

	note(in, in->c->write(in->fd, big, n));
	note(in, errno);
	free(big);
	return r;
}

/* ---- several calls ---- */

/* The first gets the error of the socket, the second the end. */
CASE_BODY(TCP_RESET, reads_of_a_reset)
{
	note(in, in->c->read(in->fd, in->buf, 8));
	note(in, errno);
	return in->c->read(in->fd, in->buf, 8);
}

CASE_BODY(TCP_RESET, writes_of_a_reset)
{
	note(in, in->c->write(in->fd, in->buf, 8));
	note(in, errno);
	return in->c->write(in->fd, in->buf, 8);
}

CASE_BODY(STREAM_RESET, reads_of_a_stream_reset)
{
	note(in, in->c->read(in->fd, in->buf, 8));
	note(in, errno);
	return in->c->read(in->fd, in->buf, 8);
}

CASE_BODY(UDP_REFUSED, error_and_then_a_write)
{
	note(in, in->c->read(in->fd, in->buf, 8));
	note(in, errno);
	return in->c->write(in->fd, in->buf, 8);
}

CASE_BODY(UDP_ZERO, empty_datagram_and_the_next)
{
	note(in, in->c->read(in->fd, in->buf, 8));
	return in->c->read(in->fd, in->buf, 8);
}

CASE_BODY(SEQ_ZERO, empty_packet_and_the_next)
{
	note(in, in->c->read(in->fd, in->buf, 8));
	return in->c->read(in->fd, in->buf, 8);
}

CASE_BODY(DGRAM_DATA, rest_of_a_datagram_is_lost)
{
	note(in, in->c->read(in->fd, in->buf, 2));
	set_nonblocking(in->fd);
	note(in, in->c->read(in->fd, in->buf, 8));
	note(in, errno);
	fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
	return 0;
}

CASE_BODY(STREAM_DATA_EOF, data_and_then_the_end)
{
	note(in, in->c->read(in->fd, in->buf, 3));
	note(in, in->c->read(in->fd, in->buf, 8));
	return in->c->read(in->fd, in->buf, 8);
}

/* It made one non-blocking after it was waited for. */
CASE_BODY(STREAM_LIMIT, non_blocking_later)
{
	note(in, in->c->read(in->fd, in->buf, 3));
	note(in, errno);
	set_nonblocking(in->fd);
	note(in, in->c->read(in->fd, in->buf, 3));
	note(in, errno);
	fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
	return 0;
}

/* ---- with the size of the object ---- */

EACH(RD, read_chk(fd, buf, 8, PAGE))
CASE(STREAM_DATA, read_chk(fd, BAD, 8, 8))
CASE(STREAM_DATA, read_chk(fd, BAD, 8, SIZE_MAX))
CASE_WAITS(STREAM_LIMIT, read_chk(fd, buf, 8, 8))

DIES(read_larger_than_the_object, 1, "buffer overflow detected")
{
	char c[4];

	lib_calls.read_chk(0, c, 5, sizeof c);
}

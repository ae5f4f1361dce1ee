/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that make one call on a descriptor, check what it returns, and
 * are done with a wait group; and goroutines that send back what they read.
 */
#ifndef FD_EXPECT_H
#define FD_EXPECT_H

#include <poll.h>
#include <sys/types.h>

#include <weft.h>

#include "t.h"

/* A byte is there, or comes, and is this one. */
static inline void
check_byte(int fd, char want)
{
	char c = 0;

	EQ(weft_read(fd, &c, 1), 1);
	EQ(c, want);
}

static inline void
expect_byte(int fd, char want, weft_waitgroup *wg)
{
	check_byte(fd, want);
	weft_waitgroup_done(wg);
}

/* A read of one byte returns this. */
static inline void
expect_read(int fd, int result, weft_waitgroup *wg)
{
	char c;

	EQ(weft_read(fd, &c, 1), result);
	weft_waitgroup_done(wg);
}

static inline void
expect_readable(int fd, int result, weft_waitgroup *wg)
{
	EQ(weft_wait_readable(fd), result);
	weft_waitgroup_done(wg);
}

/* A poll finds that there is no such descriptor. */
static inline void
expect_poll_closed(int fd, weft_waitgroup *wg)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLNVAL);
	weft_waitgroup_done(wg);
}

/* Writes until there is no room, and waits then; the wait ends with this. */
static inline void
expect_full(int fd, int result, weft_waitgroup *wg)
{
	char buf[4096] = {0};
	ssize_t n;

	while ((n = weft_write(fd, buf, sizeof buf)) > 0)
		;
	EQ(n, result);
	weft_waitgroup_done(wg);
}

/* ---- listeners ---- */

/* Until it is closed. */
static inline void
accept_each(int listener, void (*serve)(int fd))
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		serve(fd);
	EQ(fd, -EBADF);
}

/* ---- echoes ---- */

static inline void
echo_byte(int fd)
{
	char c;

	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_write(fd, &c, 1), 1);
}

/* Until nothing can be read any more, byte by byte. */
static inline void
echo_bytes(int fd, weft_waitgroup *wg)
{
	char c;

	while (weft_read(fd, &c, 1) == 1)
		EQ(weft_write(fd, &c, 1), 1);
	weft_waitgroup_done(wg);
}

/* Until the end of file; then it closes. */
static inline void
echo_and_close(int fd, weft_waitgroup *wg)
{
	char buf[256];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		EQ(weft_write_full(fd, buf, (size_t)n, NULL), n);
	EQ(n, 0);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(wg);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A number that was a file's, which was closed with close(2), and is a
 * socket's: calls do not wait for files, so it is noticed at the next call.
 */
#define _GNU_SOURCE 1
#include <poll.h>

#include "connection.h"
#include "fd_expect.h"

static weft_waitgroup all;

/* A pair of which one end has the number of a file that weft has read. */
static int
socket_after_file(int fd[2])
{
	char c;
	int file = NEED(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));

	EQ(weft_read(file, &c, 1), 1);
	NEED(close(file));
	unix_pair(fd);
	OK(fd[0] == file || fd[1] == file);
	return file;
}

static void
drop(int fd[2])
{
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

/* It would not be heeded for a file. */
GTEST(has_deadlines, 2)
{
	int fd[2], s = socket_after_file(fd);
	int64_t when = weft_deadline(5 * WEFT_MS);
	char c;

	EQ(weft_set_read_deadline(s, when), 0);
	EQ(weft_read(s, &c, 1), -ETIMEDOUT);
	OK(weft_now() >= when);
	drop(fd);
}

GTEST(is_waited_for, 2)
{
	int fd[2], s = socket_after_file(fd);

	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, s, 1, &all);
	await_waiting(1);
	EQ(weft_write(fd[0] == s ? fd[1] : fd[0], "x", 1), 1);
	weft_waitgroup_wait(&all);
	drop(fd);
}

GTEST(begins_goroutines, 2)
{
	int fd[2], s = socket_after_file(fd);

	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(s, expect_read, s, 1, &all) > 0);
	EQ(weft_write(fd[0] == s ? fd[1] : fd[0], "x", 1), 1);
	weft_waitgroup_wait(&all);
	drop(fd);
}

GTEST(is_polled, 2)
{
	int fd[2], s = socket_after_file(fd);
	struct pollfd p = { .fd = s, .events = POLLIN };

	EQ(weft_poll(&p, 1, weft_deadline(WEFT_MS)), 0);
	drop(fd);
}

GTEST(is_written_until_full, 2)
{
	static const char zeros[65536];
	int fd[2], s = socket_after_file(fd);
	ssize_t n;

	EQ(weft_set_write_deadline(s, weft_deadline(10 * WEFT_MS)), 0);
	while ((n = weft_write(s, zeros, sizeof zeros)) > 0)
		;
	EQ(n, -ETIMEDOUT);
	drop(fd);
}

/* SPDX-License-Identifier: MIT */
/*
 * What libc has made and weft_close closes: the number is another one's soon,
 * on another thread. ThreadSanitizer, which sees libc's calls and not ours,
 * must not take that for a race; and all that is open is closed.
 */
#define _GNU_SOURCE 1
#include "connection.h"
#include "fd_expect.h"

enum { ROUNDS = 200, WORKERS = 8 };

static weft_waitgroup all;

static void
pipe_pair(int fd[2])
{
	NEED(pipe2(fd, O_CLOEXEC));
}

/* Made by libc's calls, used by libc's and by ours. */
static void
make_and_close(void (*make)(int fd[2]))
{
	char c = 'x';
	int fd[2];

	make(fd);
	EQ(weft_write(fd[1], &c, 1), 1);
	EQ(weft_read(fd[0], &c, 1), 1);
	EQ(write(fd[1], &c, 1), 1);
	EQ(read(fd[0], &c, 1), 1);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

static void
work(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		make_and_close(unix_pair);
		make_and_close(pipe_pair);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

/* Those that no call of ours has used are closed, too. */
static void
unused(long rounds)
{
	int fd;

	for (long i = 0; i < rounds; i++) {
		fd = NEED(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
		EQ(weft_close(fd), 0);
		fd = NEED(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
		EQ(weft_close(fd), 0);
	}
	weft_waitgroup_done(&all);
}

GTEST(by_many, 4)
{
	int before;

	make_and_close(unix_pair);
	before = count_fds();
	weft_waitgroup_add(&all, 2 * WORKERS);
	for (int i = 0; i < WORKERS; i++) {
		weft_go(work, t_scale(ROUNDS));
		weft_go(unused, t_scale(ROUNDS));
	}
	weft_waitgroup_wait(&all);
	EQ(count_fds(), before);
}

/* Closed while another one uses it: that one gives the number back. */
GTEST(while_in_use, 4)
{
	for (long i = t_scale(ROUNDS); i > 0; i--) {
		int fd[2];

		unix_pair(fd);
		weft_waitgroup_add(&all, 1);
		weft_go(expect_read, fd[0], -EBADF, &all);
		await_waiting(1);
		EQ(weft_close(fd[0]), 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(fd[1]), 0);
	}
}

/* errno is not used. A number that the monitor does not get for a moment. */
GTEST(what_is_not_open, 2)
{
	int fd = NEED(fcntl(0, F_DUPFD_CLOEXEC, 500));
	char c;

	weft_read(fd, &c, 0);
	NEED(close(fd));
	errno = 0;
	EQ(weft_close(fd), -EBADF);
	EQ(weft_close(fd), -EBADF);
	EQ(weft_close(1000000), -EBADF);
	EQ(weft_close(-1), -EBADF);
	EQ(errno, 0);
}

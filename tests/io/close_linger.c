/* SPDX-License-Identifier: MIT */
/*
 * A close that takes long: the kernel has given the number to another user
 * before it is done. A goroutine that got it from weft does not wait for that,
 * and is not harmed when it is done. (Here it is a socket that lingers; files
 * that are written out do the same.)
 */
#define _GNU_SOURCE 1
#include "connection.h"

enum { LINGER_SECONDS = 1 };

static weft_waitgroup all;
static int closed;

static void
close_slowly(int fd)
{
	EQ(weft_close(fd), 0);
	__atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

static bool
is_closed(void)
{
	return __atomic_load_n(&closed, __ATOMIC_ACQUIRE);
}

/* One end has sent more than is taken, and lingers. */
static int
make_slow(int fd[2])
{
	static const char zeros[65536];
	struct linger l = { 1, LINGER_SECONDS };

	tcp_pair(fd);
	EQ(weft_set_write_deadline(fd[0], weft_deadline(20 * WEFT_MS)), 0);
	while (weft_write(fd[0], zeros, sizeof zeros) > 0)
		;
	NEED(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &l, sizeof l));
	return fd[0];
}

/* The same number again, as soon as it is free. */
static int
get_number(int want)
{
	int fd;

	while ((fd = NEED(weft_open("/dev/zero", O_RDONLY, 0))) > want) {
		EQ(weft_close(fd), 0);
		weft_yield();
	}
	/* Lower ones that are free are left in use. */
	return fd < want ? get_number(want) : fd;
}

GTEST(next_owner_does_not_wait, 2)
{
	int pair[2], slow = make_slow(pair), fd;
	char c = 1;

	weft_waitgroup_add(&all, 1);
	weft_go(close_slowly, slow);
	fd = get_number(slow);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(c, 0);
	OK(!is_closed());
	weft_waitgroup_wait(&all);
	/* It was not given back a second time. */
	for (int i = 0; i < 3; i++)
		EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	EQ(weft_close(fd), -EBADF);
	EQ(weft_read(fd, &c, 1), -EBADF);
	NEED(close(pair[1]));
}

/* It may close it, too, before that. */
GTEST(next_owner_closes, 2)
{
	int pair[2], slow = make_slow(pair), fd;
	char c;

	weft_waitgroup_add(&all, 1);
	weft_go(close_slowly, slow);
	for (int i = 0; i < 3; i++) {
		fd = get_number(slow);
		EQ(weft_read(fd, &c, 1), 1);
		EQ(weft_close(fd), 0);
		EQ(weft_read(fd, &c, 1), -EBADF);
	}
	OK(!is_closed());
	weft_waitgroup_wait(&all);
	fd = get_number(slow);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	NEED(close(pair[1]));
}

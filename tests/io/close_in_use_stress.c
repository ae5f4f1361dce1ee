/* SPDX-License-Identifier: MIT */
/*
 * A file that is closed while others use it: its number is not given away
 * before they have returned. A long call, which copies into a pipe that
 * is full, would go on with the next file of that number.
 *
 * In each round a goroutine sends from a file while that is closed, and so
 * gives the number back when it returns. Others begin all the time: they are
 * told that there is no such file, or find the next one. A call that gets part
 * of this and part of that has used a number that was given away.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fd_pairs.h"

enum { OLD = 1, NEXT = 2 };	/* what they are full of */
enum { LATE = 3, FILE_BYTES = 12 * 1024, PIPE_BYTES = 4096 };

struct late {
	int fd, end[2];
	weft_waitgroup *began, *ended;
};

static char path[2][32];	/* of OLD, of NEXT */
static long mixed;

static long
get(const long *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static void
set(long *n, long v)
{
	__atomic_store_n(n, v, __ATOMIC_RELEASE);
}

static void
make_file(char *name, char c)
{
	static char bytes[FILE_BYTES];
	int fd;

	strcpy(name, "/tmp/weft-next-XXXXXX");
	fd = mkstemp(name);
	OK(fd >= 0);
	memset(bytes, c, sizeof bytes);
	EQ(write(fd, bytes, sizeof bytes), sizeof bytes);
	close(fd);
}

/* A pipe that is soon full. */
static void
narrow_pipe(int end[2])
{
	EQ(raw_pipe(end, O_CLOEXEC | O_NONBLOCK), 0);
	fcntl(end[1], F_SETPIPE_SZ, PIPE_BYTES);
}

static void
fill(int fd)
{
	static const char bytes[PIPE_BYTES];

	while (write(fd, bytes, sizeof bytes) > 0)
		;
}

/* All that comes out of it is of one file, or of neither. */
static void
drain(int fd)
{
	bool seen[3] = {0};
	char buf[FILE_BYTES];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] == OLD || buf[i] == NEXT)
				seen[(int)buf[i]] = true;
	mixed += seen[OLD] && seen[NEXT];
	EQ(n, 0);
}

/* ---- a round ---- */

static long swapped;		/* the next file is open */

/* In one call, until there is room. */
static void
send_first(int fd, int to, weft_waitgroup *ended)
{
	OK(weft_sendfile(to, fd, NULL, FILE_BYTES) > 0);
	EQ(weft_close(to), 0);
	weft_waitgroup_done(ended);
}

/* Again and again, until a call is let in. */
static void
copy_late(struct late *l)
{
	unsigned tries = 0;
	int64_t n;

	weft_waitgroup_done(l->began);
	while ((n = weft_copy(l->end[1], l->fd, INT64_MAX)) == -EBADF &&
	    !get(&swapped))
		if (++tries % 8 == 0)
			weft_yield();
	OK(n >= 0 || n == -EBADF);
	EQ(weft_close(l->end[1]), 0);
	weft_waitgroup_done(l->ended);
}

static void
begin_late(struct late *l, int fd, weft_waitgroup *began,
    weft_waitgroup *ended)
{
	weft_waitgroup_add(began, LATE);
	weft_waitgroup_add(ended, LATE);
	for (int i = 0; i < LATE; i++) {
		l[i] = (struct late){ .fd = fd, .began = began,
		    .ended = ended };
		narrow_pipe(l[i].end);
		weft_go(copy_late, &l[i]);
	}
}

static void
round_of_all(void)
{
	weft_waitgroup first = {0}, began = {0}, ended = {0};
	int fd = weft_open(path[0], O_RDONLY, 0), next, end[2];
	struct late late[LATE];

	narrow_pipe(end);
	fill(end[1]);
	weft_waitgroup_add(&first, 1);
	weft_go(send_first, fd, end[1], &first);
	let_them_wait(1);			/* it is in its call, */
	EQ(weft_close(fd), 0);			/* ... which will close it */
	set(&swapped, 0);
	begin_late(late, fd, &began, &ended);
	weft_waitgroup_wait(&began);
	drain(end[0]);
	weft_waitgroup_wait(&first);
	next = weft_open(path[1], O_RDONLY, 0);
	set(&swapped, 1);
	for (int i = 0; i < LATE; i++) {
		drain(late[i].end[0]);
		EQ(weft_close(late[i].end[0]), 0);
	}
	weft_waitgroup_wait(&ended);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(next), 0);
}

static void
rounds(void)
{
	make_file(path[0], OLD);
	make_file(path[1], NEXT);
	do
		round_of_all();
	while (t_more(2));
	EQ(mixed, 0);
	unlink(path[0]);
	unlink(path[1]);
}

GTEST(number_is_kept_on_2, 2) { rounds(); }
GTEST(number_is_kept_on_4, 4) { rounds(); }

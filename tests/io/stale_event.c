/* SPDX-License-Identifier: MIT */
/*
 * What is closed is not watched any more, though a duplicate keeps it alive:
 * events of it would be taken for those of what has its number next. Seen by
 * what the kernel says of the poller.
 */
#define _GNU_SOURCE 1
#include <dirent.h>

#include "fd_expect.h"
#include "fd_pairs.h"

static weft_waitgroup all;

/* The number of weft's own epoll instance. */
static int
poller(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int fd = -1;

	while (d && (e = readdir(d))) {
		char to[64] = {0};

		if (readlinkat(dirfd(d), e->d_name, to, sizeof to - 1) > 0 &&
		    !strcmp(to, "anon_inode:[eventpoll]"))
			fd = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return fd;
}

static bool
is_watched(int by, int fd)
{
	char line[256], path[64];
	bool found = false;
	FILE *f;
	int n;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", by);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "tfd: %d", &n) == 1 && n == fd)
			found = true;
	if (f)
		fclose(f);
	return found;
}

/* Both begin at the same time, as far as that is to be had. */
static int here;

static void
meet(void)
{
	double limit = t_now() + 0.001;

	__atomic_add_fetch(&here, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&here, __ATOMIC_RELAXED) < 2 &&
	    t_now() < limit)
		;
}

static void
wait_after_meeting(int fd)
{
	int n;

	meet();
	/* The number may be that of the monitor's file for a moment (see
	 * wire_id), which is always readable; nothing comes from ours. */
	while ((n = weft_wait_readable(fd)) == 0)
		;
	EQ(n, -EBADF);
	weft_waitgroup_done(&all);
}

static void
close_after_meeting(int fd)
{
	meet();
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

/* The first use of a descriptor, and its close, at the same time. */
static void
used_and_closed(int k, long rounds)
{
	double limit = t_now() + 10;	/* many threads, and no CPU for them */
	int by = poller();

	for (long i = 0; i < rounds && t_now() < limit; i++) {
		int end[2], twin;

		wire(k, end);
		twin = dup(end[0]);
		here = 0;
		weft_waitgroup_add(&all, 2);
		weft_go(wait_after_meeting, end[0]);
		weft_go(close_after_meeting, end[0]);
		weft_waitgroup_wait(&all);
		OK(!is_watched(by, end[0]));
		close(twin);
		EQ(weft_close(end[1]), 0);
	}
}

GTEST(nothing_is_left, 4)
{
	int end[2];

	wire(PIPE, end);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_readable, end[0], -EBADF, &all);
	let_them_wait(1);
	if (!is_watched(poller(), end[0]))
		t_skip("the kernel does not tell");
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	used_and_closed(PIPE_NB, t_scale(4000));
	used_and_closed(STREAM, t_scale(4000));
}

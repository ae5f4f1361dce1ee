/* SPDX-License-Identifier: MIT */
/*
 * A number is claimed for a goroutine that will begin when it is readable, and
 * closed before there is one. It must not have another user yet, which would
 * find it claimed.
 */
#define _GNU_SOURCE 1
#include "connection.h"
#include "readable.h"
#include "sched.h"
#include "spawn.h"

enum { HIGH = 600 };		/* a number that is not given out otherwise */

static weft_waitgroup all;

/* A pair, of which the first has that number. */
static void
high_pair(int fd[2])
{
	int low;

	unix_pair(fd);
	low = fd[0];
	fd[0] = NEED(fcntl(low, F_DUPFD_CLOEXEC, HIGH));
	EQ(fd[0], HIGH);
	NEED(close(low));
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* It has a new user, which can claim it. */
static void
claim_anew(void)
{
	int fd[2];

	OK(!is_open(HIGH));
	high_pair(fd);
	EQ(readable_claim(HIGH), 0);
	readable_drop(HIGH);
	EQ(weft_close(HIGH), 0);
	OK(!is_open(HIGH));
	NEED(close(fd[1]));
}

GTEST(is_kept_until_it_is_dropped, 2)
{
	int fd[2];

	high_pair(fd);
	EQ(readable_claim(fd[0]), 0);
	EQ(weft_close(fd[0]), 0);
	OK(is_open(fd[0]));
	EQ(readable_claim(fd[0]), -EBADF);
	OK(is_open(fd[0]));
	readable_drop(fd[0]);
	claim_anew();
	NEED(close(fd[1]));
}

static void
done(void *arg)
{
	(void)arg;
	weft_waitgroup_done(&all);
}

GTEST(is_kept_until_there_is_a_goroutine, 2)
{
	static const struct weft_site site = { "done", "?", 0 };
	struct g *gp = spawn_waiting(&site, done, NULL);
	int fd[2];

	OK(gp);
	weft_waitgroup_add(&all, 1);
	high_pair(fd);
	EQ(readable_claim(fd[0]), 0);
	EQ(weft_close(fd[0]), 0);
	OK(is_open(fd[0]));
	readable_attach(fd[0], gp);
	weft_waitgroup_wait(&all);
	claim_anew();
	NEED(close(fd[1]));
}

/* The goroutine closes it, and it is closed at once: it has no other user. */
static void
closes(int fd)
{
	EQ(weft_close(fd), 0);
	OK(!is_open(fd));
	weft_waitgroup_done(&all);
}

GTEST(is_closed_by_its_goroutine, 2)
{
	for (long i = 0; i < t_scale(2000); i++) {
		int fd[2];

		high_pair(fd);
		NEED((int)write(fd[1], "x", 1));
		weft_waitgroup_add(&all, 1);
		OK(weft_go_readable(fd[0], closes, fd[0]) > 0);
		weft_waitgroup_wait(&all);
		NEED(close(fd[1]));
	}
}

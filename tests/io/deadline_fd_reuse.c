/* SPDX-License-Identifier: MIT */
/*
 * A deadline ends with the file that it was set for, also if that is closed
 * with close(2) and its number is another file's; and it does not end before.
 */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>

#include "connection.h"

static weft_waitgroup all;

/* From now on the number is that of fd[0], of a pair that is made anew. */
static void
renumber(int number, int fd[2], void (*make)(int fd[2]))
{
	NEED(close(number));
	make(fd);
	if (fd[0] == number)
		return;
	if (fd[1] == number)
		fd[1] = NEED(dup(number));
	NEED(dup3(fd[0], number, O_CLOEXEC));
	NEED(close(fd[0]));
	fd[0] = number;
}

static void
pipe_pair(int fd[2])
{
	NEED(pipe2(fd, O_NONBLOCK | O_CLOEXEC));
}

/* Both ends are one file; what is written is eight bytes. */
static void
event_pair(int fd[2])
{
	fd[0] = NEED(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	fd[1] = NEED(dup(fd[0]));
}

static void
passes(int fd[2])
{
	char out[8] = "1234567", in[8];

	EQ(weft_write(fd[1], out, sizeof out), sizeof out);
	EQ(weft_read(fd[0], in, sizeof in), sizeof in);
}

static void
drop(int fd[2])
{
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

/* One whose deadline is over, of which weft knows all there is. */
static int
expired(void (*make)(int fd[2]))
{
	int fd[2];
	char c[8];

	make(fd);
	EQ(weft_set_deadline(fd[0], weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(fd[0], c, sizeof c), -ETIMEDOUT);
	EQ(weft_read(fd[0], c, sizeof c), -ETIMEDOUT);
	NEED(close(fd[1]));
	return fd[0];
}

static void
after_each_other(void (*first)(int fd[2]), void (*next)(int fd[2]))
{
	int fd[2];

	renumber(expired(first), fd, next);
	passes(fd);
	drop(fd);
}

GTEST(sockets, 2)
{
	after_each_other(unix_pair, unix_pair);
	after_each_other(tcp_pair, tcp_pair);
	after_each_other(unix_pair, tcp_pair);
}

GTEST(others, 2)
{
	after_each_other(pipe_pair, pipe_pair);
	after_each_other(event_pair, event_pair);
	after_each_other(event_pair, pipe_pair);
}

GTEST(from_one_kind_to_another, 2)
{
	after_each_other(unix_pair, pipe_pair);
	after_each_other(pipe_pair, unix_pair);
	after_each_other(tcp_pair, event_pair);
}

/* While a copy of the old one is open the kernel still watches that. */
GTEST(with_a_copy, 2)
{
	int s = expired(unix_pair), copy = NEED(dup(s)), fd[2];

	renumber(s, fd, unix_pair);
	passes(fd);
	drop(fd);
	NEED(close(copy));
}

TEST(without_a_runtime)
{
	after_each_other(unix_pair, unix_pair);
	after_each_other(pipe_pair, pipe_pair);
}

static void
reads(int fd)
{
	char c[8];

	EQ(weft_read(fd, c, sizeof c), sizeof c);
	weft_waitgroup_done(&all);
}

/* It is reached while the new one is waited for. */
static void
reached_in_a_wait(void (*make)(int fd[2]))
{
	int64_t when = weft_deadline(20 * WEFT_MS);
	int old[2], fd[2];

	make(old);
	EQ(weft_set_read_deadline(old[0], when), 0);
	NEED(close(old[1]));
	renumber(old[0], fd, make);
	weft_waitgroup_add(&all, 1);
	weft_go(reads, fd[0]);
	await_waiting(1);
	weft_sleep_until(when + 20 * WEFT_MS);
	EQ(weft_write(fd[1], "1234567", 8), 8);
	weft_waitgroup_wait(&all);
	drop(fd);
}

GTEST(in_a_wait, 2)
{
	reached_in_a_wait(unix_pair);
	reached_in_a_wait(pipe_pair);
}

GTEST(before_a_goroutine_begins, 2)
{
	int fd[2];

	renumber(expired(unix_pair), fd, unix_pair);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(fd[0], reads, fd[0]) > 0);
	EQ(weft_write(fd[1], "1234567", 8), 8);
	weft_waitgroup_wait(&all);
	drop(fd);
}

/* Of the new one: it has to be reached, whatever is known of the old one. */
static void
set_anew(void (*first)(int fd[2]), void (*next)(int fd[2]))
{
	int64_t when = weft_deadline(5 * WEFT_MS);
	int fd[2];
	char c[8];

	renumber(expired(first), fd, next);
	EQ(weft_set_read_deadline(fd[0], when), 0);
	EQ(weft_read(fd[0], c, sizeof c), -ETIMEDOUT);
	OK(weft_now() >= when);
	EQ(weft_set_read_deadline(fd[0], WEFT_NEVER), 0);
	passes(fd);
	drop(fd);
}

GTEST(a_new_one_holds, 2)
{
	set_anew(unix_pair, unix_pair);
	set_anew(pipe_pair, pipe_pair);
	set_anew(event_pair, event_pair);
	set_anew(unix_pair, pipe_pair);
	set_anew(pipe_pair, unix_pair);
}

/* Nor does the old one hold for the other direction. */
GTEST(one_direction_set_anew, 2)
{
	int fd[2];

	renumber(expired(unix_pair), fd, unix_pair);
	EQ(weft_set_write_deadline(fd[0], weft_deadline(3600 * WEFT_SECOND)),
	    0);
	passes(fd);
	drop(fd);
}

/* What it is, and was, may be used in every way without ending it. */
GTEST(an_old_one_holds, 2)
{
	int fd[2], copy;
	char c[8];

	unix_pair(fd);
	EQ(weft_set_read_deadline(fd[0], weft_now()), 0);
	copy = NEED(dup(fd[0]));
	EQ(weft_write(fd[0], "x", 1), 1);
	EQ(weft_set_write_deadline(fd[0], weft_now()), 0);
	EQ(weft_read(fd[0], c, sizeof c), -ETIMEDOUT);
	EQ(weft_write(fd[0], "x", 1), -ETIMEDOUT);
	EQ(weft_close(copy), 0);
	EQ(weft_read(fd[0], c, sizeof c), -ETIMEDOUT);
	drop(fd);
}

/* SPDX-License-Identifier: MIT */
/* What is counted about descriptors. */
#define _GNU_SOURCE 1
#include "fd_expect.h"
#include "fd_pairs.h"
#include "stats_now.h"

static weft_waitgroup all;

TEST(nothing_yet)
{
	weft_io_stats s = io_now();

	EQ(s.registered, 0);
	EQ(s.polls, 0);
	EQ(s.events, 0);
	EQ(s.open, 0);
	EQ(s.waiting, 0);
	EQ(s.timeouts, 0);
}

static void
poll_closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	weft_waitgroup_done(&all);
}

static void
await(int64_t n)
{
	double limit = t_now() + 20;

	while (io_now().waiting != n && t_now() < limit)
		weft_yield();
	EQ(io_now().waiting, n);
}

/* All that wait are counted, and none afterwards. */
GTEST(all_that_wait, 1)
{
	int end[2], other[2];

	wire(STREAM, end);
	wire(STREAM, other);
	EQ(io_now().waiting, 0);
	weft_waitgroup_add(&all, 11);
	for (int i = 0; i < 10; i++)
		weft_go(expect_read, end[0], -EBADF, &all);
	await(10);
	weft_go(poll_closed, end[0]);
	await(11);
	OK(weft_go_readable(other[0], expect_read, other[0], -EBADF, &all) > 0);
	await(12);
	EQ(weft_close(end[0]), 0);
	weft_waitgroup_wait(&all);
	await(1);
	weft_waitgroup_add(&all, 1);
	EQ(weft_close(other[0]), 0);
	weft_waitgroup_wait(&all);
	await(0);
	EQ(weft_close(end[1]), 0);
	EQ(weft_close(other[1]), 0);
}

GTEST(open_ones, 2)
{
	enum { N = 20 };
	int end[N][2];
	int64_t before = io_now().open;
	uint64_t registered = io_now().registered;
	char c;

	for (int i = 0; i < N; i++) {
		wire(i % 2 ? TCP4 : PIPE, end[i]);
		EQ(weft_set_read_deadline(end[i][0], weft_deadline(WEFT_MS)),
		    0);
		EQ(weft_read(end[i][0], &c, 1), -ETIMEDOUT);
	}
	/* they waited; the other ends need not be known */
	OK(io_now().open >= before + N / 2);
	OK(io_now().open <= before + 2 * N);
	OK(io_now().registered - registered >= N / 2);
	for (int i = 0; i < N; i++)
		wire_drop(end[i]);
	EQ(io_now().open, before);
}

static void
read_timeout(int fd, int64_t when)
{
	char c;

	EQ(weft_set_read_deadline(fd, when), 0);
	EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
}

GTEST(timeouts, 1)
{
	uint64_t before = io_now().timeouts;
	int end[2];

	wire(STREAM, end);
	for (int i = 0; i < 10; i++)
		read_timeout(end[0], weft_deadline(5 * WEFT_MS));
	OK(io_now().timeouts > before);
	OK(io_now().timeouts <= before + 10);
	wire_drop(end);
}

static void
answer(int fd, int n)
{
	char c;

	while (n-- > 0) {
		EQ(weft_read(fd, &c, 1), 1);
		EQ(weft_write(fd, &c, 1), 1);
	}
	weft_waitgroup_done(&all);
}

GTEST(polls_and_events, 1)
{
	weft_io_stats before = io_now(), after;
	int end[2], n = 20;
	char c = 0;

	wire(TCP4, end);
	weft_waitgroup_add(&all, 1);
	weft_go(answer, end[1], n);
	for (int i = 0; i < n; i++) {
		weft_sleep(WEFT_US);
		EQ(weft_write(end[0], &c, 1), 1);
		EQ(weft_read(end[0], &c, 1), 1);
	}
	weft_waitgroup_wait(&all);
	after = io_now();
	OK(after.polls > before.polls);
	OK(after.events > before.events);
	OK(after.stale <= after.events);
	wire_drop(end);
}

/* Found closed behind our back. */
GTEST(repaired, 1)
{
	uint64_t before = io_now().repaired;
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4), end[2], fd;
	int c = socket(AF_INET, SOCK_STREAM, 0);

	EQ(weft_connect(c, &at.a.any, at.len), 0);
	wire(STREAM, end);
	read_timeout(end[0], weft_deadline(WEFT_MS));
	close(end[0]);
	fd = weft_accept(ear, NULL, NULL);
	wire_same_number(fd, end[0]);
	EQ(io_now().repaired, before + 1);
	EQ(weft_close(fd), 0);
	EQ(weft_close(c), 0);
	EQ(weft_close(ear), 0);
	EQ(weft_close(end[1]), 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Several use one descriptor in the same direction. What is ready for one may
 * be gone when the next comes: that one goes on waiting, also on a descriptor
 * that blocks, and deadlines and closing reach it there.
 */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>

#include "fd_expect.h"
#include "fd_pairs.h"

enum { MANY = 8 };

static weft_waitgroup all;
static long got, timed_out, closed;

static void
read_one(int fd)
{
	char c;
	ssize_t n = weft_read(fd, &c, 1);

	if (n == 1)
		__atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
	else if (n == -ETIMEDOUT)
		__atomic_add_fetch(&timed_out, 1, __ATOMIC_RELAXED);
	else if (n == -EBADF)
		__atomic_add_fetch(&closed, 1, __ATOMIC_RELAXED);
	else
		EQ(n, 1);
	weft_waitgroup_done(&all);
}

static void
start_readers(int fd)
{
	got = timed_out = closed = 0;
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(read_one, fd);
	let_them_wait(MANY);
}

/* Three messages for eight: three get one, five go on waiting. */
static void
feed_three(int wr)
{
	double limit = t_now() + 10;

	for (int i = 0; i < 3; i++)
		EQ(weft_write(wr, "m", 1), 1);
	while (__atomic_load_n(&got, __ATOMIC_RELAXED) < 3 && t_now() < limit)
		weft_yield();
}

static void
time_the_rest_out(int k, int rd, int wr)
{
	(void)k;
	start_readers(rd);
	feed_three(wr);
	EQ(weft_set_read_deadline(rd, weft_deadline(10 * WEFT_MS)), 0);
	weft_waitgroup_wait(&all);
	EQ(got, 3);
	EQ(timed_out, MANY - 3);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
}

GTEST(the_rest_times_out_on_one, 1) { wire_each(time_the_rest_out); }
GTEST(the_rest_times_out_on_four, 4) { wire_each(time_the_rest_out); }

/*
 * Once more for a kind that the kernel can only be asked about: of the waiters
 * told that it is ready the second must not go and sleep there.
 */
GTEST(the_rest_of_a_fifo_again_and_again, 4)
{
	int end[2];

	wire(FIFO, end);
	for (long i = 0; i < t_scale(1000); i++) {
		got = timed_out = 0;
		weft_waitgroup_add(&all, 4);
		for (int k = 0; k < 4; k++)
			weft_go(read_one, end[0]);
		EQ(weft_write(end[1], "m", 1), 1);
		while (!__atomic_load_n(&got, __ATOMIC_RELAXED))
			weft_yield();
		EQ(weft_set_read_deadline(end[0], weft_now()), 0);
		weft_waitgroup_wait(&all);
		EQ(got, 1);
		EQ(timed_out, 3);
		EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
	}
	wire_drop(end);
}

static void
close_the_rest(void)
{
	for (int k = 0; k < WIRES; k++) {
		int end[2];

		if (!wire_make(k, end))
			continue;
		start_readers(end[0]);
		feed_three(end[1]);
		EQ(weft_close(end[0]), 0);
		weft_waitgroup_wait(&all);
		EQ(got, 3);
		EQ(closed, MANY - 3);
		EQ(weft_close(end[1]), 0);
	}
}

GTEST(the_rest_is_closed_on_one, 1) { close_the_rest(); }
GTEST(the_rest_is_closed_on_four, 4) { close_the_rest(); }

static void
feed_the_rest(int k, int rd, int wr)
{
	(void)k;
	start_readers(rd);
	feed_three(wr);
	for (int i = 0; i < MANY - 3; i++)
		EQ(weft_write(wr, "m", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(got, MANY);
}

GTEST(the_rest_is_fed, 2) { wire_each(feed_the_rest); }

/* Each byte once, whoever reads it, again and again. */
static long seen[256];

static void
read_until_end(int fd)
{
	unsigned char buf[16];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		for (ssize_t i = 0; i < n; i++)
			__atomic_add_fetch(&seen[buf[i]], 1, __ATOMIC_RELAXED);
	EQ(n, 0);
	weft_waitgroup_done(&all);
}

static weft_waitgroup writers;

static void
write_all_values(int fd, long rounds)
{
	unsigned char buf[256];

	for (int i = 0; i < 256; i++)
		buf[i] = (unsigned char)i;
	while (rounds-- > 0)
		for (size_t at = 0; at < sizeof buf; at += 16)
			EQ(weft_write_full(fd, buf + at, 16, NULL), 16);
	weft_waitgroup_done(&writers);
}

static void
crowd(int k, long rounds)
{
	int end[2];

	if (!wire_ends(k) || !wire_make(k, end))
		return;
	memset(seen, 0, sizeof seen);
	weft_waitgroup_add(&all, 4);
	weft_waitgroup_add(&writers, 4);
	for (int i = 0; i < 4; i++) {
		weft_go(read_until_end, end[0]);
		weft_go(write_all_values, end[1], rounds);
	}
	weft_waitgroup_wait(&writers);
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < 256; i++)
		EQ(seen[i], 4 * rounds);
	EQ(weft_close(end[0]), 0);
}

static void
each_byte_once(void)
{
	for (int k = 0; k < WIRES; k++)
		crowd(k, t_scale(50));
}

ON_ALL(each_byte_once)

/* Writers of one blocking pipe that is full. */
static void
full_for_many(int k, int rd, int wr)
{
	char buf[4096];

	/* a write to a terminal that has begun blocks its thread */
	if (k == PTY || k >= UDP4)
		return;
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(expect_full, wr, -ETIMEDOUT, &all);
	let_them_wait(MANY);
	for (int i = 0; i < 20; i++)
		OK(weft_read(rd, buf, sizeof buf) > 0);
	EQ(weft_set_write_deadline(wr, weft_deadline(10 * WEFT_MS)), 0);
	weft_waitgroup_wait(&all);
}

GTEST(writers_time_out_on_one, 1) { wire_each(full_for_many); }
GTEST(writers_time_out_on_four, 4) { wire_each(full_for_many); }

/* One event, many waiters: as a semaphore it serves one at a time. */
static void
take_event(int fd)
{
	uint64_t v = 0;

	EQ(weft_read(fd, &v, sizeof v), sizeof v);
	EQ(v, 1);
	__atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

static void
semaphore(int flags)
{
	int fd = eventfd(0, EFD_SEMAPHORE | flags);
	uint64_t one = 1;

	got = 0;
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(take_event, fd);
	let_them_wait(MANY);
	for (int i = 0; i < MANY; i++) {
		EQ(weft_write(fd, &one, sizeof one), sizeof one);
		while (__atomic_load_n(&got, __ATOMIC_RELAXED) < i + 1)
			weft_yield();
		weft_yield();
		EQ(__atomic_load_n(&got, __ATOMIC_RELAXED), i + 1);
	}
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd), 0);
}

GTEST(semaphores_serve_one_at_a_time, 2)
{
	semaphore(0);
	semaphore(EFD_NONBLOCK);
}

/* SPDX-License-Identifier: MIT */
/*
 * weft_close: ends the waits of all others, and gives the number away only
 * after they have returned.
 */
#define _GNU_SOURCE 1
#include "fd_expect.h"
#include "fd_pairs.h"
#include "plain_thread.h"

enum { MANY = 25 };

static weft_waitgroup all;

/* Is it still what it was? */
static bool
is_open(int fd, uint64_t id)
{
	return wire_id(fd) == id;
}

static void
each_kind(void (*fn)(int k))
{
	for (int k = 0; k < WIRES; k++)
		fn(k);
}

/* ---- all that wait ---- */

static void
recv_closed(int fd)
{
	char c;

	EQ(weft_sock_recv(fd, &c, 1, 0), -EBADF);
	weft_waitgroup_done(&all);
}

static void
full_closed(int fd)
{
	char c[2];
	size_t done = 9;

	EQ(weft_read_full(fd, c, 2, &done), -EBADF);
	EQ(done, 0);
	weft_waitgroup_done(&all);
}

static void
wake_readers(int k)
{
	int end[2];
	uint64_t id;

	if (!wire_make(k, end))
		return;
	id = wire_id(end[0]);
	weft_waitgroup_add(&all, 5 * MANY);
	for (int i = 0; i < MANY; i++) {
		weft_go(expect_read, end[0], -EBADF, &all);
		if (wire_is_socket(k))
			weft_go(recv_closed, end[0]);
		else
			weft_go(expect_read, end[0], -EBADF, &all);
		weft_go(full_closed, end[0]);
		weft_go(expect_readable, end[0], -EBADF, &all);
		weft_go(expect_poll_closed, end[0], &all);
	}
	let_them_wait(5 * MANY);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[0]), -EBADF);
	weft_waitgroup_wait(&all);
	OK(!is_open(end[0], id));
	EQ(weft_close(end[1]), 0);
}

static void wake_all_readers(void) { each_kind(wake_readers); }

ON_ALL(wake_all_readers)

static void
wake_writers(int k)
{
	int end[2];
	uint64_t id;

	/* a write to a terminal that has begun blocks its thread */
	if (k == PTY || k >= UDP4 || !wire_make(k, end))
		return;
	id = wire_id(end[1]);
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(expect_full, end[1], -EBADF, &all);
	let_them_wait(MANY);
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	OK(!is_open(end[1], id));
	EQ(weft_close(end[0]), 0);
}

static void wake_all_writers(void) { each_kind(wake_writers); }

ON_ALL(wake_all_writers)

static void
accept_closed(int fd)
{
	EQ(weft_accept(fd, NULL, NULL), -EBADF);
	weft_waitgroup_done(&all);
}

GTEST(wake_all_accepters, 2)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4);
	uint64_t id = wire_id(ear);

	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(accept_closed, ear);
	let_them_wait(MANY);
	EQ(weft_close(ear), 0);
	weft_waitgroup_wait(&all);
	OK(!is_open(ear, id));
}

/* Readers and writers of the same, in both directions, at once. */
GTEST(wake_both_directions, 2)
{
	for (int k = STREAM; k < PTY; k++) {
		int end[2];
		uint64_t id;

		if (!wire_make(k, end))
			continue;
		id = wire_id(end[0]);
		weft_waitgroup_add(&all, 2 * MANY);
		for (int i = 0; i < MANY; i++) {
			weft_go(expect_full, end[0], -EBADF, &all);
			weft_go(expect_read, end[0], -EBADF, &all);
		}
		let_them_wait(2 * MANY);
		EQ(weft_close(end[0]), 0);
		weft_waitgroup_wait(&all);
		OK(!is_open(end[0], id));
		EQ(weft_close(end[1]), 0);
	}
}

/* ---- closed by many ---- */

static long closed;

static void
close_it(int fd)
{
	int r = weft_close(fd);

	OK(r == 0 || r == -EBADF);
	if (r == 0)
		__atomic_add_fetch(&closed, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

/* To numbers that neither weft nor libc gives out by chance. */
static void
move_up(int end[2])
{
	for (int i = 0; i < 2; i++) {
		int up = fcntl(end[i], F_DUPFD, 300);

		OK(up >= 300);
		close(end[i]);
		end[i] = up;
	}
}

/* No thread opens anything meanwhile: so just one of them closes it. */
static void
close_once(void)
{
	for (long r = 0; r < t_scale(200); r++) {
		int end[2];

		uint64_t id;

		wire(r % 2 ? PIPE : STREAM, end);
		move_up(end);
		id = wire_id(end[0]);
		closed = 0;
		weft_waitgroup_add(&all, 8);
		for (int i = 0; i < 4; i++) {
			weft_go(expect_read, end[0], -EBADF, &all);
			weft_go(close_it, end[0]);
		}
		weft_waitgroup_wait(&all);
		EQ(closed, 1);
		OK(!is_open(end[0], id));
		EQ(weft_close(end[1]), 0);
	}
}

ON_ALL(close_once)

GTEST(twice, 1)
{
	int end[2];
	char c;

	wire(TCP4, end);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[0]), -EBADF);
	EQ(weft_read(end[1], &c, 1), 0);
	EQ(weft_close(end[1]), 0);
	EQ(weft_close(end[1]), -EBADF);
}

/* ---- what the other side sees ---- */

/* The end of file, though a goroutine was waiting on what was closed. */
GTEST(the_other_side_sees_the_end, 2)
{
	for (int k = STREAM; k < WIRES; k++) {
		int end[2];

		if (!wire_ends(k) || !wire_make(k, end))
			continue;
		weft_waitgroup_add(&all, 2);
		weft_go(expect_read, end[0], -EBADF, &all);
		weft_go(expect_read, end[1], 0, &all);
		let_them_wait(2);
		EQ(weft_close(end[0]), 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[1]), 0);
	}
}

/* A duplicate is another descriptor, and stays what it was. */
GTEST(duplicates_stay, 2)
{
	for (int k = 0; k < WIRES; k++) {
		int end[2], twin;

		if (!wire_make(k, end))
			continue;
		twin = dup(end[0]);
		weft_waitgroup_add(&all, 2);
		weft_go(expect_read, end[0], -EBADF, &all);
		weft_go(expect_byte, twin, 'd', &all);
		let_them_wait(2);
		EQ(weft_close(end[0]), 0);
		EQ(weft_write(end[1], "d", 1), 1);
		weft_waitgroup_wait(&all);
		EQ(weft_close(twin), 0);
		EQ(weft_close(end[1]), 0);
	}
}

/* No goroutine waits for the duplicate's events: weft is not woken by them. */
GTEST(nothing_is_heard_of_the_closed_one, 2)
{
	weft_io_stats before, now;
	int end[2], other[2], twin;
	char c;

	wire(STREAM, end);
	wire(STREAM, other);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -EBADF, &all);
	let_them_wait(1);
	twin = dup(end[0]);
	EQ(weft_close(end[0]), 0);
	weft_waitgroup_wait(&all);
	weft_io_stats_read(&before, sizeof before);
	for (int i = 0; i < 10; i++) {
		EQ(write(end[1], "x", 1), 1);
		/* the kernel reports in order */
		weft_waitgroup_add(&all, 1);
		weft_go(expect_byte, other[0], 'd', &all);
		let_them_wait(1);
		EQ(write(other[1], "d", 1), 1);
		weft_waitgroup_wait(&all);
	}
	weft_io_stats_read(&now, sizeof now);
	/* That the closed one was writable may have been fetched before it was
	 * closed, and counted after the first look. */
	OK(now.stale <= before.stale + 1);
	EQ(read(twin, &c, 1), 1);
	EQ(close(twin), 0);
	EQ(close(end[1]), 0);
	wire_drop(other);
}

/* ---- the number is used again ---- */

/*
 * Gets nothing of the next one. If an event of before is late it looks once
 * more, and may find that the other end has gone.
 */
static void
read_nothing(int fd)
{
	char c;

	OK(weft_read(fd, &c, 1) <= 0);
	weft_waitgroup_done(&all);
}

/* In order of closing: a pair goes, the next gets its numbers at once. */
static void
next_of_that_number(int k)
{
	int end[2], next[2];
	char c = 0;

	if (!wire_make(k, end))
		return;
	for (long i = 0; i < t_scale(50); i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(read_nothing, end[0]);
		let_them_wait(1);
		EQ(weft_close(end[0]), 0);
		EQ(weft_close(end[1]), 0);
		wire(k, next);
		EQ(weft_write(next[1], "n", 1), 1);
		weft_waitgroup_wait(&all);
		EQ(weft_read(next[0], &c, 1), 1);
		EQ(c, 'n');
		end[0] = next[0];
		end[1] = next[1];
	}
	wire_drop(end);
}

/* A file is not taken for empty after a pair that was: no wait would end. */
GTEST(a_file_is_next_of_that_number, 1)
{
	int end[2], fd;
	char c;

	wire(STREAM, end);
	EQ(weft_set_read_deadline(end[0], weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	EQ(weft_close(end[0]), 0);
	fd = weft_open("/proc/self/exe", O_RDONLY, 0);
	wire_same_number(fd, end[0]);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	EQ(weft_close(end[1]), 0);
}

GTEST(the_next_of_that_number, 1)
{
	for (int k = 0; k < WIRES; k++)
		next_of_that_number(k);
}

GTEST(the_next_of_that_number_on_four, 4)
{
	for (int k = 0; k < WIRES; k++)
		next_of_that_number(k);
}

/*
 * Of a hundred readers some are awake and some are not when the number could
 * be given away: while one of them has not returned, it is not.
 */
static long returned;

static void
read_and_return(int fd)
{
	char c;

	EQ(weft_read(fd, &c, 1), -EBADF);
	__atomic_add_fetch(&returned, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

GTEST(kept_until_all_returned, 1)
{
	enum { N = 100 };
	int end[2];
	uint64_t id;

	wire(STREAM, end);
	id = wire_id(end[0]);
	weft_waitgroup_add(&all, N);
	for (int i = 0; i < N; i++)
		weft_go(read_and_return, end[0]);
	/* all of them: one that begins later does not use the number */
	let_them_wait(N);
	EQ(weft_close(end[0]), 0);
	/* one processor: they run when this one lets them */
	while (__atomic_load_n(&returned, __ATOMIC_ACQUIRE) < N) {
		bool open_before = is_open(end[0], id);

		if (!open_before)
			EQ(__atomic_load_n(&returned, __ATOMIC_ACQUIRE), N);
		weft_yield();
		if (!open_before)
			break;
	}
	weft_waitgroup_wait(&all);
	OK(!is_open(end[0], id));
	EQ(weft_close(end[1]), 0);
}

/* ---- others ---- */

GTEST(of_what_was_never_used, 1)
{
	int end[2], fd = open("/dev/null", O_RDWR);
	uint64_t id;

	wire(PIPE, end);
	id = wire_id(end[0]);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	EQ(weft_close(fd), 0);
	OK(!is_open(end[0], id) && !is_open(end[1], id));
}

/* Closing from a plain thread, and waiting there. */
PLAIN_THREAD(close_on_a_thread, EQ(weft_close((int)(intptr_t)arg), 0))

GTEST(by_a_thread, 1)
{
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(expect_read, end[0], -EBADF, &all);
	let_them_wait(MANY);
	thread_run_blocking(close_on_a_thread, (void *)(intptr_t)end[0]);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[1]), 0);
}

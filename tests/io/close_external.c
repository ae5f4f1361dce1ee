/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that are closed with close(2), and opened again, behind weft's
 * back: numbers work for their present users, and waiters are not abandoned.
 */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>

#include "fd_expect.h"
#include "fd_pairs.h"

static weft_waitgroup all;
static long results[2];		/* gave up with -EBADF, got something */

/*
 * On what was closed by hand: -EBADF, or tries anew on whatever has that
 * number now. Which of them depends on which thread is faster.
 */
static void
read_either(int fd)
{
	char c = 0;
	ssize_t n = weft_read(fd, &c, 1);

	OK(n == -EBADF || n == 1);
	__atomic_add_fetch(&results[n == 1], 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

/*
 * Closed while a reader waits, and not reopened: it returns in some seconds.
 * Of half of them a duplicate stays, so that nothing ends by itself.
 */
GTEST(readers_are_not_left_alone, 2)
{
	int end[WIRES][2], n = 0;

	for (int k = 0; k < WIRES; k++)
		if (wire_make(k, end[n])) {
			weft_waitgroup_add(&all, 1);
			weft_go(read_either, end[n++][0]);
		}
	let_them_wait(n);
	for (int i = 0; i < n; i++) {
		if (i % 2)
			fcntl(end[i][0], F_DUPFD, 500);
		EQ(close(end[i][0]), 0);
	}
	weft_waitgroup_wait(&all);
	EQ(results[0], n);
}

/* The last duplicate: the connection is gone with it. */
GTEST(a_reader_of_the_last_is_not_left_alone, 1)
{
	int end[2];

	wire(TCP4, end);
	weft_waitgroup_add(&all, 1);
	weft_go(read_either, end[0]);
	let_them_wait(1);
	EQ(close(end[0]), 0);
	weft_waitgroup_wait(&all);
	EQ(results[0], 1);
	close(end[1]);
}

GTEST(a_poller_is_not_left_alone, 1)
{
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_poll_closed, end[0], &all);
	let_them_wait(1);
	EQ(close(end[0]), 0);
	weft_waitgroup_wait(&all);
	close(end[1]);
}

/* The reader has waited for so long that the monitor looked at it before. */
GTEST(a_reader_of_old_is_not_left_alone, 2)
{
	int end[2], other;

	wire(STREAM, end);
	other = dup(end[0]);
	weft_waitgroup_add(&all, 1);
	weft_go(read_either, end[0]);
	weft_sleep(1500 * WEFT_MS);
	EQ(close(end[0]), 0);
	weft_waitgroup_wait(&all);
	EQ(results[0], 1);
	close(other);
	close(end[1]);
}

/* ---- no goroutine waits, and the number is used again ---- */

/* It was used, so that weft knows it. */
static void
use(int end[2])
{
	char c;

	weft_waitgroup_add(&all, 1);
	weft_go(write_when_awaited, end[1], 'x', &all);
	EQ(weft_read(end[0], &c, 1), 1);
	weft_waitgroup_wait(&all);
}

/*
 * Every kind follows every kind at the same numbers. A waiter for one may
 * have to wait for some seconds: so all at the same time.
 */
enum { ROUNDS = 9, PAIRS = ROUNDS * WIRES };

static void
write_soon(int fd)
{
	for (int i = 0; i < 20; i++)
		weft_yield();
	EQ(weft_write(fd, "u", 1), 1);
	weft_waitgroup_done(&all);
}

static void
use_both_ways(int rd, int wr)
{
	char c;

	weft_waitgroup_add(&all, 1);
	weft_go(write_soon, wr);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'u');
	/* and once more, without waiting */
	EQ(weft_write(wr, "v", 1), 1);
	EQ(weft_wait_readable(rd), 0);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'v');
	weft_waitgroup_done(&all);
}

static void
use_all(int (*end)[2])
{
	for (int i = 0; i < PAIRS; i++)
		if (end[i][0] >= 0) {
			weft_waitgroup_add(&all, 1);
			weft_go(use_both_ways, end[i][0], end[i][1]);
		}
	weft_waitgroup_wait(&all);
}

static void
close_all(int (*end)[2], unsigned seed)
{
	for (int i = PAIRS; i-- > 0;) {
		int k = (int)((unsigned)rand_r(&seed) % (unsigned)(i + 1));
		int first[2] = { end[k][0], end[k][1] };

		memcpy(end[k], end[i], sizeof first);
		close(first[0]);
		close(first[1]);
	}
}

static void
follow_all(void)
{
	static int end[PAIRS][2];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < PAIRS; i++)
			if (!wire_make((i * 5 + round) % WIRES, end[i]))
				end[i][0] = end[i][1] = -1;
		use_all(end);
		close_all(end, (unsigned)round);
	}
}

GTEST(each_kind_follows_each_on_one, 1) { follow_all(); }
GTEST(each_kind_follows_each_on_four, 4) { follow_all(); }

/* A file follows a socket, and a socket a file. */
GTEST(files_and_sockets_follow, 1)
{
	for (int i = 0; i < 3; i++) {
		int end[2], fd;
		char c = 1;

		wire(STREAM, end);
		use(end);
		close(end[0]);
		fd = open("/dev/zero", O_RDONLY);
		wire_same_number(fd, end[0]);
		EQ(weft_read(fd, &c, 1), 1);
		EQ(c, 0);
		close(fd);
		close(end[1]);
		wire(PIPE, end);
		use(end);
		close(end[0]);
		close(end[1]);
	}
}

/* With dup2, which closes and opens in one. */
static void
replace(int k)
{
	int end[2], next[2];

	if (wire_make(k, end)) {
		weft_waitgroup_add(&all, 3);
		use_both_ways(end[0], end[1]);
		wire(TCP4, next);
		EQ(dup2(next[0], end[0]), end[0]);
		close(next[0]);
		use_both_ways(end[0], next[1]);
		use_both_ways(end[0], next[1]);
		close(end[0]);
		close(end[1]);
		close(next[1]);
	}
	weft_waitgroup_done(&all);
}

GTEST(replaced_by_dup2, 1)
{
	weft_waitgroup_add(&all, WIRES);
	for (int k = 0; k < WIRES; k++)
		weft_go(replace, k);
	weft_waitgroup_wait(&all);
}

/* ---- a goroutine waits, and the number is used again ---- */

/*
 * The old reader gets -EBADF, or the byte that is on the new one; then a
 * second byte is for the new reader. No reader waits for ever.
 */
static void
reopened(int before, int after)
{
	int end[2], next[2], had;

	if (!wire_make(before, end))
		return;
	results[0] = results[1] = 0;
	weft_waitgroup_add(&all, 1);
	weft_go(read_either, end[0]);
	let_them_wait(1);
	close(end[0]);
	close(end[1]);
	wire(after, next);
	had = next[0] == end[0];
	weft_waitgroup_add(&all, 1);
	weft_go(read_either, next[0]);
	EQ(weft_write(next[1], "1", 1), 1);
	EQ(weft_write(next[1], "2", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(results[0] + results[1], 2);
	OK(results[1] >= 1);
	if (!had)
		EQ(results[1], 1);
	close(next[0]);
	close(next[1]);
}

GTEST(reopened_under_a_reader, 2)
{
	reopened(TCP4, TCP4);
	reopened(PIPE, STREAM_NB);
}

/* The number comes back from one of weft's calls: that is noticed at once. */
GTEST(noticed_when_the_number_comes_back, 1)
{
	for (int i = 0; i < 20; i++) {
		wire_addr at = wire_loopback(AF_INET);
		int end[2], ear, c, fd;
		double start;
		char x = 0;

		wire(STREAM, end);
		ear = wire_listen(SOCK_STREAM, &at, 4);
		c = socket(AF_INET, SOCK_STREAM, 0);
		EQ(weft_connect(c, &at.a.any, at.len), 0);
		weft_waitgroup_add(&all, 1);
		weft_go(expect_read, end[0], -EBADF, &all);
		let_them_wait(1);
		start = t_now();
		close(end[0]);
		fd = weft_accept(ear, NULL, NULL);
		wire_same_number(fd, end[0]);
		weft_waitgroup_wait(&all);
		OK(t_now() - start < 30);
		/* nothing of it sticks to the new one */
		EQ(weft_write(c, "x", 1), 1);
		EQ(weft_read(fd, &x, 1), 1);
		EQ(weft_close(fd), 0);
		EQ(weft_close(c), 0);
		EQ(weft_close(ear), 0);
		close(end[1]);
	}
}

/* ---- duplicates ---- */

/* The same socket by two numbers, waited for by both. */
static void
twins(int k, int rd, int wr)
{
	int twin = dup(rd);

	weft_waitgroup_add(&all, 2);
	weft_go(expect_read, rd, 1, &all);
	weft_go(expect_read, twin, 1, &all);
	let_them_wait(2);
	EQ(weft_write(wr, "a", 1), 1);
	EQ(weft_write(wr, "b", 1), 1);
	weft_waitgroup_wait(&all);
	(void)k;
	/* one is closed by hand, the other goes on as before */
	close(twin);
	for (int i = 0; i < 3; i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(expect_read, rd, 1, &all);
		let_them_wait(1);
		EQ(weft_write(wr, "a", 1), 1);
		weft_waitgroup_wait(&all);
	}
	/* and the number of the closed one works for another */
	dup_to_free(rd, twin);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, twin, 1, &all);
	let_them_wait(1);
	EQ(weft_write(wr, "a", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(weft_close(twin), 0);
}

GTEST(two_numbers_of_one_socket, 1) { wire_each(twins); }
GTEST(two_numbers_of_one_socket_on_four, 4) { wire_each(twins); }

/*
 * The number that weft knew is closed by hand, its twin keeps the socket
 * alive in the kernel, and events of it go on coming: they must not wake a
 * goroutine that waits on the number's new owner, nor end its wait.
 */
GTEST(events_of_the_old_one, 1)
{
	int end[2], twin, next[2];
	char c = 0;

	wire(STREAM, end);
	use(end);
	twin = dup(end[0]);
	close(end[0]);
	wire(STREAM, next);
	wire_same_number(next[0], end[0]);
	EQ(weft_set_read_deadline(next[0], weft_deadline(20 * WEFT_MS)), 0);
	for (int i = 0; i < 20; i++)
		EQ(write(end[1], "old", 3), 3);
	EQ(weft_read(next[0], &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(next[0], WEFT_NEVER), 0);
	use(next);
	EQ(weft_close(next[0]), 0);
	EQ(weft_close(next[1]), 0);
	close(twin);
	close(end[1]);
}

/* ---- goroutines that begin when there is something to read ---- */

static long begun;

static void
begin(void)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
}

static long
times_begun(void)
{
	return __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
}

/* Makes it known to the poller: a goroutine waited, and not too late. */
static void
wait_for(int fd)
{
	weft_io_stats before, now;
	int64_t ns = WEFT_MS;
	char c;

	weft_io_stats_read(&before, sizeof before);
	do {
		EQ(weft_set_read_deadline(fd, weft_deadline(ns)), 0);
		EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
		weft_io_stats_read(&now, sizeof now);
		ns *= 2;
	} while (now.registered == before.registered);
	EQ(weft_set_read_deadline(fd, WEFT_NEVER), 0);
}

/* Has an event of that socket arrive: true if it was taken for an old one. */
static bool
stale_event(int wr)
{
	double limit = t_now() + 10;
	weft_io_stats before, now;

	weft_io_stats_read(&before, sizeof before);
	EQ(write(wr, "old", 3), 3);
	do {
		weft_sleep(WEFT_MS);
		weft_io_stats_read(&now, sizeof now);
	} while (now.stale == before.stale && t_now() < limit);
	return now.stale > before.stale;
}

/*
 * The same for one that begins then, and would find nothing. (A reader looks,
 * and waits again: it cannot tell.)
 */
static void
not_begun_by(int old, int rd, int wr)
{
	begun = 0;
	OK(weft_go_readable(rd, begin) > 0);
	for (int i = 0; i < 5; i++) {
		OK(stale_event(old));
		EQ(times_begun(), 0);
	}
	EQ(weft_write(wr, "x", 1), 1);
	while (!times_begun())
		weft_sleep(WEFT_MS);
}

/* The number comes back from one of weft's calls. */
GTEST(a_start_is_not_for_the_old_one, 2)
{
	wire_addr at = wire_loopback(AF_INET);
	int end[2], ear, c, fd, twin;

	wire(STREAM, end);
	wait_for(end[0]);
	ear = wire_listen(SOCK_STREAM, &at, 4);
	c = socket(AF_INET, SOCK_STREAM, 0);
	EQ(weft_connect(c, &at.a.any, at.len), 0);
	twin = dup(end[0]);
	close(end[0]);
	fd = weft_accept(ear, NULL, NULL);
	wire_same_number(fd, end[0]);
	not_begun_by(end[1], fd, c);
	EQ(weft_close(fd), 0);
	EQ(weft_close(c), 0);
	EQ(weft_close(ear), 0);
	close(twin);
	close(end[1]);
}

/* A call finds out that it is no socket any more: old events are known as such.
 * (A late one of its own may start a goroutine too early.) */
GTEST(events_of_the_old_kind, 2)
{
	int end[2], next[2], twin;

	wire(STREAM, end);
	wait_for(end[0]);
	twin = dup(end[0]);
	close(end[0]);
	wire(PIPE, next);
	wire_same_number(next[0], end[0]);
	use(next);
	for (int i = 0; i < 5; i++)
		OK(stale_event(end[1]));
	wire_drop(next);
	close(twin);
	close(end[1]);
}

/*
 * A number that the poller still knows by an old tag: what it was lives on by
 * a duplicate, and comes back to it when weft has forgotten about it.
 */
GTEST(back_at_its_old_number, 2)
{
	int end[2], twin[2], fd;

	wire(STREAM, end);
	twin[0] = dup(end[0]);
	twin[1] = end[1];
	wait_for(twin[0]);
	close(twin[0]);
	fd = weft_open("/dev/null", O_RDONLY, 0);
	wire_same_number(fd, twin[0]);
	EQ(weft_close(fd), 0);
	dup_to_free(end[0], twin[0]);
	for (int i = 0; i < 3; i++)
		use(twin);
	EQ(weft_close(twin[0]), 0);
	wire_drop(end);
}

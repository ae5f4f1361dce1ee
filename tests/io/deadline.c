/* SPDX-License-Identifier: MIT */
/*
 * Deadlines, as Go's connections have them: never early, for calls that wait
 * already and later ones, moved during a wait, each direction by itself.
 */
#define _GNU_SOURCE 1
#include "fd_expect.h"
#include "fd_pairs.h"
#include "samples.h"

enum { MANY = 20 };

static weft_waitgroup all;

/* ---- over already ---- */

static void
past(int k, int rd, int wr)
{
	static const int64_t some[] = { INT64_MIN, -1, 1 };
	char c = 0;

	(void)k;
	EQ(weft_write(wr, "x", 1), 1);
	EQ(weft_wait_readable(rd), 0);
	for (int i = 0; i < 3; i++) {
		/* though there is something to read, and room */
		EQ(weft_set_read_deadline(rd, some[i]), 0);
		EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
		EQ(weft_wait_readable(rd), -ETIMEDOUT);
		EQ(weft_set_write_deadline(wr, some[i]), 0);
		EQ(weft_write(wr, &c, 1), -ETIMEDOUT);
		EQ(weft_wait_writable(wr), -ETIMEDOUT);
		EQ(weft_set_deadline(rd, WEFT_NEVER), 0);
		EQ(weft_set_deadline(wr, WEFT_NEVER), 0);
		EQ(weft_wait_readable(rd), 0);
		EQ(weft_wait_writable(wr), 0);
		EQ(weft_set_deadline(rd, some[i]), 0);
		EQ(weft_set_deadline(wr, some[i]), 0);
		EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
		EQ(weft_write(wr, &c, 1), -ETIMEDOUT);
	}
	/* and gone again */
	EQ(weft_set_deadline(rd, 0), 0);
	EQ(weft_set_write_deadline(wr, 0), 0);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'x');
	EQ(weft_write(wr, "y", 1), 1);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'y');
}

GTEST(over_already_on_one, 1) { wire_each(past); }
GTEST(over_already_on_four, 4) { wire_each(past); }

/* ---- every call has it ---- */

static void
every_read(int fd, bool socket)
{
	char c;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
	EQ(weft_readv(fd, &v, 1), -ETIMEDOUT);
	EQ(weft_read_full(fd, &c, 1, NULL), -ETIMEDOUT);
	EQ(weft_wait_readable(fd), -ETIMEDOUT);
	if (!socket)
		return;
	EQ(weft_sock_recv(fd, &c, 1, 0), -ETIMEDOUT);
	EQ(weft_sock_recv(fd, &c, 1, MSG_WAITALL), -ETIMEDOUT);
	EQ(weft_recvfrom(fd, &c, 1, MSG_PEEK, NULL, NULL), -ETIMEDOUT);
	EQ(weft_recvmsg(fd, &m, 0), -ETIMEDOUT);
}

static void
every_write(int fd, bool socket)
{
	char c = 'c';
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	EQ(weft_write(fd, &c, 1), -ETIMEDOUT);
	EQ(weft_writev(fd, &v, 1), -ETIMEDOUT);
	EQ(weft_write_full(fd, &c, 1, NULL), -ETIMEDOUT);
	EQ(weft_wait_writable(fd), -ETIMEDOUT);
	if (!socket)
		return;
	EQ(weft_sock_send(fd, &c, 1, 0), -ETIMEDOUT);
	EQ(weft_sendto(fd, &c, 1, 0, NULL, 0), -ETIMEDOUT);
	EQ(weft_sendmsg(fd, &m, 0), -ETIMEDOUT);
}

static void
every_call(int k, int rd, int wr)
{
	EQ(weft_set_read_deadline(rd, weft_deadline(2 * WEFT_MS)), 0);
	every_read(rd, wire_is_socket(k));
	EQ(weft_set_write_deadline(wr, weft_deadline(0)), 0);
	every_write(wr, wire_is_socket(k));
}

GTEST(every_call_has_it, 1) { wire_each(every_call); }

/* ---- never early ---- */

static void
not_early(int fd, int64_t ns)
{
	char c;
	int64_t when = weft_deadline(ns);

	EQ(weft_set_read_deadline(fd, when), 0);
	EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
	OK(weft_now() >= when);
}

static void
never_early(int k, int rd, int wr)
{
	static const int64_t some[] = { 0, 1, 100, 10 * WEFT_US, 100 * WEFT_US,
	    WEFT_MS, 5 * WEFT_MS };

	(void)k, (void)wr;
	for (int i = 0; i < 7; i++)
		not_early(rd, some[i]);
	for (long i = 0; i < t_scale(20); i++)
		not_early(rd, i * 77 * WEFT_US);
}

GTEST(never_early_on_one, 1) { wire_each(never_early); }
GTEST(never_early_on_four, 4) { wire_each(never_early); }

/* Waits for room, a while. 0: there is some, if the kernel says so, too. */
static ssize_t
wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t when = weft_deadline(5 * WEFT_MS);
	ssize_t n;

	EQ(weft_set_write_deadline(fd, when), 0);
	n = weft_wait_writable(fd);
	if (n == 0)
		EQ(poll(&p, 1, 0), 1);
	else
		OK(weft_now() >= when);
	return n;
}

static ssize_t
write_in_time(int fd)
{
	int64_t when = weft_deadline(20 * WEFT_MS);
	char buf[4096] = {0};
	ssize_t n;

	EQ(weft_set_write_deadline(fd, when), 0);
	n = weft_write(fd, buf, sizeof buf);
	OK(n > 0 || weft_now() >= when);
	return n;
}

/*
 * A write waits for room, which never comes: the pair is filled without a
 * deadline, that may be over first. The kernel may find room as it tidies up.
 */
static void
no_room(int k, int rd, int wr)
{
	ssize_t n;

	(void)rd;
	/* a write to a terminal that has begun blocks its thread */
	if (k == PTY || k >= UDP4)
		return;
	do {
		wire_stuff(wr);
		n = write_in_time(wr);
	} while (n > 0);
	EQ(n, -ETIMEDOUT);
	do {
		wire_stuff(wr);
		n = wait_for_room(wr);
	} while (n == 0);
	EQ(n, -ETIMEDOUT);
}

GTEST(writes_that_find_no_room, 1) { wire_each(no_room); }

GTEST(accepting, 1)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4), fd;

	for (int i = 0; i < 10; i++) {
		int64_t when = weft_deadline(i * WEFT_MS);

		EQ(weft_set_read_deadline(ear, when), 0);
		EQ(weft_accept(ear, NULL, NULL), -ETIMEDOUT);
		OK(weft_now() >= when);
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	EQ(weft_connect(fd, &at.a.any, at.len), 0);
	/* a client is there, but it is too late */
	EQ(weft_accept(ear, NULL, NULL), -ETIMEDOUT);
	EQ(weft_set_deadline(ear, WEFT_NEVER), 0);
	OK(weft_accept(ear, NULL, NULL) >= 0);
	EQ(weft_set_write_deadline(fd, weft_deadline(0)), 0);
	EQ(weft_connect(fd, &at.a.any, at.len), -ETIMEDOUT);
	EQ(weft_close(fd), 0);
	EQ(weft_close(ear), 0);
}

/* ---- each direction by itself ---- */

GTEST(each_direction_by_itself, 1)
{
	int end[2];
	char c = 'c';

	for (int k = STREAM; k < WIRES; k++) {
		if (!wire_make(k, end))
			continue;
		EQ(weft_set_read_deadline(end[0], weft_deadline(0)), 0);
		EQ(weft_write(end[0], &c, 1), 1);
		EQ(weft_read(end[1], &c, 1), 1);
		EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
		EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
		EQ(weft_set_write_deadline(end[0], weft_deadline(0)), 0);
		EQ(weft_write(end[1], &c, 1), 1);
		EQ(weft_read(end[0], &c, 1), 1);
		EQ(weft_write(end[0], &c, 1), -ETIMEDOUT);
		/* both with one call */
		EQ(weft_set_deadline(end[0], weft_deadline(5 * WEFT_MS)), 0);
		EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
		EQ(weft_write(end[0], &c, 1), -ETIMEDOUT);
		EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
		EQ(weft_write(end[0], &c, 1), -ETIMEDOUT);
		wire_drop(end);
	}
}

/* ---- moved while a goroutine waits ---- */

static void
expect_timeout(int fd, int64_t not_before)
{
	char c;

	EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
	OK(weft_now() >= not_before);
	weft_waitgroup_done(&all);
}

static void
wait_many(int fd, int64_t not_before)
{
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(expect_timeout, fd, not_before);
	let_them_wait(MANY);
}

/* From none, from far, from near to near. */
static void
moved(int k, int rd, int wr)
{
	int64_t when = weft_deadline(5 * WEFT_MS);

	(void)k, (void)wr;
	wait_many(rd, when);
	EQ(weft_set_read_deadline(rd, when), 0);
	weft_waitgroup_wait(&all);
	/* shortened */
	EQ(weft_set_read_deadline(rd, weft_deadline(3600 * WEFT_SECOND)), 0);
	when = weft_deadline(5 * WEFT_MS);
	wait_many(rd, when);
	EQ(weft_set_deadline(rd, when), 0);
	weft_waitgroup_wait(&all);
	/* to the past */
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
	wait_many(rd, INT64_MIN);
	EQ(weft_set_read_deadline(rd, INT64_MIN), 0);
	weft_waitgroup_wait(&all);
	/* extended, again and again, before it is reached */
	when = weft_deadline(20 * WEFT_MS);
	EQ(weft_set_read_deadline(rd, weft_deadline(3600 * WEFT_SECOND)), 0);
	wait_many(rd, when);
	EQ(weft_set_read_deadline(rd, weft_deadline(1800 * WEFT_SECOND)), 0);
	for (int i = 0; i < 20; i++)
		EQ(weft_set_read_deadline(rd,
		    weft_deadline(3600 * WEFT_SECOND)),
		    0);
	EQ(weft_set_read_deadline(rd, when), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
}

GTEST(moved_on_one, 1) { wire_each(moved); }
GTEST(moved_on_four, 4) { wire_each(moved); }

/* Extended for long enough again and again, it is never reached. */
static bool moving;

static void
read_one(int fd)
{
	check_byte(fd, 'e');
	__atomic_store_n(&moving, false, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

GTEST(extended_in_a_loop, 2)
{
	double end_at = t_now() + 0.3;
	int end[2];

	wire(STREAM, end);
	EQ(weft_set_read_deadline(end[0], weft_deadline(20 * WEFT_SECOND)), 0);
	weft_waitgroup_add(&all, 1);
	moving = true;
	weft_go(read_one, end[0]);
	let_them_wait(1);
	while (t_now() < end_at) {
		EQ(weft_set_read_deadline(end[0],
		    weft_deadline(20 * WEFT_SECOND)),
		    0);
		weft_yield();
	}
	OK(__atomic_load_n(&moving, __ATOMIC_ACQUIRE));
	EQ(weft_write(end[1], "e", 1), 1);
	weft_waitgroup_wait(&all);
	wire_drop(end);
}

/* Removed while a goroutine waits: it goes on waiting. */
GTEST(removed_must_not_return, 2)
{
	for (int k = 0; k < WIRES; k++) {
		int64_t when = weft_deadline(WEFT_SECOND);
		int end[2];

		if (!wire_make(k, end))
			continue;
		EQ(weft_set_read_deadline(end[0], when), 0);
		weft_waitgroup_add(&all, 1);
		moving = true;
		weft_go(read_one, end[0]);
		let_them_wait(1);
		EQ(weft_set_read_deadline(end[0],
		    weft_deadline(30 * WEFT_SECOND)),
		    0);
		EQ(weft_set_deadline(end[0], WEFT_NEVER), 0);
		if (weft_now() >= when)
			t_skip("too slow to remove a deadline of a second");
		weft_sleep(k == TCP4 ? 1100 * WEFT_MS : 5 * WEFT_MS);
		OK(__atomic_load_n(&moving, __ATOMIC_ACQUIRE));
		EQ(weft_write(end[1], "e", 1), 1);
		weft_waitgroup_wait(&all);
		wire_drop(end);
	}
}

/* A deadline that is never reached leaves nothing behind. */
static void
reused(int k, int rd, int wr)
{
	char c;

	(void)k;
	for (int i = 0; i < 50; i++) {
		EQ(weft_set_read_deadline(rd, weft_deadline(20 * WEFT_SECOND)),
		    0);
		EQ(weft_write(wr, "x", 1), 1);
		EQ(weft_read(rd, &c, 1), 1);
		EQ(weft_set_read_deadline(rd, weft_deadline(i * 10 * WEFT_US)),
		    0);
		EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
	}
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
	EQ(weft_write(wr, "x", 1), 1);
	EQ(weft_read(rd, &c, 1), 1);
}

GTEST(used_again_and_again, 2) { wire_each(reused); }

/* It ends with the descriptor: the next of that number has none. */
static int
accepted_at(int number)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4), fd;
	int c = socket(AF_INET, SOCK_STREAM, 0);

	EQ(weft_connect(c, &at.a.any, at.len), 0);
	EQ(close(number), 0);
	fd = weft_accept(ear, NULL, NULL);
	EQ(weft_close(ear), 0);
	EQ(weft_write(c, "a", 1), 1);
	EQ(weft_close(c), 0);
	return fd;
}

GTEST(ends_with_the_descriptor, 1)
{
	int end[2], again[2], fd;
	char c = 0;

	/* closed as it should be */
	wire(STREAM, end);
	EQ(weft_set_deadline(end[0], weft_deadline(0)), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	EQ(weft_close(end[0]), 0);
	wire(STREAM, again);
	wire_same_number(again[0], end[0]);
	EQ(weft_write(again[0], "x", 1), 1);
	EQ(weft_write(again[1], "x", 1), 1);
	EQ(weft_read(again[0], &c, 1), 1);
	EQ(weft_close(end[1]), 0);
	wire_drop(again);
	/* and by hand, when the number comes from weft */
	fd = open("/dev/null", O_RDONLY);
	EQ(close(fd), 0);
	wire(STREAM, end);
	EQ(weft_set_deadline(end[0], weft_deadline(0)), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	fd = accepted_at(end[0]);
	wire_same_number(fd, end[0]);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(c, 'a');
	EQ(weft_close(fd), 0);
	EQ(weft_close(end[1]), 0);
}

/* ---- many ---- */

static void
ever_earlier(const int *fd, int n)
{
	for (int i = 0; i < n; i++)
		for (int ns = 50; ns > 0; ns--) {
			EQ(weft_set_read_deadline(fd[i],
			    weft_deadline(ns * 100 * WEFT_US)), 0);
			if (ns % 10 == 0)
				weft_yield();
		}
	weft_waitgroup_done(&all);
}

/* Eight set ever earlier deadlines of ten connections that are read. */
static void
set_by_many(void)
{
	static int rd[10], wr[10];

	for (int i = 0; i < 10; i++) {
		int end[2];

		wire(i % 2 ? TCP4 : TCP4_NB, end);
		rd[i] = end[0];
		wr[i] = end[1];
	}
	weft_waitgroup_add(&all, 28);
	for (int i = 0; i < 20; i++)
		weft_go(expect_read, rd[i / 2], -ETIMEDOUT, &all);
	for (int i = 0; i < 8; i++)
		weft_go(ever_earlier, rd, 10);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < 10; i++) {
		EQ(weft_close(rd[i]), 0);
		EQ(weft_close(wr[i]), 0);
	}
}

ON_ALL(set_by_many)

/* ---- how late: figures only, but for ten seconds ---- */

GTEST(how_late, 2)
{
	static const int64_t some[] = { 50 * WEFT_US, WEFT_MS, 10 * WEFT_MS };
	static int64_t late[200];
	int end[2], n = (int)t_scale(100);
	char c;

	wire(TCP4, end);
	for (int s = 0; s < 3; s++) {
		for (int i = 0; i < n; i++) {
			int64_t when = weft_deadline(some[s]);

			EQ(weft_set_read_deadline(end[0], when), 0);
			EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
			late[i] = weft_now() - when;
			OK(late[i] >= 0 && late[i] < 10 * WEFT_SECOND);
		}
		qsort(late, (size_t)n, sizeof late[0], ascending);
		fprintf(stderr, "# deadline in %lld us: late by %.1f us in "
		    "the median, %.1f at 99 %%, %.1f at most\n",
		    (long long)(some[s] / 1000), (double)late[n / 2] / 1e3,
		    (double)late[n * 99 / 100] / 1e3,
		    (double)late[n - 1] / 1e3);
	}
	wire_drop(end);
}

/* SPDX-License-Identifier: MIT */
/* Goroutines that begin when there is something to read, and not before. */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "fd_pairs.h"
#include "plain_thread.h"

static weft_waitgroup all;
static long begun;

static long
how_many(void)
{
	return __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
}

/* Reads what is there: `expected` is what a read gives. */
static void
take(int fd, ssize_t expected)
{
	char c;

	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	EQ(weft_read(fd, &c, 1), expected);
	weft_waitgroup_done(&all);
}

static void
arm(int fd, ssize_t expected)
{
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(fd, take, fd, expected) > 0);
}

/* ---- when ---- */

static void
not_before(int k, int rd, int wr)
{
	(void)k;
	begun = 0;
	arm(rd, 1);
	for (int i = 0; i < 100; i++)
		weft_yield();
	weft_sleep(2 * WEFT_MS);
	EQ(how_many(), 0);
	EQ(weft_write(wr, "x", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(how_many(), 1);
	/* what was there before */
	EQ(weft_write(wr, "x", 1), 1);
	EQ(weft_wait_readable(rd), 0);
	arm(rd, 1);
	weft_waitgroup_wait(&all);
	EQ(how_many(), 2);
}

GTEST(not_before_it_is_time_on_one, 1) { wire_each(not_before); }
GTEST(not_before_it_is_time_on_four, 4) { wire_each(not_before); }

GTEST(at_the_end_of_file, 1)
{
	for (int k = 0; k < WIRES; k++) {
		int end[2];

		if (!wire_ends(k) || !wire_make(k, end))
			continue;
		begun = 0;
		arm(end[0], 0);
		for (int i = 0; i < 20; i++)
			weft_yield();
		EQ(how_many(), 0);
		EQ(weft_close(end[1]), 0);
		weft_waitgroup_wait(&all);
		/* and if that was before */
		arm(end[0], 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[0]), 0);
	}
}

GTEST(when_closed, 2)
{
	for (int k = 0; k < WIRES; k++) {
		int end[2];

		if (!wire_make(k, end))
			continue;
		begun = 0;
		arm(end[0], -EBADF);
		weft_yield();
		EQ(how_many(), 0);
		EQ(weft_close(end[0]), 0);
		weft_waitgroup_wait(&all);
		EQ(how_many(), 1);
		EQ(weft_close(end[1]), 0);
	}
}

static void
take_late(int fd, int64_t when)
{
	char c;

	OK(weft_now() >= when);
	EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
	weft_waitgroup_done(&all);
}

static void
deadlines(int k, int rd, int wr)
{
	int64_t when = weft_deadline(3 * WEFT_MS);

	(void)k, (void)wr;
	/* set before, set after, and over already */
	EQ(weft_set_read_deadline(rd, when), 0);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(rd, take_late, rd, when) > 0);
	weft_waitgroup_wait(&all);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
	when = weft_deadline(3 * WEFT_MS);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(rd, take_late, rd, when) > 0);
	EQ(weft_set_deadline(rd, when), 0);
	weft_waitgroup_wait(&all);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(rd, take_late, rd, when) > 0);
	weft_waitgroup_wait(&all);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(rd, take_late, rd, INT64_MIN) > 0);
	EQ(weft_set_read_deadline(rd, INT64_MIN), 0);
	weft_waitgroup_wait(&all);
}

GTEST(at_the_deadline_on_one, 1) { wire_each(deadlines); }
GTEST(at_the_deadline_on_four, 4) { wire_each(deadlines); }

/* One that was removed, or put off, is none: no goroutine begins then. */
static void
not_at_the_old_one(int64_t next)
{
	int64_t when = weft_deadline(200 * WEFT_MS);
	int end[2];

	begun = 0;
	wire(STREAM, end);
	EQ(weft_set_read_deadline(end[0], when), 0);
	arm(end[0], 1);
	EQ(weft_set_read_deadline(end[0], next), 0);
	if (weft_now() >= when)
		t_skip("too slow to remove a deadline of 200 ms");
	weft_sleep_until(when + 20 * WEFT_MS);
	EQ(how_many(), 0);
	EQ(weft_write(end[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(how_many(), 1);
	wire_drop(end);
}

GTEST(not_at_a_deadline_of_old, 2)
{
	not_at_the_old_one(WEFT_NEVER);
	not_at_the_old_one(weft_deadline(60 * WEFT_SECOND));
}

/* None has begun; one does when there is a byte. */
static void
begins_with_a_byte(int end[2])
{
	EQ(how_many(), 0);
	EQ(weft_write(end[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	wire_drop(end);
}

/* A deadline of the other direction does not matter. */
GTEST(not_at_the_deadline_of_writing, 1)
{
	int end[2];

	wire(STREAM, end);
	EQ(weft_set_write_deadline(end[0], weft_deadline(WEFT_MS)), 0);
	arm(end[0], 1);
	weft_sleep(5 * WEFT_MS);
	begins_with_a_byte(end);
}

static void
take_tick(int fd)
{
	uint64_t n = 0;

	EQ(weft_read(fd, &n, sizeof n), sizeof n);
	EQ(n, 1);
	weft_waitgroup_done(&all);
}

GTEST(other_kinds, 1)
{
	struct itimerspec in = { .it_value = { 0, 5 * WEFT_MS } };
	int ev = eventfd(0, 0), tick = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t one = 1;

	weft_waitgroup_add(&all, 2);
	OK(weft_go_readable(ev, take_tick, ev) > 0);
	OK(weft_go_readable(tick, take_tick, tick) > 0);
	EQ(timerfd_settime(tick, 0, &in, NULL), 0);
	EQ(weft_write(ev, &one, sizeof one), sizeof one);
	weft_waitgroup_wait(&all);
	EQ(weft_close(ev), 0);
	EQ(weft_close(tick), 0);
}

static void
accept_one(int ear)
{
	int fd = weft_accept(ear, NULL, NULL);

	OK(fd >= 0);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

GTEST(a_connection_to_accept, 1)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(ear, accept_one, ear) > 0);
	weft_yield();
	EQ(weft_connect(fd, &at.a.any, at.len), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd), 0);
	EQ(weft_close(ear), 0);
}

/* ---- what is refused ---- */

GTEST(refused, 1)
{
	int end[2], file = open("/dev/null", O_RDWR);
	int dir = open("/tmp", O_RDONLY);
	char name[] = "/tmp/weft-readable-XXXXXX";
	int reg = mkstemp(name);
	int64_t before = weft_goroutines();

	unlink(name);
	wire(PIPE, end);
	EQ(weft_go_readable(-1, take, 0, (ssize_t)0), -EBADF);
	EQ(weft_go_readable(-2, take, 0, (ssize_t)0), -EBADF);
	EQ(weft_go_readable(INT32_MIN, take, 0, (ssize_t)0), -EBADF);
	EQ(weft_go_readable(1000, take, 0, (ssize_t)0), -EBADF);
	EQ(weft_go_readable(1 << 20, take, 0, (ssize_t)0), -EBADF);
	EQ(weft_go_readable(reg, take, 0, (ssize_t)0), -EPERM);
	EQ(weft_go_readable(dir, take, 0, (ssize_t)0), -EPERM);
	EQ(weft_go_readable(file, take, 0, (ssize_t)0), -EPERM);
	arm(end[0], 1);
	EQ(weft_go_readable(end[0], take, 0, (ssize_t)0), -EBUSY);
	EQ(weft_go_readable(end[0], take, 0, (ssize_t)0), -EBUSY);
	/* nothing began, nothing is left of them */
	EQ(weft_goroutines(), before + 1);
	EQ(weft_write(end[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(how_many(), 1);
	wire_drop(end);
	EQ(weft_go_readable(end[0], take, 0, (ssize_t)0), -EBADF);
	close(file);
	close(dir);
	close(reg);
}

TEST(refused_without_a_runtime)
{
	int end[2];

	wire(PIPE, end);
	EQ(weft_go_readable(end[0], take, 0, (ssize_t)0), -EPERM);
}

/* Beside a reader that waits: each event is for one of them. */
static void
read_all(int fd, long *sum)
{
	char c;

	while (weft_read(fd, &c, 1) == 1)
		__atomic_add_fetch(sum, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&all);
}

GTEST(beside_a_reader, 2)
{
	long sum = 0;
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 2);
	weft_go(read_all, end[0], &sum);
	let_them_wait(1);
	OK(weft_go_readable(end[0], read_all, end[0], &sum) > 0);
	for (int i = 0; i < 100; i++) {
		EQ(weft_write(end[1], "x", 1), 1);
		weft_yield();
	}
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	EQ(sum, 100);
	EQ(weft_close(end[0]), 0);
}

/* ---- it is a goroutine like any other ---- */

struct pair { int32_t a, b; };
static double sum;

static void no_arguments(void) { bool b = true; weft_yield(); OK(b);
    weft_waitgroup_done(&all); }

static void
mixed(char a, double b, const char *c, int64_t d, float e, struct pair f,
    bool g, uint16_t h)
{
	EQ(a, 'a');
	sum += b + e;
	OK(!strcmp(c, "text"));
	EQ(d, INT64_MIN);
	EQ(f.a, -1);
	EQ(f.b, 2);
	OK(g);
	EQ(h, 65535);
	weft_waitgroup_done(&all);
}

static int
one_number(int n)
{
	EQ(n, 77);
	weft_waitgroup_done(&all);
	return n;
}

static void
who_am_i(int64_t stack)
{
	volatile char deep[200000];

	OK(!strcmp(weft_self_name(), "patient"));
	OK(weft_self_id() > 0);
	deep[0] = deep[stack - 1] = 1;
	OK(deep[0] + deep[stack - 1] == 2);
	weft_waitgroup_done(&all);
}

static void
arguments(void)
{
	struct pair p = { -1, 2 };
	int end[5][2];
	int64_t id[5];

	sum = 0;
	for (int i = 0; i < 5; i++)
		wire(i % 2 ? PIPE : STREAM_NB, end[i]);
	weft_waitgroup_add(&all, 5);
	id[0] = weft_go_readable(end[0][0], no_arguments);
	id[1] = weft_go_readable(end[1][0], mixed, 'a', 1.5, "text", INT64_MIN,
	    2.5f, p, true, 65535);
	id[2] = weft_go_readable(end[2][0], one_number, 77.9);
	id[3] = weft_go_readable_opt(WEFT_OPT(.name = "patient",
	    .stack = 1 << 20), end[3][0], who_am_i, INT64_C(200000));
	id[4] = weft_go_readable(end[4][0], no_arguments);
	for (int i = 0; i < 5; i++) {
		OK(id[i] > 0);
		for (int j = 0; j < i; j++)
			OK(id[i] != id[j]);
		EQ(weft_write(end[i][1], "x", 1), 1);
	}
	weft_waitgroup_wait(&all);
	OK(sum == 4.0);
	for (int i = 0; i < 5; i++)
		wire_drop(end[i]);
}

ON_ALL(arguments)

GTEST(absurd_options, 1)
{
	int end[2];

	wire(PIPE, end);
	EQ(weft_go_readable_opt(WEFT_OPT(.stack = SIZE_MAX), end[0],
	    no_arguments), -EINVAL);
	/* that left it free */
	arm(end[0], 1);
	EQ(weft_write(end[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	wire_drop(end);
}

/* It exists from when it is armed. */
GTEST(is_counted, 1)
{
	int64_t before = weft_goroutines();
	int end[2];

	wire(PIPE, end);
	arm(end[0], 1);
	EQ(weft_goroutines(), before + 1);
	weft_yield();
	EQ(weft_goroutines(), before + 1);
	EQ(weft_write(end[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	while (weft_goroutines() > before)
		weft_yield();
	wire_drop(end);
}

/* Armed from a plain thread. */
PLAIN_THREAD(arm_on_a_thread, arm((int)(intptr_t)arg, 1))

GTEST(armed_by_a_thread, 1)
{
	int end[2];

	wire(STREAM, end);
	thread_run_blocking(arm_on_a_thread, (void *)(intptr_t)end[0]);
	weft_yield();
	begins_with_a_byte(end);
}

/* ---- again and again ---- */

/* Answers one byte, and is there again for the next. */
static void
serve(int fd)
{
	char c;
	ssize_t n = weft_read(fd, &c, 1);

	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	if (n <= 0) {
		EQ(n, 0);
		weft_waitgroup_done(&all);
		return;
	}
	c++;
	EQ(weft_write(fd, &c, 1), 1);
	OK(weft_go_readable(fd, serve, fd) > 0);
}

static void
ask(int k, int n)
{
	int end[2];
	char c = 0;

	if (!wire_make(k, end))
		return;
	begun = 0;
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[1], serve, end[1]) > 0);
	for (int i = 0; i < n; i++) {
		char was = c;

		EQ(weft_write(end[0], &c, 1), 1);
		EQ(weft_read(end[0], &c, 1), 1);
		EQ(c, (char)(was + 1));
	}
	EQ(weft_close(end[0]), 0);
	weft_waitgroup_wait(&all);
	EQ(how_many(), n + 1);
	EQ(weft_close(end[1]), 0);
}

static void
ask_again_and_again(void)
{
	int n = (int)t_scale(1000);

	ask(STREAM, n);
	ask(STREAM_NB, n);
	ask(TCP4, n);
	ask(TCP6, n);
	ask(SEQPACKET, n);
}

ON_ALL(ask_again_and_again)

enum { MOST = 1000 };

static void
thousand(void)
{
	static int ends[MOST][2];
	struct rlimit rl;
	int n = (int)t_scale(MOST);
	char c;

	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	if ((int64_t)rl.rlim_cur < 2 * n + 100)
		n = (int)rl.rlim_cur / 2 - 50;
	begun = 0;
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++) {
		wire(STREAM_NB, ends[i]);
		OK(weft_go_readable(ends[i][1], serve, ends[i][1]) > 0);
	}
	EQ(weft_goroutines(), n + 1);
	EQ(how_many(), 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < n; i++)
			EQ(weft_write(ends[i][0], "a", 1), 1);
		for (int i = 0; i < n; i++) {
			EQ(weft_read(ends[i][0], &c, 1), 1);
			EQ(c, 'b');
		}
	}
	for (int i = 0; i < n; i++)
		EQ(weft_close(ends[i][0]), 0);
	weft_waitgroup_wait(&all);
	EQ(how_many(), 4 * n);
	for (int i = 0; i < n; i++)
		EQ(weft_close(ends[i][1]), 0);
}

GTEST(a_thousand_on_one, 1) { thousand(); }
GTEST(a_thousand_on_four, 4) { thousand(); }

/* Those that never begin are left when main returns. */
GTEST(left_behind, 2)
{
	int end[2];

	for (int i = 0; i < 100; i++) {
		wire(STREAM, end);
		OK(weft_go_readable(end[0], serve, end[0]) > 0);
	}
	EQ(how_many(), 0);
}

/* SPDX-License-Identifier: MIT */
/* Waiting for several descriptors, or for one, without reading. */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "fd_expect.h"
#include "fd_pairs.h"
#include "plain_thread.h"

static weft_waitgroup all;

static struct pollfd
want(int fd, short events)
{
	return (struct pollfd){ .fd = fd, .events = events, .revents = 0x7f };
}

/* ---- one, of each kind: as the system's poll says it ---- */

static void
same_as_poll(struct pollfd *p, size_t n)
{
	struct pollfd q[8];
	int r;

	memcpy(q, p, n * sizeof *p);
	r = poll(q, n, 0);
	EQ(weft_try_poll(p, n), r);
	for (size_t i = 0; i < n; i++)
		EQ(p[i].revents, q[i].revents);
	/* would not wait either, if anything is there */
	if (r > 0)
		EQ(weft_poll(p, n, WEFT_NEVER), r);
}

static void
look_at(int k, int rd, int wr)
{
	const short all_events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;
	struct pollfd p[] = { want(rd, POLLIN), want(wr, POLLOUT),
	    want(rd, all_events), want(wr, all_events), want(rd, 0) };

	(void)k;
	same_as_poll(p, 5);
	same_as_poll(p, 1);
	EQ(weft_write(wr, "x", 1), 1);
	EQ(weft_wait_readable(rd), 0);
	same_as_poll(p, 5);
	EQ(weft_poll(p, 1, WEFT_NEVER), 1);
	EQ(p[0].revents, POLLIN);
}

GTEST(ready_at_once, 1) { wire_each(look_at); }

/* The other end is closed. */
GTEST(hung_up, 1)
{
	for (int k = 0; k < WIRES; k++) {
		int end[2], other[2];
		struct pollfd p[3];

		if (!wire_ends(k) || !wire_make(k, end))
			continue;
		wire(k, other);
		EQ(weft_close(end[1]), 0);
		EQ(weft_close(other[0]), 0);
		EQ(weft_wait_readable(end[0]), 0);
		EQ(weft_wait_writable(other[1]), 0);
		p[0] = want(end[0], POLLIN);
		p[1] = want(other[1], POLLOUT | POLLRDHUP);
		p[2] = want(end[0], 0);
		same_as_poll(p, 3);
		OK(p[0].revents & (POLLIN | POLLHUP));
		EQ(weft_close(end[0]), 0);
		EQ(weft_close(other[1]), 0);
	}
}

/* ---- later ---- */

static void
ready_later(int k, int rd, int wr)
{
	int idle[2];
	struct pollfd p[] = { want(-1, POLLIN), want(0, POLLIN),
	    want(rd, POLLIN), want(rd, POLLIN | POLLPRI) };
	char c;

	(void)k;
	wire(PIPE, idle);
	p[1].fd = idle[0];
	weft_waitgroup_add(&all, 1);
	weft_go(write_when_awaited, wr, 'x', &all);
	EQ(weft_poll(p, 4, WEFT_NEVER), 2);
	EQ(p[0].revents, 0);
	EQ(p[1].revents, 0);
	EQ(p[2].revents, POLLIN);
	EQ(p[3].revents, POLLIN);
	weft_waitgroup_wait(&all);
	EQ(weft_read(rd, &c, 1), 1);
	/* it was only looked at: now it would have to wait again */
	EQ(weft_poll(p, 4, weft_deadline(WEFT_MS)), 0);
	for (int i = 0; i < 4; i++)
		EQ(p[i].revents, 0);
	wire_drop(idle);
}

GTEST(ready_later_on_one, 1) { wire_each(ready_later); }
GTEST(ready_later_on_four, 4) { wire_each(ready_later); }

static void
close_when_awaited(int fd)
{
	let_them_wait(1);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

/* A poll for no event at all is told that the other end has gone. */
GTEST(hangs_up_later, 1)
{
	static const int kinds[] = { PIPE, PIPE_NB, STREAM, SEQPACKET };

	for (int i = 0; i < 4; i++) {
		struct pollfd p;
		int end[2];

		wire(kinds[i], end);
		p = want(end[0], 0);
		weft_waitgroup_add(&all, 1);
		weft_go(close_when_awaited, end[1]);
		EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
		EQ(p.revents, POLLHUP);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[0]), 0);
	}
}

static void
send_urgent_when_awaited(int fd)
{
	let_them_wait(1);
	EQ(send(fd, "!", 1, MSG_OOB), 1);
	weft_waitgroup_done(&all);
}

GTEST(urgent_data_comes_later, 1)
{
	struct pollfd p;
	int end[2];

	wire(TCP4, end);
	p = want(end[0], POLLPRI);
	weft_waitgroup_add(&all, 1);
	weft_go(send_urgent_when_awaited, end[1]);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLPRI);
	weft_waitgroup_wait(&all);
	wire_drop(end);
}

static void
drain_when_awaited(int fd)
{
	char buf[65536];

	let_them_wait(1);
	while (weft_read(fd, buf, sizeof buf) > 0)
		;
	weft_waitgroup_done(&all);
}

/* Room for a writer comes later, while nothing comes to be read. */
static void
room_later(int k, int rd, int wr)
{
	struct pollfd p = want(wr, POLLOUT);

	if (k == PTY || k >= UDP4)
		return;
	wire_stuff(wr);
	EQ(weft_poll(&p, 1, weft_deadline(WEFT_MS)), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(drain_when_awaited, rd);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLOUT);
	EQ(weft_wait_writable(wr), 0);
	EQ(weft_set_read_deadline(rd, weft_deadline(WEFT_MS)), 0);
	weft_waitgroup_wait(&all);
}

GTEST(room_comes_later, 1) { wire_each(room_later); }

/* ---- timeouts ---- */

GTEST(not_before_its_time, 2)
{
	struct pollfd p;
	int end[2];

	wire(STREAM, end);
	p = want(end[0], POLLIN);
	for (int i = 0; i < 20; i++) {
		int64_t when = weft_deadline(i * 300 * WEFT_US);

		EQ(weft_poll(&p, 1, when), 0);
		EQ(p.revents, 0);
		OK(weft_now() >= when);
		when = weft_deadline(i * 100 * WEFT_US);
		EQ(weft_poll(NULL, 0, when), 0);
		OK(weft_now() >= when);
	}
	/* the past, and no wait */
	EQ(weft_try_poll(&p, 1), 0);
	EQ(weft_poll(&p, 1, -1), 0);
	EQ(weft_poll(&p, 1, INT64_MIN), 0);
	EQ(weft_try_poll(NULL, 0), 0);
	EQ(weft_write(end[1], "x", 1), 1);
	EQ(weft_poll(&p, 1, INT64_MIN), 1);
	wire_drop(end);
}

GTEST(too_many, 1)
{
	static struct pollfd p[65537];
	struct rlimit rl;
	size_t most = 65536;

	/* the kernel has its own limit */
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	if (rl.rlim_cur < most)
		most = rl.rlim_cur;
	for (int i = 0; i < 65537; i++)
		p[i] = want(-1, POLLIN);
	OK(weft_try_poll(p, 65537) < 0);
	EQ(weft_try_poll(p, most), 0);
	EQ(weft_poll(p, most, weft_deadline(WEFT_MS)), 0);
}

/* ---- closed ---- */

GTEST(closed_already, 1)
{
	struct pollfd p[3];
	int end[2], gone[2];

	wire(STREAM, end);
	wire(STREAM, gone);
	/* what weft needs for itself it has from here on */
	EQ(weft_wait_writable(gone[0]), 0);
	wire_drop(gone);
	p[0] = want(end[0], POLLIN);
	p[1] = want(gone[0], POLLIN);
	p[2] = want(1000, 0);
	EQ(weft_poll(p, 3, WEFT_NEVER), 2);
	EQ(p[0].revents, 0);
	EQ(p[1].revents, POLLNVAL);
	EQ(p[2].revents, POLLNVAL);
	wire_drop(end);
}

/* Nothing comes from a; b has these events. */
static void
poll_second(int a, int b, int events)
{
	struct pollfd p[] = { want(a, POLLIN), want(b, POLLIN) };

	EQ(weft_poll(p, 2, WEFT_NEVER), 1);
	EQ(p[0].revents, 0);
	EQ(p[1].revents, events);
	weft_waitgroup_done(&all);
}

static void
closed_while_waiting(void)
{
	int end[2], idle[2];

	for (int k = 0; k < WIRES; k++) {
		if (!wire_make(k, end))
			continue;
		wire(PIPE, idle);
		weft_waitgroup_add(&all, 6);
		for (int i = 0; i < 3; i++) {
			weft_go(poll_second, idle[0], end[0], POLLNVAL);
			weft_go(expect_readable, end[0], -EBADF, &all);
		}
		let_them_wait(6);
		EQ(weft_close(end[0]), 0);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[1]), 0);
		wire_drop(idle);
	}
}

ON_ALL(closed_while_waiting)

/*
 * Closed while a goroutine is about to wait for it, after it has looked: which
 * takes a while if it is the last of many. The others are one and the same.
 */
enum { BEFORE_IT = 900, MOMENTS = 200 };

struct closer {
	int fd;			/* -1: none yet */
	double after;		/* seconds */
	pthread_t thread;
};

/* A thread, which does not wait for its turn. */
static void *
close_at(void *arg)
{
	struct closer *c = arg;
	double when;
	int fd;

	while ((fd = __atomic_load_n(&c->fd, __ATOMIC_ACQUIRE)) < 0)
		;
	when = t_now() + c->after;
	while (t_now() < when)
		;
	EQ(weft_close(fd), 0);
	return NULL;
}

/* Polls n of them, which are all the same, and then fd. */
static int
poll_last(int other, int n, int fd, int64_t when)
{
	static struct pollfd p[BEFORE_IT + 1];
	int r;

	for (int i = 0; i < n; i++)
		p[i] = want(other, POLLIN);
	p[n] = want(fd, POLLIN);
	r = weft_poll(p, (size_t)n + 1, when);
	return r == 1 ? p[n].revents : r;
}

static void
closed_after(double after, int other)
{
	struct closer c = { .fd = -1, .after = after };
	int end[2];

	wire(STREAM, end);
	EQ(pthread_create(&c.thread, NULL, close_at, &c), 0);
	/* it is at it when this returns, mostly */
	EQ(poll_last(other, BEFORE_IT, end[0], 1), 0);
	__atomic_store_n(&c.fd, end[0], __ATOMIC_RELEASE);
	EQ(poll_last(other, BEFORE_IT, end[0], WEFT_NEVER), POLLNVAL);
	weft_blocking(thread_join, &c.thread);
	EQ(weft_close(end[1]), 0);
}

GTEST(closed_while_about_to_wait, 2)
{
	int n = (int)t_scale(MOMENTS), idle[2];
	double look;

	wire(STREAM, idle);
	EQ(poll_last(idle[0], BEFORE_IT, idle[0], 1), 0);
	look = t_now();
	EQ(poll_last(idle[0], BEFORE_IT, idle[0], 1), 0);
	look = t_now() - look;
	for (int i = 0; i < n; i++)
		closed_after(3 * look * i / n, idle[0]);
	wire_drop(idle);
}

/* ---- many ---- */

enum { MOST = 1000 };

static int
make_many(int (*ends)[2], int n)
{
	struct rlimit rl;

	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	getrlimit(RLIMIT_NOFILE, &rl);
	if ((int64_t)rl.rlim_cur < 2 * n + 100)
		n = (int)rl.rlim_cur / 2 - 50;
	for (int i = 0; i < n; i++)
		wire(STREAM, ends[i]);
	return n;
}

static void
poll_many(void)
{
	static int ends[MOST][2];
	static struct pollfd p[MOST];
	int n = make_many(ends, (int)t_scale(MOST)), rounds = 20;

	for (int r = 0; r < rounds; r++) {
		int k = (r * 7919 + 13) % n;
		char c;

		for (int i = 0; i < n; i++)
			p[i] = want(ends[i][0], POLLIN);
		weft_waitgroup_add(&all, 1);
		weft_go(write_when_awaited, ends[k][1], 'x', &all);
		EQ(weft_poll(p, (size_t)n, WEFT_NEVER), 1);
		for (int i = 0; i < n; i++)
			EQ(p[i].revents, i == k ? POLLIN : 0);
		weft_waitgroup_wait(&all);
		EQ(weft_read(ends[k][0], &c, 1), 1);
	}
	EQ(weft_poll(p, (size_t)n, weft_deadline(WEFT_MS)), 0);
	for (int i = 0; i < n; i++)
		EQ(weft_write(ends[i][1], "x", 1), 1);
	EQ(weft_poll(p, (size_t)n, WEFT_NEVER), n);
	for (int i = 0; i < n; i++)
		wire_drop(ends[i]);
}

GTEST(a_thousand_on_one, 1) { poll_many(); }
GTEST(a_thousand_on_four, 4) { poll_many(); }

/* Several poll the same ones, and one event wakes them all. */
GTEST(all_see_the_event, 2)
{
	int a[2], b[2];

	wire(PIPE, a);
	wire(TCP4, b);
	weft_waitgroup_add(&all, 20);
	for (int i = 0; i < 20; i++)
		weft_go(poll_second, a[0], b[0], POLLIN);
	let_them_wait(20);
	EQ(weft_write(b[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	wire_drop(a);
	wire_drop(b);
}

/* Beside a reader of the same: it gets the byte, or finds none and waits. */
static void
read_and_end(int fd)
{
	char c;

	while (weft_read(fd, &c, 1) == 1)
		;
	weft_waitgroup_done(&all);
}

static void
poll_until_end(int fd)
{
	struct pollfd p = want(fd, POLLIN | POLLRDHUP);

	do
		EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	while (!(p.revents & (POLLHUP | POLLRDHUP)));
	weft_waitgroup_done(&all);
}

GTEST(beside_readers, 2)
{
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 4);
	for (int i = 0; i < 2; i++) {
		weft_go(read_and_end, end[0]);
		weft_go(poll_until_end, end[0]);
	}
	for (long i = 0; i < t_scale(1000); i++) {
		EQ(weft_write(end[1], "x", 1), 1);
		weft_yield();
	}
	EQ(weft_close(end[1]), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[0]), 0);
}

/* ---- wait_readable, wait_writable ---- */

static void
wait_for_one(int k, int rd, int wr)
{
	char c;

	(void)k;
	EQ(weft_wait_writable(wr), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(write_when_awaited, wr, 'x', &all);
	EQ(weft_wait_readable(rd), 0);
	EQ(weft_wait_readable(rd), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(weft_set_read_deadline(rd, weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_wait_readable(rd), -ETIMEDOUT);
	EQ(weft_wait_readable(rd), -ETIMEDOUT);
	EQ(weft_wait_writable(wr), 0);
	EQ(weft_set_write_deadline(wr, weft_deadline(-1)), 0);
	EQ(weft_wait_writable(wr), -ETIMEDOUT);
}

GTEST(wait_for_one_on_one, 1) { wire_each(wait_for_one); }
GTEST(wait_for_one_on_four, 4) { wire_each(wait_for_one); }

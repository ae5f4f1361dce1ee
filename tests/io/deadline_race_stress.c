/* SPDX-License-Identifier: MIT */
/*
 * Tiny deadlines against data that arrives at the same time: a call gives one
 * or the other, never early, and no byte is lost or seen twice.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <unistd.h>

#include "slow_bytes.h"

static long timeouts;		/* atomic */

/* One byte, or -ETIMEDOUT, in one of the ways to get it. */
static ssize_t
get(int fd, char *c, int how)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	switch (how) {
	case 0:
		r = weft_wait_readable(fd);
		return r ? r : weft_read(fd, c, 1);
	case 1:
		weft_poll(&p, 1, weft_deadline(20 * WEFT_US));
		return weft_read(fd, c, 1);
	case 2:
		return weft_read_full(fd, c, 1, NULL);
	default:
		return weft_read(fd, c, 1);
	}
}

static void
read_impatiently(int fd, long n, unsigned seed)
{
	char c = 0;

	for (long i = 0; i < n;) {
		int64_t when = weft_deadline(rand_r(&seed) % 60 * WEFT_US);
		ssize_t r;

		EQ(weft_set_read_deadline(fd, when), 0);
		r = get(fd, &c, rand_r(&seed) % 8);
		if (r == -ETIMEDOUT) {
			OK(weft_now() >= when);
			__atomic_add_fetch(&timeouts, 1, __ATOMIC_RELAXED);
			continue;
		}
		if (!take_next(r, c, &i))
			break;
	}
	weft_waitgroup_done(&all);
}

static void
against_data(void)
{
	timeouts = reads = 0;
	read_from_all_kinds(read_impatiently, t_scale(3000), 50);
	fprintf(stderr, "# %ld reads, %ld timeouts\n", reads, timeouts);
	OK(timeouts > 0);
}

GTEST(against_data_on_one, 1) { against_data(); }
GTEST(against_data_on_two, 2) { against_data(); }
GTEST(against_data_on_eight, 8) { against_data(); }

/* ---- set by others, in a loop ---- */

static bool over;

static void
flip(int fd, unsigned seed)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		switch (rand_r(&seed) % 4) {
		case 0: weft_set_read_deadline(fd, WEFT_NEVER); break;
		case 1: weft_set_read_deadline(fd, -1); break;
		case 2: weft_set_deadline(fd,
		    weft_deadline(30 * WEFT_US)); break;
		case 3: weft_set_read_deadline(fd,
		    weft_deadline(WEFT_SECOND)); break;
		}
		weft_yield();
	}
	EQ(weft_set_deadline(fd, WEFT_NEVER), 0);
	weft_waitgroup_done(&all);
}

static void
read_stubbornly(int fd, long n)
{
	char c = 0;

	for (long i = 0; i < n;) {
		ssize_t r = weft_read(fd, &c, 1);

		if (r == -ETIMEDOUT) {
			weft_yield();
			continue;
		}
		if (!take_next(r, c, &i))
			break;
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

static void
set_by_others(int k, long n)
{
	int end[2];

	if (!wire_make(k, end))
		return;
	over = false;
	weft_waitgroup_add(&all, 4);
	weft_go(write_slowly, end[1], n, (unsigned)k, 50);
	weft_go(read_stubbornly, end[0], n);
	weft_go(flip, end[0], (unsigned)k + 1);
	weft_go(flip, end[0], (unsigned)k + 2);
	weft_waitgroup_wait(&all);
	wire_drop(end);
}

static void
set_by_others_all(void)
{
	for (int k = 0; k < UDP4; k++)
		set_by_others(k, t_scale(500));
}

GTEST(set_by_others_on_one, 1) { set_by_others_all(); }
GTEST(set_by_others_on_two, 2) { set_by_others_all(); }
GTEST(set_by_others_on_eight, 8) { set_by_others_all(); }

/* ---- deadlines against closing, and against a beginning ---- */

static void
read_any_end(int fd)
{
	char c;
	ssize_t r = weft_read(fd, &c, 1);

	OK(r == -ETIMEDOUT || r == -EBADF);
	weft_waitgroup_done(&all);
}

static void
close_soon(int fd, int64_t ns)
{
	weft_sleep(ns);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
against_closing(void)
{
	unsigned seed = 5;

	for (long i = 0; i < t_scale(2000); i++) {
		int end[2], low;

		wire(i % 2 ? STREAM : PIPE, end);
		/* A number that is not given out again when it is closed: one
		 * may begin to read after that. */
		low = end[0];
		end[0] = fcntl(low, F_DUPFD_CLOEXEC, 600);
		close(low);
		weft_waitgroup_add(&all, 4);
		weft_go(read_any_end, end[0]);
		if (rand_r(&seed) % 2)
			weft_go(read_any_end, end[0]);
		else
			OK(weft_go_readable(end[0], read_any_end, end[0]) > 0);
		weft_go(read_any_end, end[0]);
		EQ(weft_set_read_deadline(end[0],
		    weft_deadline(rand_r(&seed) % 60 * WEFT_US)), 0);
		weft_go(close_soon, end[0], rand_r(&seed) % 60 * WEFT_US);
		weft_waitgroup_wait(&all);
		EQ(weft_close(end[1]), 0);
	}
}

GTEST(against_closing_on_one, 1) { against_closing(); }
GTEST(against_closing_on_two, 2) { against_closing(); }
GTEST(against_closing_on_eight, 8) { against_closing(); }

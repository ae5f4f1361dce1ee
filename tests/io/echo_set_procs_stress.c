/* SPDX-License-Identifier: MIT */
/*
 * Echoes while the number of processors changes, and while goroutines move to
 * another thread all the time. Each round trip is checked, and all end.
 */
#define _GNU_SOURCE 1
#include "connection.h"
#include "fd_expect.h"
#include "run_env.h"

enum { PAIRS = 16 };

static weft_waitgroup all;
static long stop, turns;

/* As echo_and_close, each time with a goroutine that begins then. */
static void
answer_anew(int fd)
{
	char buf[256];
	ssize_t n = weft_read(fd, buf, sizeof buf);

	OK(n >= 0);
	if (n > 0) {
		EQ(weft_write_full(fd, buf, (size_t)n, NULL), n);
		OK(weft_go_readable(fd, answer_anew, fd) > 0);
		return;
	}
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
ask(int fd)
{
	for (long i = 0; !get(&stop); i++) {
		long got = -1;

		EQ(weft_write_full(fd, &i, sizeof i, NULL), sizeof i);
		EQ(weft_read_full(fd, &got, sizeof got, NULL), sizeof got);
		if (got != i) {
			EQ(got, i);
			break;
		}
		bump(&turns);
	}
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
start_echoes(void)
{
	weft_waitgroup_add(&all, 2 * PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		int fd[2];

		(i % 2 ? tcp_pair : unix_pair)(fd);
		if (i % 4 < 2)
			weft_go(echo_and_close, fd[0], &all);
		else
			OK(weft_go_readable(fd[0], answer_anew, fd[0]) > 0);
		weft_go(ask, fd[1]);
	}
}

static void
end_echoes(void)
{
	long seen = get(&turns);

	/* They still go on. */
	await(&turns, seen + 2 * PAIRS);
	bump(&stop);
	weft_waitgroup_wait(&all);
	printf("# %ld round trips\n", turns);
	fflush(stdout);
	EQ(io_now().open, 0);
}

static void
resize(void)
{
	static const int to[] = { 1, 8, 2, 3, 1, 2, 16, 4 };

	start_echoes();
	for (unsigned i = 0; t_more(1); i++) {
		OK(weft_set_procs(to[i % 8]) > 0);
		await(&turns, get(&turns) + (i % 3) * 10);
	}
	end_echoes();
}

/* As fast as it can be, so that many a step is cut short. */
static void
resize_fast(void)
{
	start_echoes();
	for (int i = 0; t_more(1); i++)
		OK(weft_set_procs(i % 2 ? 1 : 4) > 0);
	end_echoes();
}

static void
steady(void)
{
	start_echoes();
	while (t_more(1))
		weft_sleep(WEFT_MS);
	end_echoes();
}

GTEST(resized, 2) { resize(); }
GTEST(resized_fast, 2) { resize_fast(); }
ETEST(resized_migrating, 2, "WEFT_MIGRATE=1") { resize(); }
ETEST(resized_in_short_slices, 2, "WEFT_SLICE_US=50") { resize(); }
ETEST(migrating_on_4, 4, "WEFT_MIGRATE=1") { steady(); }
ETEST(short_slices_on_4, 4, "WEFT_SLICE_US=50") { steady(); }
GTEST(steady_on_1, 1) { steady(); }
GTEST(steady_on_8, 8) { steady(); }

/* SPDX-License-Identifier: MIT */
/*
 * Descriptors in the child of a fork: they work there, and what the child does
 * with them is nothing to the parent.
 */
#define _GNU_SOURCE 1
#include <sys/wait.h>

#include "fd_expect.h"
#include "fd_pairs.h"

static weft_waitgroup all;

/* What the child gives to _exit; a child that hangs is killed by itself. */
static int
result_of(int (*child)(int fd), int fd)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		alarm(20);
		_exit(child(fd));
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		weft_sleep(WEFT_MS);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
close_it(int fd)
{
	if (weft_close(fd) != 0)
		return 1;
	return fcntl(fd, F_GETFD) < 0 ? 0 : 2;
}

/*
 * The parent waits for what the child closes. A child that took it away from
 * the parent's poller would be found out after a second: that is counted.
 */
static void
child_closes(int k, int rd, int wr)
{
	weft_io_stats s;

	(void)k;
	weft_waitgroup_add(&all, 2);
	weft_go(expect_byte, rd, 'x', &all);
	OK(weft_go_readable(rd, expect_byte, rd, 'x', &all) > 0);
	let_them_wait(2);
	EQ(result_of(close_it, rd), 0);
	EQ(weft_write(wr, "x", 1), 1);
	EQ(weft_write(wr, "x", 1), 1);
	weft_waitgroup_wait(&all);
	weft_io_stats_read(&s, sizeof s);
	EQ(s.repaired, 0);
}

GTEST(a_child_closes_on_one, 1) { wire_each(child_closes); }
GTEST(a_child_closes_on_four, 4) { wire_each(child_closes); }

static int
threads(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int n = 0;

	while (f && fgets(line, sizeof line, f) &&
	    sscanf(line, "Threads: %d", &n) != 1)
		;
	return n;
}

/* What was inherited, and what is new, with waits and a deadline. */
static int
use_some(int fd)
{
	int end[2], before = threads();
	char c;

	wire(STREAM, end);
	if (weft_write(end[1], "n", 1) != 1 || weft_read(end[0], &c, 1) != 1)
		return 1;
	weft_set_read_deadline(end[0], weft_deadline(WEFT_MS));
	if (weft_read(end[0], &c, 1) != -ETIMEDOUT)
		return 2;
	weft_set_read_deadline(fd, weft_deadline(WEFT_MS));
	if (weft_read(fd, &c, 1) != -ETIMEDOUT)
		return 3;
	if (weft_close(end[0]) != 0 || weft_close(end[1]) != 0)
		return 4;
	/* nothing of the scheduler has begun to run */
	return threads() == before ? 0 : 5;
}

static void
child_uses(int k, int rd, int wr)
{
	weft_waitgroup_add(&all, 1);
	weft_go(expect_byte, rd, 'x', &all);
	let_them_wait(1);
	EQ(result_of(use_some, rd), 0);
	EQ(weft_write(wr, "x", 1), 1);
	weft_waitgroup_wait(&all);
	(void)k;
}

GTEST(a_child_reads_and_writes, 2) { wire_each(child_uses); }

/* Before anything has waited here, and before the second P had a thread. */
GTEST(a_child_at_once, 2)
{
	int end[2];

	wire(PIPE, end);
	EQ(result_of(use_some, end[0]), 0);
	wire_drop(end);
}

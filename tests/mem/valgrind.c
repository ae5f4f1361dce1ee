/* SPDX-License-Identifier: MIT */
/*
 * A program under valgrind: it runs and nothing is reported; and what a
 * goroutine does wrong is. The tests whose names begin with `within` are what
 * valgrind runs: they do nothing otherwise.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "connection.h"

enum { REPORTED = 9 };

/* Runs one of the tests below; what it said is in buf. Its status. */
static int
run_within(const char *name, char *buf, size_t cap)
{
	char self[512] = "";
	int fd[2], status = 0;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	NEED(pipe(fd));
	OK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	pid = NEED(fork());
	if (pid == 0) {
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		close(fd[0]);
		execlp("valgrind", "valgrind", "-q", "--error-exitcode=9",
		    "--leak-check=no", self, name, (char *)NULL);
		_exit(127);
	}
	NEED(close(fd[1]));
	while (n < cap - 1 && (r = read(fd[0], buf + n, cap - 1 - n)) > 0)
		n += (size_t)r;
	buf[n] = 0;
	NEED(close(fd[0]));
	EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void
need_valgrind(void)
{
	char said[16384];

	if (T_SANITIZED || t_emulated() || t_valgrind())
		t_skip("not with others that look on");
	/* It may not know what a compiler writes for debuggers. */
	run_within("no such test", said, sizeof said);
	if (strcmp(said, "1..0\n") != 0)
		t_skip("no valgrind, or none that runs this program");
}

static void
is_clean(const char *name)
{
	char said[16384];

	need_valgrind();
	EQ(run_within(name, said, sizeof said), 0);
	if (strstr(said, "not ok") || strstr(said, "=="))
		t_fail(__FILE__, __LINE__, said);
	OK(strstr(said, "ok 1 - "));
}

static void
is_reported(const char *name, const char *what)
{
	char said[16384];

	need_valgrind();
	run_within(name, said, sizeof said);
	if (!strstr(said, "not ok") || !strstr(said, what))
		t_fail(__FILE__, __LINE__, said);
}

/* ---- what is run ---- */

static weft_waitgroup all;
static volatile long sink;

/* Uses some stack, all of it set. */
__attribute__((noinline)) static long
dig(int depth)
{
	volatile long frame[32];

	for (int i = 0; i < 32; i++)
		frame[i] = depth;
	if (depth == 0)
		return 0;
	if (depth % 4 == 0)
		weft_yield();
	return dig(depth - 1) + frame[depth % 32];
}

static void
add(weft_chan *c)
{
	long v;

	while (weft_chan_recv(c, &v) == 1)
		sink += v + dig((int)v % 50);
	weft_waitgroup_done(&all);
}

GTEST(within_a_program, 3)
{
	weft_chan *c = weft_chan_make(sizeof(long), 4);

	if (!t_valgrind())
		return;
	weft_waitgroup_add(&all, 200);
	for (int i = 0; i < 200; i++)
		weft_go(add, c);
	for (long i = 0; i < 2000; i++)
		weft_chan_send(c, &i);
	weft_chan_close(c);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
}

static void
block(weft_waitgroup *until)
{
	sink += dig(20);
	weft_waitgroup_wait(until);
	weft_waitgroup_done(&all);
}

/* More than can have a guard there; and stacks that are given back. */
GTEST(within_many_stacks, 2)
{
	static weft_waitgroup until;

	if (!t_valgrind())
		return;
	weft_waitgroup_add(&until, 1);
	weft_waitgroup_add(&all, 5000);
	for (int i = 0; i < 5000; i++)
		weft_go(block, &until);
	weft_sleep(100 * WEFT_MS);
	weft_waitgroup_done(&until);
	weft_waitgroup_wait(&all);
	/* The scavenger lays them bare in its second round, mostly. */
	weft_sleep(5500 * WEFT_MS);
	weft_waitgroup_add(&all, 100);
	for (int i = 0; i < 100; i++)
		weft_go(block, &until);
	weft_waitgroup_wait(&all);
}

static void
compute(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
	weft_waitgroup_done(&all);
}

/* Would be preempted, by signals. */
GTEST(within_loops, 1)
{
	if (!t_valgrind())
		return;
	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		weft_go(compute, 2000000L);
	weft_waitgroup_wait(&all);
}

static void
use_freed(char *volatile p)
{
	free(p);
	weft_yield();
	sink += p[3];
	weft_waitgroup_done(&all);
}

GTEST(within_freed, 2)
{
	if (!t_valgrind())
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(use_freed, malloc(10));
	weft_waitgroup_wait(&all);
}

static void
use_unset(void)
{
	volatile long unset[4];

	weft_yield();
	if (unset[2] == 77)
		sink++;
	weft_waitgroup_done(&all);
}

GTEST(within_unset, 2)
{
	if (!t_valgrind())
		return;
	weft_waitgroup_add(&all, 1);
	weft_go(use_unset);
	weft_waitgroup_wait(&all);
}

/* ---- the tests ---- */

TEST(nothing_is_reported) { is_clean("within_a_program"); }
TEST(of_many_stacks) { is_clean("within_many_stacks"); }
TEST(of_loops) { is_clean("within_loops"); }

TEST(freed_memory_is)
{
	if (!getauxval(AT_BASE))
		t_skip("valgrind does not see malloc in a static program");
	is_reported("within_freed", "use_freed");
}

TEST(unset_memory_is) { is_reported("within_unset", "use_unset"); }

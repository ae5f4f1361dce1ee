/* SPDX-License-Identifier: MIT */
/* WEFT_DEBUG=schedtrace: lines about the scheduler on standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "run_env.h"
#include "stderr_text.h"
#include "t.h"

static struct stderr_text captured;
static weft_waitgroup gate, all;

static void
pass_gate(void)
{
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

/* n goroutines wait until open_gate. */
static void
close_gate(int n)
{
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go_opt(WEFT_OPT(.name = "waits"), pass_gate);
}

static void
open_gate(void)
{
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

static int
times(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

/* Waits until so many of them were printed; to be freed. */
static char *
printed(const char *word, int least)
{
	char *text = stderr_so_far(&captured);

	while (times(text, word) < least) {
		free(text);
		weft_sleep(5 * WEFT_MS);
		text = stderr_so_far(&captured);
	}
	return text;
}

static void
run_captured(int procs, const char *env, void (*fn)(void))
{
	captured = stderr_begin();
	run_env(procs, env, fn);
	free(stderr_end(&captured));
}

#define PROCS 3
#define FORMAT "SCHED %ldms: procs=%d idleprocs=%d threads=%d " \
	"spinningthreads=%d needthread=%d idlethreads=%d runqueue=%d [%d %d %d]"

/* One line, whose figures must be possible; when it was. */
static long
is_line(const char *s)
{
	int procs, idle_p, threads, spin, need, idle_m, global, q[PROCS];
	long ms = 0;

	EQ(sscanf(s, FORMAT, &ms, &procs, &idle_p, &threads, &spin, &need,
	    &idle_m, &global, &q[0], &q[1], &q[2]), 11);
	EQ(procs, PROCS);
	OK(idle_p >= 0 && idle_p <= PROCS);
	OK(threads >= 0 && idle_m <= threads && idle_m >= 0);
	OK(spin >= 0 && spin <= PROCS && (need == 0 || need == 1));
	OK(global >= 0 && q[0] >= 0 && q[1] >= 0 && q[2] >= 0);
	return ms;
}

static void
read_lines(void)
{
	char *text = printed("]\n", 4), *line, *rest = NULL;
	long last = -1, n = 0;

	for (line = strtok_r(text, "\n", &rest); line && n < 4;
	    line = strtok_r(NULL, "\n", &rest), n++) {
		long ms = is_line(line);

		/* One that is late may be in the same ms as the next. */
		OK(ms >= last && ms >= n * 20);
		last = ms;
	}
	free(text);
}

TEST(a_line_each_period)
{
	run_captured(PROCS, "WEFT_DEBUG=schedtrace=20", read_lines);
}

static void
read_detail(void)
{
	char *text;

	close_gate(5);
	text = printed("status=waiting(waitgroup wait) m=nil \"waits\" "
	    "(pass_gate, spawned at ", 10);
	OK(times(text, "\n  P0: status=") >= 2);
	OK(times(text, "\n  P1: status=") >= 2);
	OK(times(text, "\n  M") >= 2);
	OK(times(text, "\n  G1: status=") >= 2);
	OK(strstr(text, " goroutines=6 urgent="));
	OK(strstr(text, "(the main goroutine)\n"));
	free(text);
	open_gate();
}

TEST(detail)
{
	run_captured(2, "WEFT_DEBUG=schedtrace=20,scheddetail=1", read_detail);
}

static void
read_none(void)
{
	char *text;

	weft_sleep(20 * WEFT_MS);
	text = stderr_so_far(&captured);
	OK(!strstr(text, "SCHED"));
	free(text);
}

TEST(off_by_itself)
{
	run_captured(1, "WEFT_DEBUG=scheddetail=1", read_none);
	unsetenv("WEFT_DEBUG");
}

/* ---- what it must not disturb ---- */

static long stop, turns;

static void
computes(void)
{
	compute(&stop);
	bump(&turns);
	weft_waitgroup_done(&all);
}

/* Endless goroutines on one P lose it: the monitor works. */
static void
hogs_are_stopped(void)
{
	weft_waitgroup_add(&all, 2);
	weft_go(computes);
	weft_go(computes);
	for (int i = 0; i < 5; i++)
		weft_sleep(30 * WEFT_MS);
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(get(&turns), 2);
}

/* Standard error is a pipe that is full and that no process reads. */
TEST(standard_error_blocks)
{
	char block[4096] = "";
	int fds[2], saved = dup(2);

	EQ(pipe(fds), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	while (write(fds[1], block, sizeof block) > 0)
		;
	fcntl(fds[1], F_SETFL, 0);
	dup2(fds[1], 2);
	run_env(1, "WEFT_DEBUG=schedtrace=1,scheddetail=1", hogs_are_stopped);
	dup2(saved, 2);
}

TEST(standard_error_is_full)
{
	int fd = open("/dev/full", O_WRONLY), saved = dup(2);

	if (fd < 0)
		t_skip("no /dev/full");
	dup2(fd, 2);
	run_env(1, "WEFT_DEBUG=schedtrace=1", hogs_are_stopped);
	dup2(saved, 2);
}

/* Its thread is no reason against a deadlock. */
static void
wait_forever(void)
{
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_wait(&gate);
}

DIES(deadlock_is_still_found, 0, "all goroutines are asleep: deadlock")
{
	if (t_emulated())
		t_skip("the emulator has threads of its own");
	run_env(2, "WEFT_DEBUG=schedtrace=5", wait_forever);
}

/* SPDX-License-Identifier: MIT */
/*
 * The child of a vfork has the memory of its parent, but descriptors of its
 * own: what it closes is open in the parent. And no goroutine may run there.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft.h>

#include "child_process.h"
#include "connection.h"
#include "counter.h"
#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

/* libc's getpid may not know of the child. */
static int
own_pid(void)
{
	return (int)syscall(SYS_getpid);
}

/* ---- the parent's waits ---- */

static void
read_byte(int fd)
{
	char c = 0;

	EQ(read(fd, &c, 1), 1);
	EQ(c, 'x');
}

/* Another number for what one waits for, and another file for that number. */
static __attribute__((__noinline__)) pid_t
close_in_child(const int *closed, const int *replaced)
{
	pid_t pid = vfork();

	if (pid == 0) {
		close(closed[0]);
		dup2(replaced[1], replaced[0]);
		_exit(0);
	}
	return pid;
}

static void
waits_stay(void)
{
	weft_waitgroup wg = {0};
	int closed[2], replaced[2];

	/* a wait that was ended is an error, not the end of the test */
	signal(SIGPIPE, SIG_IGN);
	EQ(pipe(closed), 0);
	EQ(pipe(replaced), 0);
	weft_waitgroup_go(&wg, read_byte, closed[0]);
	weft_waitgroup_go(&wg, read_byte, replaced[0]);
	await_waiting(2);
	EQ(exit_status(close_in_child(closed, replaced)), 0);
	EQ(io_now().waiting, 2);
	EQ(write(closed[1], "x", 1), 1);
	EQ(write(replaced[1], "x", 1), 1);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < 2; i++) {
		EQ(close(closed[i]), 0);
		EQ(close(replaced[i]), 0);
	}
}

GTEST(waits_of_the_parent, 1) { waits_stay(); }
GTEST(waits_of_the_parent_on_two, 2) { waits_stay(); }

/* ---- a wait in the child ---- */

static int parent, child, stop, in_child, line[2];

/* The kernel's letter for what that process does. */
static char
process_state(int pid)
{
	char path[64], text[512] = {0};
	const char *end;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(text, sizeof text, f))
		text[0] = '\0';
	fclose(f);
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Writes when the child waits; if it does not return then it is ended. */
static void *
answer(void *arg)
{
	int pid;

	while ((pid = counter_get(&child)) == 0 || process_state(pid) != 'S')
		usleep(1000);
	EQ(write(line[1], "x", 1), 1);
	for (double end = t_now() + 15; t_now() < end; usleep(1000))
		if (counter_get(&stop))
			return arg;
	kill(pid, SIGKILL);
	return arg;
}

static __attribute__((__noinline__)) pid_t
read_in_child(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		char c = 0;

		counter_set(&child, own_pid());
		_exit(read(line[0], &c, 1) == 1 && c == 'x' ? 0 : 1);
	}
	return pid;
}

/* One of many goroutines that are ready. */
static void
run_in_parent(void)
{
	while (!counter_get(&stop)) {
		if (own_pid() != parent) {
			counter_add(&in_child, 1);
			syscall(SYS_exit_group, 3);
		}
		weft_yield();
	}
}

static void
read_there(void)
{
	weft_waitgroup wg = {0};
	pthread_t t;
	pid_t pid;

	parent = own_pid();
	EQ(pipe(line), 0);
	for (int i = 0; i < 8; i++)
		weft_waitgroup_go(&wg, run_in_parent);
	weft_yield();
	t = thread_start(answer, NULL);
	pid = read_in_child();
	EQ(exit_status(pid), 0);
	counter_set(&stop, 1);
	EQ(counter_get(&in_child), 0);
	weft_waitgroup_wait(&wg);
	weft_blocking(thread_join, &t);
}

GTEST(read_in_the_child, 1) { read_there(); }
GTEST(read_in_the_child_on_two, 2) { read_there(); }

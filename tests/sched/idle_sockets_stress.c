/* SPDX-License-Identifier: MIT */
/*
 * A program whose goroutines all wait for descriptors makes no system calls
 * and uses no CPU, once it has seen to it that none was closed behind its
 * back, which takes some seconds. It still hears what comes.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <pthread.h>

#include "connection.h"
#include "fd_expect.h"
#include "quiescence.h"

enum { EACH = 20, ALL = 5 * EACH };

static int pair[ALL][2];
static weft_waitgroup all;

static void
hear(int fd)
{
	check_byte(fd, 'x');
	weft_waitgroup_done(&all);
}

static void
hear_in_time(int fd)
{
	EQ(weft_set_read_deadline(fd, weft_deadline(3600 * WEFT_SECOND)), 0);
	hear(fd);
}

/* Has been busy before. */
static void
hear_again(int fd, int other)
{
	for (int i = 0; i < 100; i++) {
		EQ(weft_write(other, "y", 1), 1);
		EQ(weft_read(fd, (char[1]){0}, 1), 1);
	}
	hear(fd);
}

static void
hear_of_one(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	hear(fd);
}

/* Has it make more threads than it needs; they end while all is quiet. */
static void *
nap(void *arg)
{
	sleep_for(0.02);
	return arg;
}

static void
naps(weft_waitgroup *wg)
{
	weft_blocking(nap, NULL);
	weft_waitgroup_done(wg);
}

static void
have_been_busy(void)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 16);
	for (int i = 0; i < 16; i++)
		weft_go(naps, &wg);
	weft_waitgroup_wait(&wg);
}

/* So many wait in each way; without deadlines no timer is set at all. */
static bool deadlines;

static void
start(void)
{
	have_been_busy();
	weft_waitgroup_add(&all, ALL);
	for (int i = 0; i < ALL; i++) {
		int *fd = pair[i];

		(i % 2 ? tcp_pair : unix_pair)(fd);
		switch (i / EACH) {
		case 0: weft_go(hear, fd[0]); break;
		case 1: weft_go(deadlines ? hear_in_time : hear, fd[0]); break;
		case 2: weft_go(hear_again, fd[0], fd[1]); break;
		case 3: weft_go(hear_of_one, fd[0]); break;
		default: OK(weft_go_readable(fd[0], hear, fd[0]) > 0);
		}
	}
	await_waiting(ALL);
}

/*
 * For some seconds it looks, once a second, whether a descriptor was closed
 * behind its back. Returns when nothing has moved for longer than that, or
 * much too late.
 */
static void
calm_down(void)
{
	long before = -1, now;

	settle();
	now = activity();
	for (int i = 0; i < 8 && now != before; i++) {
		sleep_for(1.2);
		before = now;
		now = activity();
	}
}

/* All of them are still there. */
static void
speak(void)
{
	for (int i = 0; i < ALL; i++)
		EQ(write(pair[i][1], "x", 1), 1);
}

static void *
watch(void *moved)
{
	calm_down();
	*(long *)moved = activity_in(2);
	speak();
	return NULL;
}

static void *
mark(void *arg)
{
	calm_down();
	mark_for(2);
	speak();
	return arg;
}

static void
idle_program(void *(*thread)(void *), void *arg)
{
	start();
	wait_watched(&all, thread, arg);
}

GTEST(no_thread_moves, 4)
{
	deadlines = true;
	check_idle(idle_program, watch);
}

/* Fewer processors: threads end, also the one that waits for the network. */
static void *
shrink(void *arg)
{
	weft_stats s;

	calm_down();
	OK(weft_set_procs(1) > 0);
	do {
		sleep_for(0.1);
		weft_stats_read(&s, sizeof s);
	} while (s.threads > 1);
	speak();
	return arg;
}

GTEST(heard_by_fewer_threads, 8)
{
	idle_program(shrink, NULL);
}

GTEST(traced, 2)
{
	only_traced();
	deadlines = true;
	idle_program(mark, NULL);
}

TEST(strace_sees_nothing)
{
	EQ(trace("traced"), 0);
}

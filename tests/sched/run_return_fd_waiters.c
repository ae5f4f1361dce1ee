/* SPDX-License-Identifier: MIT */
/*
 * weft_run returns while goroutines wait for descriptors, in every way, or go
 * on reading and writing. The process goes on, and its descriptors are as good
 * as before.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <pthread.h>

#include "connection.h"
#include "run_env.h"

static int pair[8][2], listener;
static long turns;

static void
reads(int fd)
{
	char c;

	weft_read(fd, &c, 1);
	OK(!"woken");
}

static void
writes(int fd)
{
	static const char zeros[65536];

	while (weft_write(fd, zeros, sizeof zeros) > 0)
		;
	OK(!"woken");
}

static void
accepts(int fd)
{
	weft_accept(fd, NULL, NULL);
	OK(!"woken");
}

static void
polls(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	weft_poll(&p, 1, weft_deadline(3600 * WEFT_SECOND));
	OK(!"woken");
}

static void
echoes(int fd)
{
	char c;

	while (weft_read(fd, &c, 1) == 1 && weft_write(fd, &c, 1) == 1)
		bump(&turns);
}

static int
main_that_leaves(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int i = 0; i < 8; i++)
		unix_pair(pair[i]);
	listener = plain_listen(1, 4);
	weft_go(reads, pair[0][0]);
	EQ(weft_set_read_deadline(pair[1][0],
	    weft_deadline(3600 * WEFT_SECOND)), 0);
	weft_go(reads, pair[1][0]);
	weft_go(writes, pair[2][0]);
	weft_go(accepts, listener);
	weft_go(polls, pair[3][0]);
	OK(weft_go_readable(pair[4][0], reads, pair[4][0]) > 0);
	await_waiting(6);
	weft_go(echoes, pair[5][0]);
	weft_go(echoes, pair[5][1]);
	EQ(weft_write(pair[5][0], "e", 1), 1);
	await(&turns, 10);
	return 12;
}

/* No goroutine takes what arrives now, and no thread of weft burns the CPU. */
static void
use_plainly(void)
{
	char c;

	EQ(write(pair[0][1], "0", 1), 1);
	EQ(write(pair[1][1], "1", 1), 1);
	EQ(write(pair[4][1], "4", 1), 1);
	for (int i = 0; i < 2; i++) {
		EQ(read(pair[i][0], &c, 1), 1);
		EQ(c, '0' + i);
	}
	EQ(read(pair[4][0], &c, 1), 1);
	EQ(write(pair[6][1], "6", 1), 1);
	EQ(read(pair[6][0], &c, 1), 1);
}

/* The calls of weft still work, on this thread, as the system's do. */
static void
use_with_weft(void)
{
	char c = 0;

	EQ(weft_write(pair[7][1], "7", 1), 1);
	EQ(weft_read(pair[7][0], &c, 1), 1);
	EQ(c, '7');
	EQ(weft_set_read_deadline(pair[7][0], weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(pair[7][0], &c, 1), -ETIMEDOUT);
	EQ(weft_close(pair[7][0]), 0);
	EQ(weft_read(pair[7][0], &c, 1), -EBADF);
}

static void
leave(int procs)
{
	weft_config c = { .procs = procs };

	EQ(weft_run_config(&c, sizeof c, main_that_leaves, 0, NULL), 12);
	use_plainly();
	use_with_weft();
}

TEST(left_on_1) { leave(1); }
TEST(left_on_2) { leave(2); }
TEST(left_on_8) { leave(8); }

/* A thread that waits in one of these calls when the runtime ends. */
static void *
thread_reads(void *arg)
{
	char c = 0;

	EQ(weft_read(pair[0][0], &c, 1), 1);
	EQ(c, 't');
	return arg;
}

static pthread_t thread;

static void
start_thread(void)
{
	unix_pair(pair[0]);
	NEED(-pthread_create(&thread, NULL, thread_reads, NULL));
	weft_sleep(5 * WEFT_MS);
}

/* Its bytes come later, and it gets them. */
TEST(a_thread_still_waits)
{
	run_env(2, NULL, start_thread);
	EQ(write(pair[0][1], "t", 1), 1);
	pthread_join(thread, NULL);
}

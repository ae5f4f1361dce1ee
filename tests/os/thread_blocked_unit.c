/* SPDX-License-Identifier: MIT */
/*
 * How the monitor sees whether a thread sleeps: through files that it keeps
 * open, out of everybody's way, and only as long as it needs them.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fdcall.h"
#include "memory_limit.h"
#include "os.h"
#include "t.h"

enum { MANY = 40 };

static a32 stop;
static a32 tid_of[MANY];

/* Sleeps until it is told to end; says its thread id. */
static void *
sleeper(void *arg)
{
	a32 *tid = arg;

	a_store_rel(tid, (uint32_t)os_thread_id());	/* pairs with start */
	os_futex_wake(tid, 1);
	while (!a_load_relaxed(&stop))
		os_futex_wait(&stop, 0, FOREVER);
	return NULL;
}

static int
start(pthread_t *t, a32 *tid)
{
	EQ(pthread_create(t, NULL, sleeper, tid), 0);
	while (!a_load_acq(tid))	/* pairs with sleeper */
		os_futex_wait(tid, 0, FOREVER);
	return (int)a_load_relaxed(tid);
}

static void
end(pthread_t t)
{
	a_store_relaxed(&stop, 1);
	os_futex_wake(&stop, 1);
	pthread_join(t, NULL);
	a_store_relaxed(&stop, 0);
}

/* It is on its way to sleep. */
static void
await_asleep(int tid)
{
	while (os_thread_blocked(tid) != 1)
		os_thread_yield();
}

static int
open_numbers(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The lowest that is in use from `from` on. */
static int
next_open(int from)
{
	while (fcntl(from, F_GETFD) < 0)
		from++;
	return from;
}

static int
lowest_free(void)
{
	int fd = dup(0);

	OK(fd >= 0);
	close(fd);
	return fd;
}

static void
no_more_numbers(bool really)
{
	limit_resource(RLIMIT_NOFILE, really ? 0 : RLIM_INFINITY);
}

TEST(a_thread_that_runs)
{
	EQ(os_thread_blocked(os_thread_id()), 0);
	EQ(os_thread_blocked(os_thread_id()), 0);
}

TEST(nothing_is_opened_the_second_time)
{
	pthread_t t;
	int tid = start(&t, &tid_of[0]), low = lowest_free();
	int n = open_numbers();

	await_asleep(tid);
	EQ(open_numbers(), n + 1);
	EQ(lowest_free(), low);
	no_more_numbers(true);
	EQ(os_thread_blocked(tid), 1);
	no_more_numbers(false);
	end(t);
}

/* Not before a whole round without it. */
TEST(forgotten_when_not_asked_for)
{
	pthread_t t;
	int tid = start(&t, &tid_of[0]), n = open_numbers();

	await_asleep(tid);
	os_thread_blocked_close(false);
	EQ(open_numbers(), n + 1);
	os_thread_blocked_close(false);
	EQ(open_numbers(), n);
	await_asleep(tid);
	os_thread_blocked_close(true);
	EQ(open_numbers(), n);
	end(t);
}

TEST(threads_that_have_ended)
{
	pthread_t t;
	int tid = start(&t, &tid_of[0]), n = open_numbers();

	await_asleep(tid);
	end(t);
	/* The kernel may take a moment to forget it. */
	while (os_thread_blocked(tid) >= 0)
		os_thread_yield();
	OK(os_thread_blocked(tid) < 0);
	EQ(open_numbers(), n);
}

/* More than are kept are told all the same. */
TEST(many_threads)
{
	int n = open_numbers(), low = lowest_free();
	pthread_t t[MANY];

	for (int i = 0; i < MANY; i++)
		start(&t[i], &tid_of[i]);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < MANY; i++)
			await_asleep((int)a_load_relaxed(&tid_of[i]));
	OK(open_numbers() - n < MANY);
	EQ(lowest_free(), low);
	a_store_relaxed(&stop, 1);
	os_futex_wake(&stop, MANY);
	for (int i = 0; i < MANY; i++)
		pthread_join(t[i], NULL);
	os_thread_blocked_close(true);
	EQ(open_numbers(), n);
}

/* Without a number aside it is opened each time, and not kept. */
TEST(with_a_low_limit)
{
	struct rlimit l = { 30, 30 };
	pthread_t t;
	int tid = start(&t, &tid_of[0]), n = open_numbers();

	EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
	await_asleep(tid);
	EQ(os_thread_blocked(tid), 1);
	EQ(open_numbers(), n);
	end(t);
}

/* ---- a program that closes what is not its own ---- */

TEST(closed_by_others)
{
	pthread_t t;
	int tid = start(&t, &tid_of[0]), n = open_numbers();

	await_asleep(tid);
	EQ(close(next_open(FD_HIGH)), 0);
	EQ(os_thread_blocked(tid), 1);
	EQ(open_numbers(), n + 1);
	os_thread_blocked_close(true);
	EQ(open_numbers(), n);
	end(t);
}

/* What has its number then is neither believed nor closed. */
static void
replaced_by(int other)
{
	pthread_t t;
	int tid = start(&t, &tid_of[0]), n, fd;

	await_asleep(tid);
	fd = next_open(FD_HIGH);
	EQ(dup2(other, fd), fd);
	n = open_numbers();
	EQ(os_thread_blocked(tid), 1);
	EQ(open_numbers(), n + 1);
	os_thread_blocked_close(true);
	EQ(open_numbers(), n);
	await_asleep(tid);
	n = open_numbers();
	fd = next_open(fd + 1);
	EQ(dup2(other, fd), fd);
	os_thread_blocked_close(true);
	EQ(open_numbers(), n);
	end(t);
}

TEST(replaced_by_a_file)
{
	char path[] = "/tmp/weft-kept-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	EQ(write(fd, "1 (x) R 1 1", 11), 11);
	replaced_by(fd);
}

TEST(replaced_by_a_pipe)
{
	int end[2];

	EQ(pipe(end), 0);
	EQ(write(end[1], "x", 1), 1);
	replaced_by(end[0]);
}

/* SPDX-License-Identifier: MIT */
/*
 * Plain threads make the same calls: they block, beside goroutines that go on,
 * and before and after there is a runtime.
 */
#define _GNU_SOURCE 1
#include "fd_pairs.h"
#include "plain_thread.h"

static weft_waitgroup all;

/* ---- what one thread can do alone ---- */

static void
alone(int k, int rd, int wr)
{
	struct pollfd p = { .fd = rd, .events = POLLIN };
	int64_t when;
	char c = 0;

	(void)k;
	EQ(weft_write(wr, "a", 1), 1);
	EQ(weft_wait_readable(rd), 0);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLIN);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'a');
	EQ(weft_poll(&p, 1, weft_deadline(WEFT_MS)), 0);
	for (int i = 0; i < 5; i++) {
		when = weft_deadline(i * WEFT_MS);
		EQ(weft_set_read_deadline(rd, when), 0);
		EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
		EQ(weft_wait_readable(rd), -ETIMEDOUT);
		OK(weft_now() >= when);
	}
	EQ(weft_write(wr, "b", 1), 1);
	EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(rd, WEFT_NEVER), 0);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'b');
}

TEST(alone_without_a_runtime) { wire_each(alone); }

PLAIN_THREAD(alone_thread, wire_each(alone))

GTEST(alone_beside_a_runtime, 2) { thread_run_blocking(alone_thread, NULL); }

static int
alone_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	wire_each(alone);
	return 0;
}

TEST(before_and_after_the_runtime)
{
	wire_each(alone);
	EQ(weft_run(alone_main, 0, NULL), 0);
	wire_each(alone);
}

/* One descriptor is used before the runtime, in it, and after it. */
static int kept[2];

static int
use_kept(int argc, char **argv)
{
	(void)argc, (void)argv;
	alone(STREAM, kept[0], kept[1]);
	return 0;
}

TEST(kept_across_the_runtime)
{
	wire(STREAM, kept);
	alone(STREAM, kept[0], kept[1]);
	EQ(weft_run(use_kept, 0, NULL), 0);
	alone(STREAM, kept[0], kept[1]);
	wire_drop(kept);
}

/* ---- two threads, no runtime ---- */

struct job {
	int fd, rounds;
};

static void *
echo_thread(void *arg)
{
	struct job *j = arg;
	char c;

	for (int i = 0; i < j->rounds; i++) {
		EQ(weft_read(j->fd, &c, 1), 1);
		c++;
		EQ(weft_write(j->fd, &c, 1), 1);
	}
	return NULL;
}

static void
ask(int fd, int rounds)
{
	char c = 0;

	for (int i = 0; i < rounds; i++) {
		char was = c;

		EQ(weft_write(fd, &c, 1), 1);
		EQ(weft_read(fd, &c, 1), 1);
		EQ(c, (char)(was + 1));
	}
}

static void
threads_talk(int k)
{
	struct job j = { 0, (int)t_scale(200) };
	pthread_t t;
	int end[2];

	if (!wire_make(k, end))
		return;
	j.fd = end[1];
	EQ(pthread_create(&t, NULL, echo_thread, &j), 0);
	ask(end[0], j.rounds);
	pthread_join(t, NULL);
	wire_drop(end);
}

TEST(threads_talk_without_a_runtime)
{
	for (int k = STREAM; k < WIRES; k++)
		threads_talk(k);
}

/* ---- a thread and a goroutine ---- */

static void
echo_goroutine(int fd, int rounds)
{
	struct job j = { fd, rounds };

	echo_thread(&j);
	weft_waitgroup_done(&all);
}

THREAD_JOB(ask_thread, struct job, j, ask(j->fd, j->rounds))

static void
talk_across(void)
{
	for (int k = STREAM; k < WIRES; k++) {
		struct job j = { 0, (int)t_scale(100) };
		int end[2];

		if (!wire_make(k, end))
			continue;
		j.fd = end[0];
		weft_waitgroup_add(&all, 1);
		weft_go(echo_goroutine, end[1], j.rounds);
		thread_run_blocking(ask_thread, &j);
		weft_waitgroup_wait(&all);
		wire_drop(end);
	}
}

GTEST(thread_and_goroutine_on_one, 1) { talk_across(); }
GTEST(thread_and_goroutine_on_four, 4) { talk_across(); }

/* ---- connections ---- */

static void *
accept_thread(void *arg)
{
	int fd = weft_accept(*(int *)arg, NULL, NULL);
	char c;

	OK(fd >= 0);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_write(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	return NULL;
}

static void
connect_and_ask(const wire_addr *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char c = 'c';

	EQ(weft_connect(fd, &at->a.any, at->len), 0);
	EQ(weft_write(fd, &c, 1), 1);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
}

static void
accepted_by_a_thread(void)
{
	wire_addr at = wire_loopback(AF_INET);
	int ear = wire_listen(SOCK_STREAM, &at, 4);
	pthread_t t;

	EQ(pthread_create(&t, NULL, accept_thread, &ear), 0);
	connect_and_ask(&at);
	weft_blocking(thread_join, &t);
	EQ(weft_close(ear), 0);
}

TEST(accept_on_a_thread_without_a_runtime) { accepted_by_a_thread(); }
GTEST(accept_on_a_thread, 1) { accepted_by_a_thread(); }

/* ---- closed, and deadlines moved, while threads wait ---- */

enum { THREADS = 6 };

static long waiting;

static void *
read_thread(void *arg)
{
	struct job *j = arg;
	char c;

	__atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
	EQ(weft_read(j->fd, &c, 1), j->rounds);
	return NULL;
}

static void *
poll_thread(void *arg)
{
	struct job *j = arg;
	struct pollfd p = { .fd = j->fd, .events = POLLIN };

	__atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLNVAL);
	return NULL;
}

static void
start_threads(pthread_t *t, void *(*fn)(void *), struct job *j)
{
	waiting = 0;
	threads_start(t, THREADS, fn, j);
	while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < THREADS)
		weft_yield();
	let_them_wait(THREADS);
}

static void
join_threads(pthread_t *t)
{
	for (int i = 0; i < THREADS; i++)
		weft_blocking(thread_join, &t[i]);
}

GTEST(closed_while_threads_wait, 1)
{
	pthread_t t[THREADS];

	for (int k = 0; k < WIRES; k++) {
		struct job j = { 0, -EBADF };
		int end[2];
		uint64_t id;

		if (!wire_make(k, end))
			continue;
		j.fd = end[0];
		id = wire_id(end[0]);
		start_threads(t, k % 2 ? read_thread : poll_thread, &j);
		EQ(weft_close(end[0]), 0);
		join_threads(t);
		OK(wire_id(end[0]) != id);
		EQ(weft_close(end[1]), 0);
	}
}

GTEST(deadlines_while_threads_wait, 1)
{
	pthread_t t[THREADS];

	for (int k = 0; k < WIRES; k++) {
		struct job j = { 0, -ETIMEDOUT };
		int end[2];

		if (!wire_make(k, end))
			continue;
		j.fd = end[0];
		start_threads(t, read_thread, &j);
		EQ(weft_set_read_deadline(end[0],
		    weft_deadline(3600 * WEFT_SECOND)),
		    0);
		EQ(weft_set_read_deadline(end[0], weft_deadline(2 * WEFT_MS)),
		    0);
		join_threads(t);
		wire_drop(end);
	}
}

/* A thread waits while goroutines keep the only processor busy. */
static bool stop;

static void
busy(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		weft_yield();
	weft_waitgroup_done(&all);
}

GTEST(threads_beside_busy_goroutines, 1)
{
	struct job j = { 0, 50 };
	int end[2];

	wire(TCP4, end);
	weft_waitgroup_add(&all, 3);
	weft_go(busy);
	weft_go(busy);
	j.fd = end[0];
	weft_go(echo_goroutine, end[1], j.rounds);
	thread_run_blocking(ask_thread, &j);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&all);
	wire_drop(end);
}

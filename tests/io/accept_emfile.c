/* SPDX-License-Identifier: MIT */
/*
 * A process without a free descriptor accepts nothing: clients that connect
 * wait in the kernel's queue, and none is lost. Goroutines that do not need a
 * new descriptor are not disturbed.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sys/wait.h>

#include "connection.h"
#include "fd_expect.h"
#include "run_env.h"

enum { CLIENTS = 24 };

static weft_waitgroup all;
static int listener;
static pid_t clients_pid;

/* ---- the clients, in a process of their own ---- */

/* Each sends its number, and must be answered with that. */
static int
be_clients(int port)
{
	int fd[CLIENTS], bad = 0;

	for (int i = 0; i < CLIENTS; i++) {
		unsigned char c = (unsigned char)i;

		fd[i] = plain_connect(1, port);
		bad += write(fd[i], &c, 1) != 1;
	}
	for (int i = 0; i < CLIENTS; i++) {
		unsigned char c = 255;

		bad += read(fd[i], &c, 1) != 1 || c != i;
		bad += read(fd[i], &c, 1) != 0;
	}
	return bad;
}

/* Before the runtime: listens, and has clients that connect. */
static void
start_clients(void)
{
	listener = plain_listen(1, 2 * CLIENTS);
	clients_pid = NEED(fork());
	if (clients_pid == 0)
		_exit(be_clients(port_of(listener)));
}

static void
clients_are_content(void)
{
	int status = -1;

	while (waitpid(clients_pid, &status, 0) < 0 && errno == EINTR)
		;
	EQ(status, 0);
}

/* Room for n more, at the lowest numbers that are free. */
static void
leave_room_for(int n)
{
	int fd[64];

	for (int i = 0; i < n; i++)
		fd[i] = NEED(dup(0));
	/* One more would have this number. */
	limit_fds((rlim_t)fd[n - 1] + 1);
	while (n > 0)
		NEED(close(fd[--n]));
}

/* Runs as ETEST, with the clients there before. */
static void
with_clients(int procs, void (*fn)(void))
{
	start_clients();
	run_env(procs, NULL, fn);
	clients_are_content();
}

static void
serve(int fd)
{
	echo_byte(fd);
	EQ(weft_close(fd), 0);
}

/* ---- one after the other, through a few descriptors ---- */

static void
serve_soon(int fd)
{
	weft_sleep(2 * WEFT_MS);
	serve(fd);
	weft_waitgroup_done(&all);
}

/* As fast as it can, three at a time. */
static void
served_by_few(void)
{
	NEED(weft_wait_readable(listener));	/* weft's own are open now */
	leave_room_for(3);
	weft_waitgroup_add(&all, CLIENTS);
	for (int i = 0; i < CLIENTS; i++) {
		int fd = weft_accept(listener, NULL, NULL);

		OK(fd >= 0);
		weft_go(serve_soon, fd);
	}
	weft_waitgroup_wait(&all);
	EQ(weft_close(listener), 0);
}

TEST(served_by_few_on_1) { with_clients(1, served_by_few); }
TEST(served_by_few_on_4) { with_clients(4, served_by_few); }

/* ---- no other goroutine notices ---- */

static long stop, turns;

/* Back and forth on descriptors that are there already. */
static void
asks(int fd)
{
	char c = 'a';

	while (!get(&stop)) {
		EQ(weft_write(fd, &c, 1), 1);
		EQ(weft_read(fd, &c, 1), 1);
		bump(&turns);
	}
	EQ(weft_shutdown(fd, SHUT_WR), 0);
	weft_waitgroup_done(&all);
}

static int held[2], n_held;

static void
accept_all(void)
{
	for (int i = n_held; i < CLIENTS; i++) {
		int fd = weft_accept(listener, NULL, NULL);

		OK(fd >= 0);
		serve(fd);
		bump(&turns);
	}
	weft_waitgroup_done(&all);
}

static void
others_go_on(void)
{
	int fd[2];
	long seen;

	unix_pair(fd);
	NEED(weft_wait_readable(listener));
	leave_room_for(2);
	for (; n_held < 2; n_held++)
		held[n_held] = NEED(weft_accept(listener, NULL, NULL));
	weft_waitgroup_add(&all, 3);
	weft_go(echo_bytes, fd[0], &all);
	weft_go(asks, fd[1]);
	weft_go(accept_all);
	/* It gets none, for as long as these two take a thousand turns. */
	seen = get(&turns);
	await(&turns, seen + t_scale(1000));
	while (n_held > 0)
		serve(held[--n_held]);
	await(&turns, seen + t_scale(1000) + CLIENTS - 2);
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

TEST(others_go_on_on_1) { with_clients(1, others_go_on); }
TEST(others_go_on_on_2) { with_clients(2, others_go_on); }

/* ---- ends of waiting ---- */

static void
serve_rest(int n)
{
	for (; n < CLIENTS; n++)
		serve(NEED(weft_accept(listener, NULL, NULL)));
}

/* The one for which there is a number left. */
static int
accept_the_last(void)
{
	NEED(weft_wait_readable(listener));
	leave_room_for(1);
	return NEED(weft_accept(listener, NULL, NULL));
}

static void
until_its_deadline(void)
{
	int64_t when;
	int fd;

	fd = accept_the_last();
	for (int i = 0; i < 3; i++) {
		when = weft_deadline((1 + i * 20) * WEFT_MS);
		EQ(weft_set_read_deadline(listener, when), 0);
		EQ(weft_accept(listener, NULL, NULL), -ETIMEDOUT);
		OK(weft_now() >= when);
	}
	EQ(weft_set_read_deadline(listener, WEFT_NEVER), 0);
	serve(fd);
	serve_rest(1);
}

TEST(until_its_deadline_on_2) { with_clients(2, until_its_deadline); }

static int64_t given_up;

static void
accept_in_vain(int want)
{
	EQ(weft_accept(listener, NULL, NULL), want);
	given_up = weft_now();
	weft_waitgroup_done(&all);
}

/* A deadline set while it waits is heeded, an earlier one too. */
static void
until_a_new_deadline(void)
{
	int64_t when;
	int fd;

	fd = accept_the_last();
	EQ(weft_set_read_deadline(listener, weft_deadline(3600 * WEFT_SECOND)),
	    0);
	weft_waitgroup_add(&all, 1);
	weft_go(accept_in_vain, -ETIMEDOUT);
	weft_sleep(5 * WEFT_MS);
	when = weft_deadline(10 * WEFT_MS);
	EQ(weft_set_read_deadline(listener, when), 0);
	weft_waitgroup_wait(&all);
	OK(given_up >= when);
	EQ(weft_set_read_deadline(listener, WEFT_NEVER), 0);
	serve(fd);
	serve_rest(1);
}

TEST(until_a_new_deadline_on_2) { with_clients(2, until_a_new_deadline); }

/* Whoever waits for a descriptor is told that the listener was closed. */
static void
until_closed(void)
{
	int fd, l = plain_listen(1, 8), c = plain_connect(1, port_of(l));
	int own = listener;

	fd = accept_the_last();
	listener = l;
	weft_waitgroup_add(&all, 1);
	weft_go(accept_in_vain, -EBADF);
	weft_sleep(5 * WEFT_MS);
	EQ(weft_close(l), 0);
	weft_waitgroup_wait(&all);
	NEED(close(c));
	listener = own;
	serve(fd);
	serve_rest(1);
}

TEST(until_closed_on_2) { with_clients(2, until_closed); }

/* ---- a plain thread does the same ---- */

static void *
thread_accepts(void *arg)
{
	for (int i = 1; i < CLIENTS; i++)
		serve(NEED(weft_accept(listener, NULL, NULL)));
	weft_waitgroup_done(arg);
	return NULL;
}

static void
by_a_thread(void)
{
	pthread_t t;
	int fd;

	fd = accept_the_last();
	weft_waitgroup_add(&all, 1);
	NEED(-pthread_create(&t, NULL, thread_accepts, &all));
	weft_sleep(5 * WEFT_MS);
	serve(fd);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
}

TEST(by_a_thread_on_2) { with_clients(2, by_a_thread); }

/* ---- what else needs a descriptor ---- */

/* These say so at once, as the system's calls do. */
static void
others_are_told(void)
{
	char address[64];
	int fd;

	NEED(weft_wait_readable(listener));
	weft_local_address(listener, address, sizeof address);
	leave_room_for(1);
	fd = NEED(weft_accept(listener, NULL, NULL));
	EQ(weft_dial("tcp4", address), -EMFILE);
	EQ(weft_listen("tcp4", "127.0.0.1:0"), -EMFILE);
	EQ(weft_open("/dev/null", O_RDONLY, 0), -EMFILE);
	serve(fd);
	serve_rest(1);
}

TEST(others_are_told_on_2) { with_clients(2, others_are_told); }

/*
 * None is left when weft needs its first one. It says so, or it does without;
 * and when there is one it can wait.
 */
static void
none_for_weft(void)
{
	int fd[2], more[64], n = 0;
	ssize_t r;
	char c;

	unix_pair(fd);
	leave_room_for(1);
	while (n < 64 && (more[n] = dup(0)) >= 0)
		n++;
	EQ(write(fd[1], "x", 1), 1);
	r = weft_read(fd[0], &c, 1);
	OK(r == 1 || r == -EMFILE);
	if (r != 1)
		EQ(read(fd[0], &c, 1), 1);
	EQ(weft_set_read_deadline(fd[0], weft_deadline(5 * WEFT_MS)), 0);
	r = weft_read(fd[0], &c, 1);
	OK(r == -ETIMEDOUT || r == -EMFILE);
	while (n > 0)
		NEED(close(more[--n]));
	limit_fds(64);
	EQ(weft_set_read_deadline(fd[0], weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_read(fd[0], &c, 1), -ETIMEDOUT);
	EQ(weft_close(fd[0]), 0);
	NEED(close(fd[1]));
}

GTEST(none_for_weft_on_2, 2) { none_for_weft(); }

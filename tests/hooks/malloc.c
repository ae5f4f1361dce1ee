/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that allocate all the time, while the hooks see the locks and the
 * keys of malloc: with libc's, and with jemalloc before it, whose locks are
 * pthread's and which makes a key of its own.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child_process.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "plain_thread.h"
#include "run_env.h"

enum { GOROUTINES = 100, ROUNDS = 60, BLOCKS = 32, LARGEST = 40000,
	SKIPPED = 77 };

static const char jemalloc[] = "libjemalloc.so.2";

/* ---- work ---- */

static uint32_t
next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void
put(char **block, size_t *size, uint32_t *seed)
{
	int i = (int)(next(seed) % BLOCKS);

	if (block[i])
		OK(wire_same(block[i], size[i], (size_t)i));
	free(block[i]);
	size[i] = next(seed) % LARGEST;
	block[i] = malloc(size[i] + 1);
	wire_fill(block[i], size[i], (size_t)i);
}

/* A byte comes back, by calls that park. */
static void
wait_a_little(int end[2])
{
	char c = 'm';

	EQ(write(end[1], &c, 1), 1);
	EQ(read(end[0], &c, 1), 1);
	usleep(1);
}

static void
allocate(uint32_t seed, weft_waitgroup *wg)
{
	char *block[BLOCKS] = {0};
	size_t size[BLOCKS] = {0};
	int end[2];

	wire(PIPE, end);
	for (int i = 0; i < t_scale(ROUNDS); i++) {
		for (int j = 0; j < 8; j++)
			put(block, size, &seed);
		wait_a_little(end);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	EQ(close(end[0]), 0);
	EQ(close(end[1]), 0);
	weft_waitgroup_done(wg);
}

static void
allocate_many(void)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, GOROUTINES);
	for (int i = 0; i < GOROUTINES; i++)
		weft_go(allocate, (uint32_t)i + 1, &wg);
	weft_waitgroup_wait(&wg);
}

PLAIN_THREAD(allocate_thread, weft_waitgroup wg = {0};
    weft_waitgroup_add(&wg, 1); allocate(7, &wg))

static void
allocate_with_threads(void)
{
	pthread_t t[3];

	threads_start(t, 3, allocate_thread, NULL);
	allocate_many();
	for (int i = 0; i < 3; i++)
		weft_blocking(thread_join, &t[i]);
}

/* Was it asked for, and is not there? The loader goes on without it. */
static void
check_malloc(void)
{
	const char *asked = getenv("LD_PRELOAD");

	if (asked && strstr(asked, jemalloc) &&
	    !dlsym(RTLD_DEFAULT, "mallctl"))
		t_skip("no jemalloc");
}

GTEST(many, 1) { check_malloc(); allocate_many(); }
GTEST(many_on_four, 4) { check_malloc(); allocate_with_threads(); }
ETEST(many_that_move, 2, "WEFT_MIGRATE=1")
{
	check_malloc();
	allocate_with_threads();
}

/* ---- the same with jemalloc ---- */

/* This program again, as the harness runs one test. */
static void
run_with_jemalloc(const char *test)
{
	char fd[16];
	pid_t pid;
	int status;

	if (T_SANITIZED || t_valgrind())
		t_skip("it has a malloc of its own");
	snprintf(fd, sizeof fd, "%d", dup(2));
	pid = fork();
	if (pid == 0) {
		setenv("LD_PRELOAD", jemalloc, 1);
		execl("/proc/self/exe", "malloc", "--child", test, fd,
		    (char *)NULL);
		_exit(2);
	}
	status = exit_status(pid);
	if (status == SKIPPED)
		t_skip("no jemalloc");
	EQ(status, 0);
}

TEST(jemalloc_many) { run_with_jemalloc("many"); }
TEST(jemalloc_many_on_four) { run_with_jemalloc("many_on_four"); }
TEST(jemalloc_many_that_move) { run_with_jemalloc("many_that_move"); }

/* SPDX-License-Identifier: MIT */
/*
 * setuid and its kind: libc changes them in all threads, the runtime's too,
 * and waits for each of them.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <unistd.h>

#include "run_env.h"

static weft_waitgroup all;
static long stop;

static void
hog(void)
{
	compute(&stop);
	weft_waitgroup_done(&all);
}

static void
set_all(void)
{
	for (int i = 0; i < 20; i++) {
		EQ(setuid(getuid()), 0);
		EQ(setgid(getgid()), 0);
		EQ(setresuid(getuid(), geteuid(), geteuid()), 0);
		weft_yield();
	}
}

static void *
set_plainly(void *arg)
{
	set_all();
	return arg;
}

/* Threads that compute, wait and watch. */
GTEST(change_in_all_threads, 2)
{
	pthread_t t;

	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(hog);
	weft_sleep(WEFT_MS);
	set_all();
	EQ(pthread_create(&t, NULL, set_plainly, NULL), 0);
	EQ(pthread_join(t, NULL), 0);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* SPDX-License-Identifier: MIT */
/*
 * setuid and its kind: libc changes them in all threads, the runtime's too,
 * and waits for each of them.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <unistd.h>

#include "busy.h"
#include "plain_thread.h"
#include "run_env.h"

static weft_waitgroup all;
static long stop;

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

PLAIN_THREAD(set_plainly, set_all())

/* Threads that compute, wait and watch. */
GTEST(change_in_all_threads, 2)
{
	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(busy_goroutine, &stop, &all);
	weft_sleep(WEFT_MS);
	set_all();
	thread_run(set_plainly, NULL);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

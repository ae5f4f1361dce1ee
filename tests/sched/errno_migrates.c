/* SPDX-License-Identifier: MIT */
/* errno is the goroutine's, wherever it goes. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "leave_thread.h"
#include "run_env.h"

static weft_waitgroup all;
static long moves;

/* libc sets it, by its own address of it. */
static void
fails(int how)
{
	if (how & 1)
		OK(open("/nonexistent/file", O_RDONLY) < 0 && errno == ENOENT);
	else
		OK(close(-1) < 0 && errno == EBADF);
}

static int
code_of(int how)
{
	return how & 1 ? ENOENT : EBADF;
}

static void *
nap(void *arg)
{
	usleep(1000);
	errno = *(int *)arg;
	return arg;
}

static void
let_go(int how)
{
	if (how % (LEAVE_WAYS + 1) == LEAVE_WAYS)
		weft_checkpoint();
	else
		leave_thread(how % (LEAVE_WAYS + 1));
}

static void
keeps(int nr)
{
	for (int i = 0; i < 40; i++) {
		pid_t before = gettid();
		int code = code_of(nr + i / 10);

		fails(nr + i / 10);
		let_go(i);
		EQ(errno, code);
		errno = 1000 + nr;
		let_go(i + 1);
		EQ(errno, 1000 + nr);
		if (gettid() != before)
			bump(&moves);
	}
	weft_waitgroup_done(&all);
}

static void
all_keep(void)
{
	int n = 20;

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(keeps, i);
	weft_waitgroup_wait(&all);
}

ON_ALL(all_keep)

ETEST(kept_migrating, 2, "WEFT_MIGRATE=1")
{
	all_keep();
	OK(moves > 100);
}

ETEST(kept_with_short_slices, 2, "WEFT_SLICE_US=50") { all_keep(); }

/* ---- in announced calls, which may come back on another thread ---- */

static void
calls(int nr)
{
	for (int i = 0; i < 20; i++) {
		int code = 2000 + nr;

		weft_blocking(nap, &code);
		EQ(errno, 2000 + nr);
		weft_blocking_enter();
		usleep(500);
		fails(nr);
		weft_blocking_leave();
		EQ(errno, code_of(nr));
	}
	weft_waitgroup_done(&all);
}

GTEST(kept_in_calls, 2)
{
	weft_waitgroup_add(&all, 10);
	for (int i = 0; i < 10; i++)
		weft_go(calls, i);
	weft_waitgroup_wait(&all);
}

/* ---- in one that is preempted, or loses its processor ---- */

static void
computes(int nr, const long *stop)
{
	errno = 3000 + nr;
	while (!get(stop)) {
		EQ(errno, 3000 + nr);
		for (volatile int i = 0; i < 1000; i++)
			;
	}
	weft_yield();
	EQ(errno, 3000 + nr);
	weft_waitgroup_done(&all);
}

static void
kept_computing(void)
{
	static long stop;

	weft_waitgroup_add(&all, 6);
	for (int i = 0; i < 6; i++)
		weft_go(computes, i, &stop);
	for (int i = 0; i < 20; i++) {
		errno = i;
		weft_sleep(10 * WEFT_MS);
		EQ(errno, i);
	}
	bump(&stop);
	weft_waitgroup_wait(&all);
}

GTEST(kept_when_preempted, 2) { kept_computing(); }
ETEST(kept_when_taken, 2, "WEFT_PREEMPT_SIGNAL=-1") { kept_computing(); }
ETEST(kept_when_often_preempted, 2, "WEFT_SLICE_US=100") { kept_computing(); }

/* ---- a new one, which may run first, has its own ---- */

static void
sets(void)
{
	errno = EXDEV;
	weft_waitgroup_done(&all);
}

GTEST(not_that_of_a_new_one, 2)
{
	for (int i = 0; i < 200; i++) {
		errno = EPERM;
		weft_waitgroup_add(&all, 1);
		weft_go(sets);
		if (i & 1)
			weft_yield();
		EQ(errno, EPERM);
	}
	weft_waitgroup_wait(&all);
	EQ(errno, EPERM);
}

/* ---- and it is the usual one on a thread ---- */

static void *
on_thread(void *arg)
{
	weft_chan *c = weft_chan_make(0, 1);

	errno = 77;
	weft_chan_send(c, NULL);
	weft_chan_recv(c, NULL);
	weft_sleep(WEFT_MS);
	EQ(errno, 77);
	fails(0);
	EQ(errno, EBADF);
	weft_chan_release(c);
	return arg;
}

GTEST(of_a_thread, 1)
{
	pthread_t t;

	errno = 78;
	EQ(pthread_create(&t, NULL, on_thread, NULL), 0);
	weft_yield();
	pthread_join(t, NULL);
	EQ(errno, 78);
}

/* SPDX-License-Identifier: MIT */
/*
 * A program that had loops, blocking calls, pins and forks, and now has
 * nothing to do, makes no system calls and uses no CPU.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sys/wait.h>

#include "quiescence.h"
#include "run_env.h"

static weft_waitgroup gate, busy;
static long stop;

static void *
nap(void *arg)
{
	sleep_for(0.003);
	return arg;
}

static void
has_been_busy(int kind)
{
	pid_t pid;

	switch (kind % 6) {
	case 0:
		compute(&stop);
		break;
	case 1:
		nap(NULL);
		break;
	case 2:
		weft_blocking(nap, NULL);
		break;
	case 3:
		weft_pin();
		weft_sleep(WEFT_MS);
		compute(&stop);
		weft_unpin();
		break;
	case 4:
		weft_pin();		/* and its thread ends */
		break;
	default:
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	weft_waitgroup_done(&busy);
	if (kind % 6 != 4)
		weft_waitgroup_wait(&gate);
}

static void
be_busy(void)
{
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&busy, 36);
	for (int i = 0; i < 36; i++)
		weft_go(has_been_busy, i);
	weft_sleep(30 * WEFT_MS);
	bump(&stop);
	weft_waitgroup_wait(&busy);
}

/*
 * Threads that are too many end one second after, and the monitor may have
 * memory to give back every second. Returns when nothing has moved for longer
 * than that, or much too late.
 */
static void
calm_down(void)
{
	long before = -1, now = activity();

	for (int i = 0; i < 8 && now != before; i++) {
		sleep_for(1.2);
		before = now;
		now = activity();
	}
}

static void *
watch(void *moved)
{
	settle();
	calm_down();
	*(long *)moved = activity_in(2);
	weft_waitgroup_done(&gate);
	return NULL;
}

static void
idle_again(void *(*thread)(void *), void *arg)
{
	be_busy();
	wait_watched(&gate, thread, arg);
}

GTEST(no_thread_moves, 2) { check_idle(idle_again, watch); }

/* Two sleep in announced calls for ever: that is no work either. */
static int fd[2];

static void
sleeps(void)
{
	char c;

	weft_blocking_enter();
	while (read(fd[0], &c, 1) < 0)
		;
	weft_blocking_leave();
	weft_waitgroup_done(&busy);
}

static void *
watch_blocked(void *moved)
{
	weft_stats s;
	do {
		sched_yield();
		weft_stats_read(&s, sizeof s);
	} while (s.threads_idle + 2 < s.threads);
	calm_down();
	*(long *)moved = activity_in(2);
	EQ(write(fd[1], "xy", 2), 2);
	return NULL;
}

GTEST(nor_while_some_are_blocked, 2)
{
	long moved = -1;

	need_own_threads();
	EQ(pipe(fd), 0);
	weft_waitgroup_add(&busy, 2);
	weft_go(sleeps);
	weft_go(sleeps);
	wait_watched(&busy, watch_blocked, &moved);
	EQ(moved, 0);
}

/* ---- under strace ---- */

static void *
mark(void *arg)
{
	(void)arg;
	settle();
	calm_down();
	mark_for(2);
	weft_waitgroup_done(&gate);
	return NULL;
}

STRACE_SEES_NOTHING(2, idle_again(mark, NULL))

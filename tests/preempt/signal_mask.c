/* SPDX-License-Identifier: MIT */
/*
 * A goroutine that has changed the signal mask of its thread, and computes:
 * it is not preempted, or it would go on with the mask of another thread. One
 * that has put it back is.
 */
#define _GNU_SOURCE 1
#include <signal.h>

#include "run_env.h"

static weft_waitgroup all;
static long stop, wrong;

static bool
blocked(void)
{
	sigset_t now;

	sigemptyset(&now);
	EQ(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	return sigismember(&now, SIGUSR2) == 1;
}

static void
spin(void)
{
	for (volatile long i = 0; i < 100000; i++)
		;
}

static void
changes_its_mask(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (!get(&stop)) {
		EQ(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
		spin();
		if (!blocked())
			bump(&wrong);
		EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
		spin();
		if (blocked())
			bump(&wrong);
	}
	weft_waitgroup_done(&all);
}

static void
change_masks(void)
{
	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(changes_its_mask);
	for (double end = t_now() + t_share(2); t_now() < end; )
		weft_sleep(5 * WEFT_MS);
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(wrong, 0);
	if (can_preempt()) {
		OK(stalls_now().preempted > 0);
		OK(stalls_now().refused[WEFT_RETAKE_TIED] > 0 ||
	    stalls_now().paused[WEFT_RETAKE_TIED] > 0);
	}
}

ETEST(stays_with_its_thread, 2, "WEFT_SLICE_US=50") { change_masks(); }
ETEST(on_one, 1, "WEFT_SLICE_US=50") { change_masks(); }

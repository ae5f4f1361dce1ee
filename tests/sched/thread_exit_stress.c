/* SPDX-License-Identifier: MIT */
/* Threads are made when needed, used again, and leave when too many. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <weft.h>

#include "stats_now.h"
#include "t.h"

/* No goroutine computes without a processor, on a thread more. */
__attribute__((constructor)) static void
setup(void)
{
	setenv("WEFT_MAX_DETACHED", "-1", 0);
}

static int running;

static void
all_at_once(int n, weft_waitgroup *wg)
{
	__atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&running, __ATOMIC_RELAXED) < n)
		sched_yield();
	weft_waitgroup_done(wg);
}

/* Has n goroutines run at the same time, so on n threads. */
static void
use_threads(int n)
{
	weft_waitgroup wg = {0};

	running = 0;
	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		weft_go(all_at_once, n, &wg);
	weft_waitgroup_wait(&wg);
}

GTEST(made_and_used_again, 8)
{
	use_threads(8);
	OK(stats_now().threads >= 8);
	for (int i = 0; i < 50; i++)
		use_threads(8);
	OK(stats_now().threads <= 8 + 2);
}

/* Polls: how long they take to leave is theirs to choose. */
GTEST(leave_when_too_many, 16)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	use_threads(16);
	OK(stats_now().threads >= 16);
	EQ(weft_set_procs(2), 16);
	while (stats_now().threads > 2 + 2)
		nanosleep(&ms, NULL);
	EQ(weft_set_procs(16), 2);
	use_threads(16);
	OK(stats_now().threads >= 16);
}

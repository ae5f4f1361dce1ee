/* SPDX-License-Identifier: MIT */
/*
 * Signals that preempt goroutines are not theirs: a call that asks, or waits,
 * while one arrives does not fail with EINTR.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <sys/select.h>
#include <unistd.h>

#include <weft.h>

#include "run_env.h"
#include "t.h"

enum { ASKING = 4 };

static int silent[2];
static const struct timeval zero, short_time = { 0, 100 };

static int
poll_ms(int ms)
{
	struct pollfd p = { silent[0], POLLIN, 0 };

	return poll(&p, 1, ms);
}

static int
select_for(struct timeval tv)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(silent[0], &set);
	return select(silent[0] + 1, &set, NULL, NULL, &tv);
}

static void
ask(long *stop)
{
	while (!get(stop)) {
		for (int i = 0; i < 100; i++)
			EQ(poll_ms(0), 0);
		EQ(poll_ms(1), 0);
		for (int i = 0; i < 100; i++)
			EQ(select_for(zero), 0);
		EQ(select_for(short_time), 0);
	}
}

/* None of them ends its slice by itself: the monitor sends signals. */
static void
ask_together(void)
{
	weft_waitgroup wg = {0};
	long stop = 0;

	EQ(pipe(silent), 0);
	for (int i = 0; i < ASKING; i++)
		weft_waitgroup_go(&wg, ask, &stop);
	stop_after(1.5, &stop, &wg);
}
GTEST(no_eintr, 1) { ask_together(); }
ETEST(no_eintr_sliced, 2, "WEFT_SLICE_US=50") { ask_together(); }

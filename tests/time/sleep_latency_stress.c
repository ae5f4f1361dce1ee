/* SPDX-License-Identifier: MIT */
/*
 * How late a sleeper wakes while endless loops are on every processor. The
 * median is bounded generously, since machines differ; what it is on this one
 * is printed.
 */
#include <stdio.h>

#include "run_env.h"
#include "samples.h"

enum { SAMPLES = 101, HOGS = 6 };

static weft_waitgroup all;
static long stop;
static int64_t late[SAMPLES];

static void
hog(void)
{
	compute(&stop);
	weft_waitgroup_done(&all);
}

static void
measure(void)
{
	for (int i = 0; i < SAMPLES; i++) {
		int64_t due = weft_deadline(WEFT_MS);

		weft_sleep_until(due);
		late[i] = weft_now() - due;
		OK(late[i] >= 0);
	}
	bump(&stop);
}

static void
median_is_small(void)
{
	weft_waitgroup_add(&all, HOGS);
	for (int i = 0; i < HOGS; i++)
		weft_go(hog);
	measure();
	weft_waitgroup_wait(&all);
	qsort(late, SAMPLES, sizeof late[0], ascending);
	fprintf(stderr, "# late: median %ld us, worst %ld us\n",
	    (long)(late[SAMPLES / 2] / WEFT_US),
	    (long)(late[SAMPLES - 1] / WEFT_US));
	OK(late[SAMPLES / 2] < 100 * WEFT_MS);
}

GTEST(on_one, 1) { median_is_small(); }
GTEST(on_two, 2) { median_is_small(); }
ETEST(on_two_without_signals, 2, "WEFT_PREEMPT_SIGNAL=-1")
{
	median_is_small();
}

/* A channel's receiver, woken by a timer's goroutine. */
static void
fired(void *c)
{
	weft_chan_send(c, NULL);
}

GTEST(functions_too, 2)
{
	weft_chan *c = weft_chan_make(0, 1);

	weft_waitgroup_add(&all, HOGS);
	for (int i = 0; i < HOGS; i++)
		weft_go(hog);
	for (int i = 0; i < SAMPLES; i++) {
		int64_t due = weft_deadline(WEFT_MS);
		weft_timer *t = weft_after_func(WEFT_MS, fired, c);

		weft_chan_recv(c, NULL);
		late[i] = weft_now() - due;
		weft_timer_free(t);
	}
	bump(&stop);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
	qsort(late, SAMPLES, sizeof late[0], ascending);
	OK(late[SAMPLES / 2] < 100 * WEFT_MS);
}

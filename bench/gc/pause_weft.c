/* SPDX-License-Identifier: MIT */
/*
 * pause-weft GOROUTINES own|shared
 *
 * How long libweft-gc stops everything while so many goroutines are parked,
 * each with one frame of pause.h. Prints the median and the longest pause in
 * microseconds.
 */
#include <weft.h>
#include <weft/gc.h>

#include "pause.h"

static struct pause_options options;
static weft_waitgroup filled, ended;
static weft_event go_on;
static long lost;		/* atomic */

static void
parked(long id)
{
	void *volatile frame[FRAME_WORDS];
	long n;

	pause_fill(&options, id, frame, weft_gc_alloc);
	weft_waitgroup_done(&filled);
	weft_event_wait(&go_on);
	n = pause_lost(&options, id, frame);
	__atomic_add_fetch(&lost, n, __ATOMIC_RELAXED);
	weft_waitgroup_done(&ended);
}

static double
collect_us(void)
{
	weft_gc_stats s;
	int err = weft_gc_collect();

	if (err)
		pause_fail(weft_strerror(err));
	weft_gc_stats_read(&s, sizeof s);
	return (double)s.pause_last_ns / 1e3;
}

/* When `filled` is zero the last of them may still be on its way into the wait,
 * so it sleeps a little. */
static void
start_all(void)
{
	weft_waitgroup_add(&filled, (int)options.frames);
	weft_waitgroup_add(&ended, (int)options.frames);
	for (long i = 0; i < options.frames; i++)
		weft_go(parked, i);
	weft_waitgroup_wait(&filled);
	weft_sleep(20 * WEFT_MS);
}

int
weft_main(int argc, char **argv)
{
	double us[ROUNDS];

	options = pause_arguments(argc, argv);
	pause_share(weft_gc_alloc);
	start_all();
	for (int i = -FIRST; i < ROUNDS; i++)
		us[i < 0 ? 0 : i] = collect_us();
	weft_event_set(&go_on);
	weft_waitgroup_wait(&ended);
	if (lost)
		pause_fail("an object was collected that is in use");
	pause_print(&options, us);
	return 0;
}
WEFT_MAIN

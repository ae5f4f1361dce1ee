/* SPDX-License-Identifier: MIT */
/*
 * Traces that begin and end, and flight recorders that are written, while all
 * that is traced goes on: spawns, channels, timers, blocking calls, loops, the
 * number of processors, plain threads.
 */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "run_env.h"
#include "trace_events.h"

static long stop;

static void
do_nothing(void)
{
}

static void
spawn(void)
{
	while (!get(&stop)) {
		weft_waitgroup wg = {0};

		for (int i = 0; i < 50; i++)
			weft_waitgroup_go(&wg, do_nothing);
		weft_waitgroup_wait(&wg);
	}
}

static void
send(weft_chan *c)
{
	for (long i = 0; !get(&stop); i++)
		weft_chan_send(c, &i);
	weft_chan_close(c);
}

static void
receive(weft_chan *c)
{
	long v;

	while (weft_chan_recv(c, &v))
		;
}

static void
doze(void)
{
	while (!get(&stop)) {
		weft_sleep(50 * WEFT_US);
		weft_blocking_enter();
		weft_blocking_leave();
	}
}

static void
loop_and_talk(void)
{
	while (!get(&stop)) {
		for (volatile long i = 0; i < 100000; i++)
			;
		weft_trace_region_begin("loop", 0);
		weft_trace_log("looped", 0);
		weft_trace_region_end();
	}
}

static void
resize(void)
{
	for (int n = 1; !get(&stop); n = n % 6 + 1) {
		weft_set_procs(n);
		weft_sleep(WEFT_MS);
	}
}

static void *
send_from_outside(void *arg)
{
	weft_chan *c = arg;

	while (!get(&stop)) {
		long v = 1;

		if (!weft_chan_try_send(c, &v))
			weft_sleep(20 * WEFT_US);
	}
	return NULL;
}

static void
take_only(weft_chan *c)
{
	long v;

	while (!get(&stop))
		weft_chan_recv_until(c, &v, weft_now() + WEFT_MS);
}

static void
check_file(void)
{
	struct trace_text t = trace_text_read(trace_path());
	struct trace_counts c = trace_count(&t);

	OK(trace_is_whole(&t));
	OK(c.n[TR_NONE] == 0);
	trace_text_free(&t);
}

static void
record_once(int i)
{
	weft_trace_options o = { .buffer = (size_t)(i % 3) << 20,
		.stack_interval = i % 2 ? 0 : 1000 };

	if (i % 4 == 0) {
		EQ(weft_trace_flight(&o, sizeof o), 0);
		weft_sleep(5 * WEFT_MS);
		EQ(weft_trace_write(trace_path()), 0);
		check_file();
		weft_sleep(2 * WEFT_MS);
		EQ(weft_trace_write(trace_path()), 0);
		EQ(weft_trace_stop(NULL), 0);
	} else {
		EQ(weft_trace_start(trace_path(), &o, sizeof o), 0);
		weft_sleep(5 * WEFT_MS);
		EQ(weft_trace_stop(NULL), 0);
	}
	check_file();
}

static void
torment(void)
{
	weft_waitgroup wg = {0};
	weft_chan *c = weft_chan_make(sizeof(long), 0);
	weft_chan *d = weft_chan_make(sizeof(long), 4);
	pthread_t outside = thread_start(send_from_outside, d);
	int i = 0;

	weft_waitgroup_go(&wg, spawn);
	weft_waitgroup_go(&wg, send, c);
	weft_waitgroup_go(&wg, receive, c);
	weft_waitgroup_go(&wg, doze);
	weft_waitgroup_go(&wg, loop_and_talk);
	weft_waitgroup_go(&wg, resize);
	weft_waitgroup_go(&wg, take_only, d);
	while (t_more(2))
		record_once(i++);
	bump(&stop);
	weft_waitgroup_wait(&wg);
	weft_blocking(thread_join, &outside);
	weft_chan_release(c);
	weft_chan_release(d);
}

GTEST(while_all_goes_on, 4)
{
	torment();
}

ETEST(with_short_slices, 3, "WEFT_SLICE_US=50")
{
	torment();
}

ETEST(while_goroutines_move, 3, "WEFT_MIGRATE=1")
{
	torment();
}

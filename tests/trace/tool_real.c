/* SPDX-License-Identifier: MIT */
/* Traces of this program itself: nothing to repair, Go's rules hold. */
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

#include "check_go.h"
#include "command.h"
#include "json_check.h"
#include "model.h"
#include "run_env.h"

static char path[] = "/tmp/weft-trace-XXXXXX";

static void
make_path(void)
{
	int fd = mkstemp(path);

	OK(fd >= 0);
	close(fd);
}

/* ---- what is traced ---- */

enum { PAIRS = 20, ROUNDS = 200 };

static void
echo(weft_chan *c, weft_chan *back)
{
	int n;

	while (weft_chan_recv(c, &n))
		weft_chan_send(back, &n);
}

static void *
nap(void *arg)
{
	usleep(2000);
	return arg;
}

static void
busy(weft_waitgroup *wg)
{
	for (volatile long i = 0; i < 3000000; i++)
		;
	weft_blocking(nap, NULL);
	weft_trace_log("done", 0);
	weft_waitgroup_done(wg);
}

static void
ask(weft_waitgroup *wg, uint64_t *task)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	weft_chan *back = weft_chan_make(sizeof(int), 0);

	weft_go(echo, c, back);
	weft_trace_region_begin("asking", *task);
	for (int i = 0; i < ROUNDS; i++) {
		int n = i;

		weft_chan_send(c, &n);
		weft_chan_recv(back, &n);
		if (i % 50 == 0)
			weft_sleep(WEFT_MS / 10);
	}
	weft_trace_region_end();
	weft_chan_close(c);
	weft_waitgroup_done(wg);
}

static void
work(void)
{
	weft_waitgroup wg = {0};
	uint64_t task = weft_trace_task_begin("all of it", 0);

	weft_waitgroup_add(&wg, 2 * PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		weft_go(ask, &wg, &task);
		weft_go(busy, &wg);
	}
	weft_waitgroup_wait(&wg);
	weft_trace_task_end(task);
}

/* ---- what is seen ---- */

static void
expect_conversions(struct trace *t, bool whole)
{
	struct go_check c;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	EQ(command_go(t, out), 0);
	fclose(out);
	if (!go_check(&c, (uint8_t *)text, bytes))
		t_fail(__FILE__, __LINE__, c.error);
	OK(c.types[14] + c.types[47] >= 3 * PAIRS);
	if (whole && !t->lost_events) {
		EQ(c.types[42], PAIRS);
		EQ(c.types[43], PAIRS);
		EQ(c.types[44], PAIRS);
	}
	go_check_free(&c);
	free(text);
	out = open_memstream(&text, &bytes);
	EQ(command_chrome(t, out), 0);
	fclose(out);
	OK(is_json(text));
	free(text);
}

static void
expect_model(struct trace *t, bool whole)
{
	struct model *m = model_of(t);

	EQ(t->bad_blocks, 0);
	if (whole && !t->lost_events) {
		EQ(m->repairs, 0);
		EQ(m->events[TR_TASK_BEGIN], 1);
		EQ(m->events[TR_TASK_END], 1);
		EQ(m->events[TR_CREATE], m->gs);
	}
	OK(m->gs >= 3 * PAIRS);
	OK(m->events[TR_BLOCK] > PAIRS * ROUNDS / 2);
	OK(m->ns[KIND_RUNNING] + m->ns[KIND_CALL] > 0);
	OK(m->latency.count > PAIRS * ROUNDS / 2);
	model_free(m);
}

/* As in a dump, a stack begins with the function of weft that was called. */
static void
expect_waits(struct trace *t)
{
	char *text = NULL, *at, *end;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	EQ(command_stats(t, out), 0);
	fclose(out);
	at = strstr(text, "\nwhere goroutines blocked, by time, in ");
	end = at ? strstr(at, "\n\n") : NULL;
	if (end && !t_emulated()) {
		*end = '\0';
		OK(strstr(at, "  weft_chan_send < ask"));
		OK(!strstr(at, "park") && !strstr(at, "goroutine_main"));
	}
	/* Sanitizers leave no stacks to be read. */
	OK(end || T_SANITIZED || t_emulated());
	OK(strstr(text, "\n  asking  "));
	free(text);
}

static struct trace *
opened(void)
{
	struct text why = {0};
	struct trace *t = trace_open(path, &why);

	if (!t)
		t_fail(__FILE__, __LINE__, why.s);
	OK(!t || t->ended);
	return t;
}

/* The environment records from the first event on. */
TEST(recorded_as_a_whole)
{
	static char variable[256];
	struct trace *t;

	make_path();
	snprintf(variable, sizeof variable, "WEFT_DEBUG=trace=%s", path);
	run_env(2, variable, work);
	if ((t = opened())) {
		expect_model(t, true);
		expect_waits(t);
		expect_conversions(t, true);
		trace_close(t);
	}
	unlink(path);
}

GTEST(recorded_from_the_middle, 2)
{
	struct trace *t;
	weft_waitgroup wg = {0};

	make_path();
	weft_waitgroup_add(&wg, 1);
	weft_go(busy, &wg);
	EQ(weft_trace_start(path, NULL, 0), 0);
	work();
	weft_waitgroup_wait(&wg);
	EQ(weft_trace_stop(NULL), 0);
	if ((t = opened())) {
		expect_model(t, false);
		expect_conversions(t, false);
		trace_close(t);
	}
	unlink(path);
}

GTEST(flight_recording, 2)
{
	struct trace *t;

	make_path();
	EQ(weft_trace_flight(NULL, 0), 0);
	work();
	EQ(weft_trace_write(path), 0);
	EQ(weft_trace_stop(NULL), 0);
	if ((t = opened())) {
		expect_model(t, false);
		expect_conversions(t, false);
		trace_close(t);
	}
	unlink(path);
}

/* SPDX-License-Identifier: MIT */
/*
 * Dumps again and again, while goroutines are spawned, wait, yield, compute
 * and end at full speed. Every stack that is shown must be one of its
 * goroutine: it ends in the function that this was started with. And all that
 * they count must be right in the end.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "dumped.h"
#include "t.h"

#define OUTLINE __attribute__((__noinline__))

enum { THROWERS = 20 };

static bool stop;
static weft_waitgroup all;
static weft_chan *ball;
static uint64_t done, begun;
static int sink;

static bool
stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

OUTLINE static void
plunge(int depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (depth)
		plunge(depth - 1);
	else
		weft_yield();
	__atomic_add_fetch(&sink, room[0], __ATOMIC_RELAXED);
}

static void
short_lived(int depth)
{
	plunge(depth);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void
spawner(void)
{
	for (int i = 0; !stopped(); i++) {
		__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
		weft_go(short_lived, i % 7);
		if (i % 16 == 0)
			weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void
thrower(void)
{
	uint64_t v;

	while (weft_chan_recv(ball, &v) && !stopped()) {
		v++;
		weft_chan_send(ball, &v);
	}
	weft_waitgroup_done(&all);
}

static void
sleeper(void)
{
	while (!stopped())
		weft_sleep(50 * WEFT_US);
	weft_waitgroup_done(&all);
}

static void
computer(void)
{
	while (!stopped())
		for (int i = 0; i < 20000; i++)
			__asm__ volatile("" : : "r"(i));
	weft_waitgroup_done(&all);
}

static void
in_calls(void)
{
	while (!stopped()) {
		weft_blocking_enter();
		sched_yield();
		weft_blocking_leave();
	}
	weft_waitgroup_done(&all);
}

/* ---- is a dump right? ---- */

static const char *const bodies[] = { "short_lived", "spawner", "thrower",
    "sleeper", "computer", "in_calls", "dumper" };

static bool
is_header(const char *line)
{
	return strstr(line, ", spawned at ") != NULL && line[0] != '\t';
}

/* Does the line name one of our functions? */
static const char *
body_in(const char *line, const char *before)
{
	for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		char want[64];

		snprintf(want, sizeof want, "%s%s", before, bodies[i]);
		if (strstr(line, want))
			return bodies[i];
	}
	return NULL;
}

/*
 * The last frame of an entry must be its body, if it is one of ours. One that
 * runs may not have called that yet, or may be about to end; one that is
 * runnable may be about to begin, with what its record had saved before; and
 * a libc without frame tables ends the walk in its system calls.
 */
static void
check_entry(const char *body, const char *frame, bool runs)
{
	const char *has = frame ? body_in(frame, "\t") : NULL;

	if (body && frame && frame[1] != '.' &&
	    (has ? strcmp(has, body) : !runs)) {
		fprintf(stderr, "# %s: %s\n", body, frame);
		OK(!"a stack of another goroutine");
	}
}

static void
check_dump(char *text)
{
	const char *body = NULL, *frame = NULL;
	char *save = NULL;
	bool runs = false;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (line[0] != '\t') {
			check_entry(body, frame, runs);
			frame = NULL;
			runs = !strstr(line, "[waiting");
			body = is_header(line) ? body_in(line, "]: ") : NULL;
		} else if (strncmp(line, "\tids", 4)) {
			frame = line;
		}
	}
}

static uint64_t dumps;

static void
dump_once(void)
{
	char *text = dumped(NULL);

	check_dump(text);
	free(text);
	__atomic_add_fetch(&dumps, 1, __ATOMIC_RELAXED);
}

static void
dumper(void)
{
	while (!stopped())
		dump_once();
	weft_waitgroup_done(&all);
}

static void *
dump_plainly(void *arg)
{
	(void)arg;
	while (!stopped())
		dump_once();
	return NULL;
}

/* A macro: a goroutine is known by the name of its function. */
#define START(fn, n) do {						\
	weft_waitgroup_add(&all, n);					\
	for (int i_ = 0; i_ < (n); i_++)				\
		weft_go(fn);						\
	} while (0)

/* By a goroutine, or by a thread. */
static void
storm(bool by_thread)
{
	uint64_t v = 0;
	pthread_t t;

	ball = weft_chan_make(sizeof v, THROWERS + 2);
	START(thrower, THROWERS);
	START(sleeper, 20);
	START(spawner, 2);
	START(in_calls, 2);
	if (!T_SANITIZED)
		START(computer, 2);
	for (int i = 0; i < 2; i++)
		weft_chan_send(ball, &v);
	if (by_thread)
		EQ(pthread_create(&t, NULL, dump_plainly, NULL), 0);
	else
		START(dumper, 1);
	while (t_more(2) || !__atomic_load_n(&dumps, __ATOMIC_RELAXED))
		weft_sleep(10 * WEFT_MS);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THROWERS; i++)
		weft_chan_send(ball, &v);
	weft_waitgroup_wait(&all);
	if (by_thread)
		pthread_join(t, NULL);
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) != begun)
		weft_yield();
	OK(dumps > 0);
	fprintf(stderr, "# %lu dumps, %lu goroutines\n", (unsigned long)dumps,
	    (unsigned long)begun);
}

GTEST(by_a_goroutine_1, 1) { storm(false); }
GTEST(by_a_goroutine_2, 2) { storm(false); }
GTEST(by_a_goroutine_8, 8) { storm(false); }
GTEST(by_a_thread, 4) { storm(true); }

/* SPDX-License-Identifier: MIT */
/* weft_dump_goroutines: each goroutine's id, name, state and origin. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "run_env.h"
#include "t.h"

static weft_waitgroup gate, all;
static int started;

/* What weft_dump_goroutines prints, as one string to be freed. */
static char *
dumped(void)
{
	FILE *f = tmpfile();
	int saved = dup(2);
	long n;
	char *text;

	dup2(fileno(f), 2);
	weft_dump_goroutines();
	dup2(saved, 2);
	close(saved);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	EQ(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	return text;
}

static long
lines(const char *text)
{
	long n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void
pass_gate(void)
{
	started++;
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

static void finish(void) { weft_waitgroup_done(&all); }

/* Main keeps the only processor busy, and is to keep it. */
NO_PREEMPTION

static bool spawned;

static void *
spawn_plainly(void *arg)
{
	for (long i = *(long *)arg; i > 0; i--)
		OK(weft_try_go_opt(WEFT_OPT(.name = "new"), finish) > 0);
	__atomic_store_n(&spawned, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Queues n while main keeps the only processor. */
static void
queue(long n)
{
	pthread_t t;

	weft_waitgroup_add(&all, (int)n);
	EQ(pthread_create(&t, NULL, spawn_plainly, &n), 0);
	pthread_detach(t);
	while (!__atomic_load_n(&spawned, __ATOMIC_ACQUIRE))
		sched_yield();
}

GTEST(every_state, 1)
{
	char want[200], *text;
	int64_t id;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 1);
	id = weft_try_go_opt(WEFT_OPT(.name = "parked"), pass_gate);
	while (!started)
		weft_yield();
	queue(1);
	text = dumped();
	EQ(lines(text), 3);
	snprintf(want, sizeof want, "goroutine %ld \"parked\" [waiting: "
	    "waitgroup wait]: pass_gate, spawned at %s:", (long)id, __FILE__);
	OK(strstr(text, want));
	OK(strstr(text, "\"new\" [runnable, not started]: finish, spawned at "
	    __FILE__ ":"));
	OK(strstr(text, "goroutine 1 \"\" [running]: the main goroutine\n"));
	free(text);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	text = dumped();
	EQ(lines(text), 1);
	free(text);
}

/* A long list is cut, and says so. */
GTEST(very_many, 1)
{
	char *text;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 1100);
	for (int i = 0; i < 1100; i++)
		weft_go(pass_gate);
	text = dumped();
	EQ(lines(text), 1001);
	OK(strstr(text, "\n... and 101 more\n"));
	free(text);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

TEST(without_a_runtime)
{
	char *text = dumped();

	EQ(lines(text), 0);
	free(text);
}

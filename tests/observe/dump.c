/* SPDX-License-Identifier: MIT */
/* weft_dump: each goroutine's id, name, state, origin and stack. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "dumped.h"
#include "run_env.h"
#include "t.h"

#define OUTLINE __attribute__((__noinline__))

static weft_waitgroup gate, all;
static int started;
static volatile int sink;

OUTLINE static void
pass_gate(void)
{
	started++;
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

static void finish(void) { weft_waitgroup_done(&all); }

/* Main keeps the only processor busy, and is to keep it: see also queue. */
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

/* Queues n while main keeps the only processor, in a region: it does not yield
 * in a call either, as it would once its slice is over. */
static void
queue(long n)
{
	pthread_t t;

	weft_preempt_off();
	weft_waitgroup_add(&all, (int)n);
	EQ(pthread_create(&t, NULL, spawn_plainly, &n), 0);
	pthread_detach(t);
	while (!__atomic_load_n(&spawned, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* n goroutines at the gate. */
static void
park(int n)
{
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(pass_gate);
	while (started < n)
		weft_yield();
}

static void
open_gate(void)
{
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
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
	text = dumped(NULL);
	EQ(dumped_count(text, "\ngoroutine ") + 1, 3);
	snprintf(want, sizeof want, "\ngoroutine %ld \"parked\" [waiting: "
	    "waitgroup wait]: pass_gate, spawned at %s:", (long)id, __FILE__);
	OK(strstr(text, want));
	OK(strstr(text, "\"new\" [runnable, not started]: finish, spawned at "
	    __FILE__ ":"));
	OK(strstr(text, "goroutine 1 \"\" [running]: the main goroutine\n") ==
	    text);
	free(text);
	weft_preempt_on();
	open_gate();
}

/* A stack names functions, the module, and the module its build id. */
GTEST(stacks, 1)
{
	char *text, *at;

	park(1);
	text = dumped(NULL);
	at = strstr(text, "[waiting: waitgroup wait]: pass_gate");
	OK(at);
	at = at ? strstr(at, "\tpass_gate+0x") : NULL;
	OK(at && strstr(at, " (dump+0x"));
	OK(strstr(text, "\tweft_dump+0x"));
	OK(strstr(text, "\ttest_stacks+0x"));
	OK(!strstr(text, "\tgoroutine_main+0x"));
	at = strstr(text, "\nmodules:\n\t");
	OK(at && strstr(at, "\tdump at 0x"));
	OK(at && strstr(at, ", build id "));
	free(text);
	open_gate();
}

GTEST(internals, 1)
{
	weft_dump_options o = { .flags = WEFT_DUMP_INTERNALS };
	char *text;

	park(1);
	text = dumped(&o);
	OK(strstr(text, "\tsched_park"));
	EQ(dumped_count(text, "\tgoroutine_main+0x"), 2);
	free(text);
	open_gate();
}

/* ---- groups ---- */

GTEST(grouped, 1)
{
	enum { N = 3000 };
	int n = (int)t_scale(N) + 10;
	char want[100], *text;

	park(n);
	text = dumped(NULL);
	snprintf(want, sizeof want, "\n%d goroutines [waiting: waitgroup "
	    "wait]: pass_gate, spawned at ", n);
	OK(strstr(text, want));
	OK(strstr(text, "\n\tids "));
	EQ(dumped_count(text, "\tpass_gate+0x"), 1);
	EQ(dumped_count(text, "goroutine 1 \"\""), 1);
	free(text);
	open_gate();
}

GTEST(each, 1)
{
	weft_dump_options o = { .flags = WEFT_DUMP_EACH };
	char *text;

	park(10);
	text = dumped(&o);
	EQ(dumped_count(text, "\tpass_gate+0x"), 10);
	free(text);
	open_gate();
}

/* Two names and one goroutine without, in one group. */
GTEST(names_in_a_group, 1)
{
	static const char *const names[] = { "alpha", "beta", NULL };
	char *text;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go_opt(WEFT_OPT(.name = names[i]), pass_gate);
	while (started < 3)
		weft_yield();
	text = dumped(NULL);
	OK(strstr(text, "\n3 goroutines [waiting"));
	OK(strstr(text, " \"alpha\""));
	OK(strstr(text, " \"beta\""));
	free(text);
	open_gate();
}

OUTLINE static void
deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		weft_waitgroup_wait(&gate);
	sink++;
}

static void
wait_deep(int depth)
{
	started++;
	deep(depth);
	weft_waitgroup_done(&all);
}

GTEST(limits, 1)
{
	weft_dump_options o = { .max_groups = 2, .max_ids = 1,
	    .max_frames = 2 };
	char *text;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 10);
	for (int i = 0; i < 10; i++)
		weft_go(wait_deep, i + 1);
	while (started < 10)
		weft_yield();
	text = dumped(&o);
	OK(strstr(text, "\n... and 9 more goroutines\n"));
	EQ(dumped_count(text, "\tdeep+0x"), 1);
	free(text);
	open_gate();
}

GTEST(very_deep, 1)
{
	char *text;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 1);
	weft_go(wait_deep, 200);
	while (!started)
		weft_yield();
	text = dumped(NULL);
	OK(dumped_count(text, "\tdeep+0x") > 30);
	free(text);
	open_gate();
}

/* ---- errors ---- */

TEST(without_a_runtime)
{
	char *text = dumped(NULL);

	EQ(strlen(text), 0);
	free(text);
	EQ(weft_dump(-1, NULL, 0), 0);
}

GTEST(bad_descriptor, 1)
{
	int full = open("/dev/full", O_WRONLY);

	EQ(weft_dump(-1, NULL, 0), -EBADF);
	EQ(weft_dump(1000000, NULL, 0), -EBADF);
	if (full >= 0)
		EQ(weft_dump(full, NULL, 0), -ENOSPC);
	close(full);
}

/* Options of another version of the library. */
GTEST(sizes, 1)
{
	struct { weft_dump_options o; char more[64]; } larger = {
		.o = { .flags = WEFT_DUMP_EACH }
	};
	int fd = open("/dev/null", O_WRONLY);

	memset(larger.more, 0xff, sizeof larger.more);
	EQ(weft_dump(fd, &larger.o, sizeof larger), 0);
	EQ(weft_dump(fd, &larger.o, 4), 0);
	EQ(weft_dump(fd, NULL, 100), 0);
	close(fd);
}

/* ---- from elsewhere ---- */

static void *
dump_plainly(void *arg)
{
	*(char **)arg = dumped(NULL);
	return NULL;
}

/* The thread has no goroutine, and main waits for it. */
GTEST(from_a_thread, 1)
{
	char *text = NULL;
	pthread_t t;

	park(3);
	EQ(pthread_create(&t, NULL, dump_plainly, &text), 0);
	pthread_join(t, NULL);
	OK(text && strstr(text, "\n3 goroutines [waiting: waitgroup wait"));
	OK(text && strstr(text, "goroutine 1 \"\" [running"));
	free(text);
	open_gate();
}

/* SPDX-License-Identifier: MIT */
/*
 * A program for tests/observe/gdb.c to look into: one goroutine of each kind,
 * and as many that are parked as the argument says. When all are where they
 * belong it calls all_are_there(), says so, and waits for a signal.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

enum { COMPUTING = 2 };

static weft_chan *never;
static weft_mutex held;
static long begun, stop;
static int empty_pipe[2], other_pipe[2];

static void
begin(void)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) int
parked_deep(int level)
{
	volatile int secret = 4711 + level;
	int v;

	if (level)
		return parked_deep(level - 1) + secret;
	weft_recv_ok(never, &v);
	return secret;
}

static void
parks(int level)
{
	(void)parked_deep(level);
}

/* Inlined, so the return address alone tells them apart. */
static inline __attribute__((always_inline)) void
first_wait(void)
{
	int v;

	weft_recv_ok(never, &v);
	__asm__ volatile("" : : "r"(&v) : "memory");
}

static inline __attribute__((always_inline)) void
second_wait(void)
{
	int v;

	weft_recv_ok(never, &v);
	__asm__ volatile("" : : "m"(v));
}

static void
waits_inlined(int which)
{
	if (which == 1)
		first_wait();
	else
		second_wait();
	begin();
}

static void
selects(void)
{
	int v;

	WEFT_SELECT(s) {
		WEFT_ON_RECV(s, never, &v) {}
	}
}

static void
locks(void)
{
	weft_mutex_lock(&held);
	weft_mutex_unlock(&held);
}

/* Without hooks it blocks its thread, and is running. */
static void
reads_hooked(void)
{
	char c;

	begin();
	(void)!read(other_pipe[0], &c, 1);
}

static void
calls(void)
{
	char c;

	weft_blocking_enter();
	begin();
	(void)!read(empty_pipe[0], &c, 1);
	weft_blocking_leave();
}

static __attribute__((noinline)) void
computes_deep(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		;
}

static void
computes(void)
{
	begin();
	computes_deep();
	begin();
}

static int
compares(const void *a, const void *b)
{
	(void)a, (void)b;
	begin();
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		;
	return 0;
}

/* libc is among the callers: it cannot be moved to another thread. */
static void
sorts(void)
{
	int two[2] = { 2, 1 };

	qsort(two, 2, sizeof two[0], compares);
}

static void
never_begins(void)
{
}

static __attribute__((noinline)) void
all_are_there(void)
{
	static const char word[] = "ready\n";

	(void)!write(1, word, sizeof word - 1);
}

static uint64_t
parked(void)
{
	weft_stats s;

	weft_stats_read(&s, sizeof s);
	return s.parks;
}

/* Yields, and does not sleep: its own parks would be counted. */
static int
look_at_me(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	uint64_t before = parked();
	weft_opt named = { .name = "the \"first\"" };

	never = weft_chan_make(sizeof(int), 0);
	weft_mutex_lock(&held);
	weft_go_opt(named, parks, 2);
	for (int i = 1; i < n; i++)
		weft_go(parks, 2);
	weft_go(selects);
	weft_go(locks);
	weft_go_readable(empty_pipe[0], never_begins);
	weft_go(waits_inlined, 1);
	weft_go(waits_inlined, 2);
	while (parked() - before < (uint64_t)n + 4)
		weft_yield();
	weft_go(calls);
	weft_go(reads_hooked);
	for (int i = 0; i < COMPUTING; i++)
		weft_go(computes);
	weft_go(sorts);
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < 3 + COMPUTING)
		weft_yield();
	all_are_there();
	if (argc > 2)
		abort();
	weft_sleep(1000 * WEFT_SECOND);
	return 0;
}

int
main(int argc, char **argv)
{
	weft_config c = { .procs = 1 };

	alarm(100);
	if (pipe(empty_pipe) || pipe(other_pipe))
		return 1;
	return weft_run_config(&c, sizeof c, look_at_me, argc, argv);
}

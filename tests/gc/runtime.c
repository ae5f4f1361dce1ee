/* SPDX-License-Identifier: MIT */
/*
 * Collections beside what the runtime does: resizing, forking, deadlocks,
 * dumps, its end; and where threads cannot be stopped.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_process.h"
#include "run_env.h"
#include "stderr_text.h"
#include "things.h"

#define ASLEEP "all goroutines are asleep"

static long over;
static weft_waitgroup all;

static weft_gc_stats
stats(void)
{
	weft_gc_stats s;

	weft_gc_stats_read(&s, sizeof s);
	return s;
}

static void
allocate_until_over(uint64_t n)
{
	struct thing *kept[50] = {0};

	for (uint64_t i = 0; !get(&over); i++) {
		OK(!kept[i % 50] || thing_is(kept[i % 50], n + i - 50));
		kept[i % 50] = thing_make(n + i);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void
allocate_beside(void (*fn)(void))
{
	weft_waitgroup_add(&all, 6);
	for (uint64_t i = 0; i < 6; i++)
		weft_go(allocate_until_over, i << 40);
	fn();
	bump(&over);
	weft_waitgroup_wait(&all);
}

static void
resize(void)
{
	do {
		OK(weft_set_procs(1 + rand() % 8) > 0);
		EQ(weft_gc_collect(), 0);
	} while (t_more(1));
}

GTEST(beside_changes_of_the_number_of_processors, 2)
{
	allocate_beside(resize);
}

/* ---- fork ---- */

static int
in_child(void)
{
	struct thing *t = thing_make(5);

	for (uint64_t i = 0; i < 10000; i++)
		thing_make(i);
	if (!thing_is(t, 5) || weft_gc_collect() != -EPERM)
		return 1;
	return weft_gc_alloc(100000) ? 0 : 2;
}

static void
fork_children(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(in_child());
		EQ(exit_status(pid), 0);
		EQ(weft_gc_collect(), 0);
	}
}

GTEST(the_child_of_a_fork_allocates, 2) { allocate_beside(fork_children); }

/* A plain thread that forks: the child collects, too. */
TEST(the_child_of_a_plain_fork_collects)
{
	struct thing *t = thing_make(5);
	pid_t pid;

	EQ(weft_gc_collect(), 0);
	pid = fork();
	if (pid == 0) {
		for (uint64_t i = 0; i < 10000; i++)
			thing_make(i);
		_exit(weft_gc_collect() == 0 && thing_is(t, 5) ? 0 : 1);
	}
	EQ(exit_status(pid), 0);
	OK(thing_is(t, 5));
}

/* ---- deadlocks ---- */

DIES(a_deadlock_is_found, 2, ASLEEP)
{
	thing_make(1);
	EQ(weft_gc_collect(), 0);
	weft_chan_recv_(weft_chan_make(0, 0), NULL, 0);
}

DIES(a_deadlock_is_found_after_a_collection_by_itself, 1, ASLEEP)
{
	for (uint64_t i = 0; i < 300000; i++)
		thing_make(i);
	weft_chan_recv_(weft_chan_make(0, 0), NULL, 0);
}

/* All others wait while the only one that runs waits for the collector. */
GTEST(waiting_for_a_collection_is_none, 1)
{
	for (int i = 0; i < 300; i++) {
		thing_make(1);
		EQ(weft_gc_collect(), 0);
	}
}

/* ---- reports ---- */

static void
collect_until_over(void)
{
	while (!get(&over))
		EQ(weft_gc_collect(), 0);
	weft_waitgroup_done(&all);
}

GTEST(a_dump_says_who_waits_for_it, 2)
{
	struct stderr_text t = stderr_begin();
	char *text;
	bool found = false;

	weft_waitgroup_add(&all, 1);
	weft_go(collect_until_over);
	for (double end = t_now() + 40; !found && t_now() < end; ) {
		weft_dump_goroutines();
		text = stderr_so_far(&t);
		found = strstr(text, "garbage collection") != NULL;
		free(text);
	}
	bump(&over);
	weft_waitgroup_wait(&all);
	free(stderr_end(&t));
	OK(found);
}

TEST(each_collection_has_a_line)
{
	struct stderr_text t;
	char *text;

	setenv("WEFT_DEBUG", "gctrace=1", 1);
	t = stderr_begin();
	thing_make(1);
	EQ(weft_gc_collect(), 0);
	EQ(weft_gc_collect(), 0);
	text = stderr_end(&t);
	OK(strstr(text, "weft-gc: gc 1 @"));
	OK(strstr(text, "weft-gc: gc 2 @"));
	OK(strstr(text, "pause"));
	free(text);
}

ETEST(one_is_forced_after_a_while, 1, "WEFT_DEBUG=gcforce=50")
{
	uint64_t n;

	thing_make(1);
	while (stats().forced < 1)
		weft_sleep(5 * WEFT_MS);
	/* And no other, since nothing was allocated since. */
	n = stats().collections;
	weft_sleep(200 * WEFT_MS);
	EQ(stats().collections, n);
	thing_make(2);
	for (int i = 0; i < 100; i++)
		thing_make(3);
	while (stats().collections == n)
		weft_sleep(5 * WEFT_MS);
}

ETEST(other_calls_do_not_put_it_off, 1, "WEFT_DEBUG=gcforce=50")
{
	thing_make(1);
	while (stats().forced < 1) {
		weft_gc_set_percent(100);
		weft_sleep(5 * WEFT_MS);
	}
}

ETEST(none_is_forced_if_it_is_never_to_be, 1, "WEFT_DEBUG=gcforce=20")
{
	uint64_t n;

	weft_gc_set_percent(-1);
	for (uint64_t i = 0; i < 1000; i++)
		thing_make(i);
	n = stats().forced;
	weft_sleep(200 * WEFT_MS);
	EQ(stats().forced, n);
	weft_gc_set_percent(100);
	while (stats().forced == n)
		weft_sleep(5 * WEFT_MS);
}

/* ---- where it cannot be ---- */

ETEST(without_the_signal_there_is_none, 2, "WEFT_PREEMPT_SIGNAL=-1")
{
	struct thing *t = thing_make(7);

	EQ(weft_gc_collect(), -ENOTSUP);
	for (uint64_t i = 0; i < 200000; i++)
		thing_make(i);
	OK(thing_is(t, 7));
	EQ(stats().collections, 0);
	OK(stats().refused >= 1);
}

/* ---- the end, and after it ---- */

static int
leave_running(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (uint64_t i = 0; i < 4; i++)
		weft_go(allocate_until_over, i << 40);
	weft_sleep(5 * WEFT_MS);
	return 0;
}

/* ---- before the collector's thread has begun ---- */

static void *
read_until_over(void *arg)
{
	while (!get(&over))
		stats();
	return arg;
}

static void
reader(bool in_call)
{
	if (in_call)
		weft_blocking(read_until_over, NULL);
	else
		read_until_over(NULL);
	weft_waitgroup_done(&all);
}

/* One that has the lock of the heap in a call cannot wake the others itself. */
GTEST(the_lock_before_the_first_allocation, 2)
{
	weft_waitgroup_add(&all, 5);
	for (int i = 0; i < 5; i++)
		weft_go(reader, i == 0);
	while (t_more(0.3))
		weft_sleep(WEFT_MS);
	bump(&over);
	weft_waitgroup_wait(&all);
	EQ(stats().allocated_bytes, 0);
}

TEST(after_the_runtime_has_ended)
{
	struct thing *t = thing_make(9);

	EQ(weft_run(leave_running, 0, NULL), 0);
	for (int i = 0; i < 20; i++) {
		EQ(weft_gc_collect(), 0);
		for (uint64_t k = 0; k < 1000; k++)
			thing_make(k);
	}
	OK(thing_is(t, 9));
}

/* ---- libgc's own settings ---- */

static int
return_0(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

static int
collect_and_run(void)
{
	struct thing *t = thing_make(3);

	if (weft_gc_collect() != 0 || stats().collections != 1)
		return 1;
	return weft_run(return_0, 0, NULL) == 0 && thing_is(t, 3) ? 0 : 2;
}

/* libgc reads them before main: so this program is run again. */
TEST(variables_that_switch_libgc_off)
{
	static const char *const names[] = {
		"GC_DONT_GC", "GC_FIND_LEAK", "GC_ENABLE_INCREMENTAL"
	};
	static char self[] = "self", test[] = "variables_that_switch_libgc_off";
	char *argv[] = { self, test, NULL };
	pid_t pid;

	if (getenv("T_SECOND"))
		_exit(collect_and_run());
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0) {
			setenv("T_SECOND", "1", 1);
			setenv(names[i], "1", 1);
			close(STDOUT_FILENO);	/* its report */
			execv("/proc/self/exe", argv);
			_exit(9);
		}
		EQ(exit_status(pid), 0);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * How a goroutine ends: weft_goexit, and what weft_defer left to do. One
 * processor where nothing else is said, so no atomics.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup all;
static char story[64];		/* a letter for each thing that happened */

static void
tell(const char *letter)
{
	strcat(story, letter);
}

static void
tell_late(void *arg)
{
	tell(arg);
}

static void
done(void *arg)
{
	weft_waitgroup_done(arg);
}

static void
defer(void (*fn)(void *), const void *arg)
{
	EQ(weft_defer(fn, (void *)(uintptr_t)arg), 0);
}

/* fn() as a goroutine, to its end. */
static void
run(void (*fn)(void))
{
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(fn) > 0);
	weft_waitgroup_wait(&all);
}

static void
is_story(const char *want)
{
	OK(strcmp(story, want) == 0);
	if (strcmp(story, want) != 0)
		t_fail(story, 0, want);
	story[0] = 0;
}

/* ---- order ---- */

static void
returns(void)
{
	defer(done, &all);
	defer(tell_late, "a");
	defer(tell_late, "b");
	defer(tell_late, "c");
	tell("-");
}

static void
exits(void)
{
	returns();
	weft_goexit();
	tell("never");
}

GTEST(last_first_on_return, 1)
{
	run(returns);
	is_story("-cba");
}

GTEST(last_first_on_exit, 1)
{
	run(exits);
	is_story("-cba");
}

static void exit_at_once(void) { weft_goexit(); }

GTEST(exit_without_defer, 1)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	OK(weft_try_go(exit_at_once) > 0);
	OK(weft_try_go(done, &wg) > 0);
	weft_waitgroup_wait(&wg);
	while (weft_goroutines() > 1)
		weft_yield();
}

/* A deferred call that defers: what it defers comes next. */
static void
defers_more(void *arg)
{
	tell(arg);
	defer(tell_late, "2");
	defer(tell_late, "1");
}

static void
nested(void)
{
	defer(done, &all);
	defer(tell_late, "z");
	defer(defers_more, "n");
	defer(tell_late, "a");
}

GTEST(nested_defers, 1)
{
	run(nested);
	is_story("an12z");
}

/* ---- exit in the middle of it ---- */

static void
exits_too(void *arg)
{
	tell(arg);
	weft_goexit();
	tell("never");
}

static void
exit_in_deferred(void)
{
	defer(done, &all);
	defer(tell_late, "z");
	defer(exits_too, "2");
	defer(tell_late, "m");
	defer(exits_too, "1");
}

static void
exit_in_exit(void)
{
	exit_in_deferred();
	weft_goexit();
}

GTEST(exit_in_deferred_on_return, 1)
{
	run(exit_in_deferred);
	is_story("1m2z");
}

GTEST(exit_in_deferred_on_exit, 1)
{
	run(exit_in_exit);
	is_story("1m2z");
}

static int depth;
/* As a pointer, or the compiler warns of recursion that never returns. */
static void (*volatile leave)(void) = weft_goexit;

__attribute__((noinline)) static int
dig(int n)
{
	volatile char frame[64];

	frame[0] = (char)n;
	if (n == 0) {
		tell("x");
		leave();
		return 0;
	}
	depth++;
	n = dig(n - 1) + frame[0];
	tell("never");
	return n;
}

static void
deep(void)
{
	defer(done, &all);
	defer(tell_late, "d");
	dig(200);
}

GTEST(exit_deep_in_recursion, 1)
{
	for (int i = 0; i < 20; i++) {
		depth = 0;
		run(deep);
		EQ(depth, 200);
		is_story("xd");
	}
}

/* ---- what deferred calls may do ---- */

static int64_t deferrer;

static void
yields(void *arg)
{
	for (int i = 0; i < 10; i++)
		weft_yield();
	EQ(weft_self_id(), deferrer);
	tell(arg);
}

static void
waits(void *arg)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	OK(weft_try_go(weft_waitgroup_done, &wg) > 0);
	weft_waitgroup_wait(&wg);
	EQ(weft_self_id(), deferrer);
	tell(arg);
}

static void
busy_end(void)
{
	deferrer = weft_self_id();
	defer(done, &all);
	defer(waits, "w");
	defer(yields, "y");
}

GTEST(deferred_calls_may_wait, 1)
{
	run(busy_end);
	is_story("yw");
}

static long next_deferred;

static void
counts_down(void *arg)
{
	EQ((intptr_t)arg, --next_deferred);
}

static void
many(void)
{
	long n = t_scale(20000);

	defer(done, &all);
	for (; next_deferred < n; next_deferred++)
		defer(counts_down, (void *)(intptr_t)next_deferred);
}

GTEST(many_defers, 1)
{
	for (int i = 0; i < 3; i++) {
		run(many);
		EQ(next_deferred, 0);
	}
}

/* ---- on several processors ---- */

static int ended;

static void
count_end(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void
ends_somehow(int n)
{
	defer(done, &all);
	defer(count_end, NULL);
	if (n % 3 == 0)
		weft_yield();
	if (n % 2 == 0)
		weft_goexit();
}

GTEST(many_ends, 4)
{
	int n = (int)t_scale(20000);

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(ends_somehow, i) > 0);
	weft_waitgroup_wait(&all);
	EQ(ended, n);
}

/* ---- the main goroutine ---- */

static int
main_defers(int argc, char **argv)
{
	(void)argv;
	defer(tell_late, "2");
	defer(tell_late, "1");
	return argc;
}

TEST(main_runs_its_defers)
{
	EQ(weft_run(main_defers, 7, NULL), 7);
	is_story("12");
}

static void
end_process(void)
{
	while (weft_goroutines() > 1)
		weft_yield();	/* until main has gone */
	_exit(strcmp(story, "d") == 0 ? 17 : 1);
}

static int
main_exits(int argc, char **argv)
{
	(void)argc, (void)argv;
	defer(tell_late, "d");
	OK(weft_try_go(end_process) > 0);
	weft_goexit();
}

TEST(main_exits_others_go_on)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(weft_run(main_exits, 0, NULL) + 100);
	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), 17);
}

/* SPDX-License-Identifier: MIT */
/*
 * fork() from a goroutine: the child is that goroutine alone, without a
 * runtime; the parent does not notice.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "child_process.h"
#include "plain_thread.h"
#include "run_env.h"

static weft_waitgroup all;
static long stop;

/* Others that run meanwhile, in every way. */
static void
start_load(void)
{
	weft_waitgroup_add(&all, 4);
	weft_go(busy_goroutine, &stop, &all);
	for (int i = 0; i < 3; i++)
		weft_go(yield_goroutine, &stop, &all);
}

static void
end_load(void)
{
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* In the child of a fork under load; the parent does not notice. */
static void
child_does(int (*fn)(void), int status)
{
	pid_t pid;

	start_load();
	pid = fork();
	if (pid == 0)
		_exit(fn());
	EQ(exit_status(pid), status);
	end_load();
}

static void nothing(void) { }

/* ---- what the child can do ---- */

static int
look_around(void)
{
	if (weft_try_go(nothing) != -EPERM)
		return 1;
	if (weft_procs() != 0 || weft_set_procs(2) != -EPERM)
		return 2;
	if (weft_run(hogs_main, 0, NULL) != -EALREADY)
		return 3;
	return 40;
}

GTEST(has_no_runtime, 2) { child_does(look_around, 40); }

/* What need not wait works on objects that are its own. */
static int
use_objects(void)
{
	weft_chan *c = weft_chan_make(sizeof(int), 2);
	weft_mutex m = {0};
	int64_t before = weft_now();
	int n = 3;

	weft_mutex_lock(&m);
	weft_mutex_unlock(&m);
	weft_send(c, n);
	if (weft_recv(c, int) != 3 || weft_chan_try_recv(c, &n))
		return 1;
	weft_chan_release(c);
	weft_sleep(2 * WEFT_MS);
	weft_yield();
	weft_pin();
	weft_unpin();
	weft_preempt_off();
	weft_preempt_on();
	weft_checkpoint();
	errno = 5;
	weft_blocking_enter();
	weft_blocking_leave();
	return weft_now() - before >= 2 * WEFT_MS && errno == 5 ? 41 : 2;
}

GTEST(uses_what_is_its_own, 2) { child_does(use_objects, 41); }

/* Waits that another thread of the child ends. */
static void *
sets(void *e)
{
	usleep(5000);
	weft_event_set(e);
	return NULL;
}

static int
wait_for_thread(void)
{
	weft_event e = {0};
	pthread_t t;

	if (pthread_create(&t, NULL, sets, &e) != 0)
		return 1;
	weft_event_wait(&e);
	pthread_join(t, NULL);
	return 42;
}

GTEST(waits_for_its_threads, 1)
{
	pid_t pid;

	if (T_TSAN)
		t_skip("the sanitizer allows no threads after a fork");
	pid = fork();
	if (pid == 0)
		_exit(wait_for_thread());
	EQ(exit_status(pid), 42);
}

/* What it computes is not disturbed: no signals, no monitor. */
static int
compute_long(void)
{
	double end = t_now() + 0.1;
	long n = 0;

	while (t_now() < end)
		n++;
	return n > 0 ? 43 : 1;
}

GTEST(computes, 1) { child_does(compute_long, 43); }

/* ---- how it ends ---- */

static pid_t child;

static void
forks_and_returns(void)
{
	pid_t pid = fork();

	if (pid == 0)
		return;
	EQ(exit_status(pid), 0);
	weft_waitgroup_done(&all);
}

/* A goroutine other than main: its child exits with 0. */
GTEST(returns_from_a_goroutine, 2)
{
	weft_waitgroup_add(&all, 1);
	weft_go(forks_and_returns);
	weft_waitgroup_wait(&all);
}

static int
main_that_forks(int argc, char **argv)
{
	(void)argc, (void)argv;
	child = fork();
	return child == 0 ? 44 : 0;
}

/* Main's result is the child's; it does not return from weft_run there. */
TEST(returns_from_main)
{
	EQ(weft_run(main_that_forks, 0, NULL), 0);
	OK(child > 0);
	EQ(exit_status(child), 44);
}

static void
deferred(void *arg)
{
	_exit(arg ? 45 : 1);
}

static void
defers(void)
{
	pid_t pid;

	weft_defer(deferred, &all);
	pid = fork();
	if (pid == 0)
		return;
	EQ(exit_status(pid), 45);
	weft_waitgroup_done(&all);
	for (;;)
		weft_sleep(WEFT_SECOND);
}

GTEST(deferred_calls_run, 1)
{
	weft_waitgroup_add(&all, 1);
	weft_go(defers);
	weft_waitgroup_wait(&all);
}

/* ---- another program ---- */

GTEST(executes, 2)
{
	pid_t pid;

	start_load();
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 46", (char *)NULL);
		_exit(1);
	}
	EQ(exit_status(pid), 46);
	EQ(WEXITSTATUS(system("exit 47")), 47);
	end_load();
}

/* ---- pinned, and in a call ---- */

GTEST(while_pinned, 2)
{
	pid_t pid;

	weft_pin();
	pid = fork();
	if (pid == 0) {
		weft_yield();
		_exit(look_around());
	}
	EQ(exit_status(pid), 40);
	weft_unpin();
}

static void *
forks(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(48);
	EQ(exit_status(pid), 48);
	return arg;
}

GTEST(within_an_announced_call, 1)
{
	for (int i = 0; i < 10; i++)
		OK(weft_blocking(forks, &all) == &all);
}

/* ---- a fork that waits ---- */

static FILE *stream;
static long locked, flushing, forking;

/* Until the others have come to where they wait for us. */
static void
holds_a_stream(void)
{
	weft_pin();
	flockfile(stream);
	bump(&locked);
	while (!get(&forking))
		weft_yield();
	funlockfile(stream);
	weft_unpin();
	weft_waitgroup_done(&all);
}

static void
flushes_all(void)
{
	bump(&flushing);
	EQ(fflush(NULL), 0);
	weft_waitgroup_done(&all);
}

/*
 * fork waits for libc's list of streams, which is locked by a flush, which
 * waits for one of the streams, whose owner waits for the only processor.
 */
GTEST(gives_its_processor_away, 1)
{
	pid_t pid;

	stream = fopen("/dev/null", "w");
	weft_waitgroup_add(&all, 2);
	weft_go(holds_a_stream);
	await(&locked, 1);
	weft_go(flushes_all);
	await(&flushing, 1);
	bump(&forking);
	pid = fork();
	if (pid == 0)
		_exit(50);
	EQ(exit_status(pid), 50);
	weft_waitgroup_wait(&all);
	fclose(stream);
}

/* ---- not from a goroutine ---- */

static void *
forks_plainly(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(look_around());
	EQ(exit_status(pid), 40);
	return arg;
}

GTEST(from_a_thread, 2)
{
	start_load();
	thread_run(forks_plainly, NULL);
	end_load();
}

/* Before the runtime was there, or after: the child may have one. */
TEST(before_the_runtime)
{
	pid_t pid = fork();

	if (pid == 0) {
		hogs_body = nothing;
		_exit(weft_run(hogs_main, 0, NULL) == 0 ? 49 : 1);
	}
	EQ(exit_status(pid), 49);
}

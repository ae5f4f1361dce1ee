/* SPDX-License-Identifier: MIT */
/* Traces by WEFT_DEBUG: from start to end, on a signal, at a stall, when the
 * process dies. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <weft.h>

#include "run_env.h"
#include "trace_events.h"

static void
do_nothing(void)
{
}

static void
spawn_some(void)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 100; i++)
		weft_waitgroup_go(&wg, do_nothing);
	weft_waitgroup_wait(&wg);
}

/* "WEFT_DEBUG=KEY=<file of this test>REST". */
static const char *
with_file(const char *key, const char *rest)
{
	static char env[256];

	snprintf(env, sizeof env, "WEFT_DEBUG=%s=%s%s", key, trace_path(),
	    rest);
	return env;
}

TEST(from_start_to_end)
{
	struct trace_text t;
	struct trace_counts c;

	run_env(2, with_file("trace", ""), spawn_some);
	t = trace_text_read(trace_path());
	c = trace_count(&t);
	EQ(c.n[TR_CREATE], 101);	/* and the main goroutine */
	OK(trace_is_whole(&t));
	OK(trace_has(&t, "do_nothing"));
	trace_text_free(&t);
}

TEST(the_id_of_the_process_in_the_name)
{
	char path[64], env[96];

	snprintf(path, sizeof path, "/tmp/weft-test.%d.x", (int)getpid());
	snprintf(env, sizeof env,
	    "WEFT_DEBUG=trace=/tmp/weft-test.%%p.x,tracestacks=0");
	run_env(2, env, spawn_some);
	EQ(unlink(path), 0);
}

TEST(a_file_that_cannot_be_written)
{
	run_env(2, "WEFT_DEBUG=trace=/no/such/folder/file", spawn_some);
	OK(!weft_trace_is_on());
}

/* ThreadSanitizer delivers one when the thread next calls libc: Ms that sleep
 * do not. */
static void
skip_without_signals(void)
{
	if (T_TSAN)
		t_skip("signals are late");
}

static bool
is_written(void)
{
	return access(trace_path(), F_OK) == 0 &&
	    weft_trace_write("/dev/null") == 0;	/* after the one that writes */
}

static void
ask_by_signal(void)
{
	spawn_some();
	EQ(kill(getpid(), SIGUSR1), 0);
	while (!is_written())
		weft_sleep(WEFT_MS);
}

TEST(a_signal_writes_the_flight_recorder)
{
	struct trace_text t;

	skip_without_signals();
	run_env(2, with_file("flight", ",tracesig=10"), ask_by_signal);
	t = trace_text_read(trace_path());
	OK(trace_count(&t).n[TR_CREATE] >= 100);
	OK(trace_is_whole(&t));
	trace_text_free(&t);
}

static void
toggle_twice(void)
{
	char path[64];

	snprintf(path, sizeof path, "weft-%d.trace", (int)getpid());
	EQ(chdir("/tmp"), 0);
	EQ(kill(getpid(), SIGUSR1), 0);
	while (!weft_trace_is_on())
		weft_sleep(WEFT_MS);
	spawn_some();
	EQ(kill(getpid(), SIGUSR1), 0);
	while (weft_trace_is_on())
		weft_sleep(WEFT_MS);
	EQ(unlink(path), 0);
}

TEST(a_signal_begins_and_ends_a_trace)
{
	skip_without_signals();
	run_env(2, "WEFT_DEBUG=tracesig=10", toggle_twice);
}

/* One processor, which is not retaken, and a goroutine that waits for it until
 * that was seen. */
static void
stall(void)
{
	weft_go(do_nothing);
	while (access(trace_path(), F_OK) != 0)
		;
	while (!is_written())
		weft_sleep(WEFT_MS);
}

TEST(a_stall_writes_the_flight_recorder)
{
	struct trace_text t;

	setenv("WEFT_PREEMPT_SIGNAL", "-1", 1);
	setenv("WEFT_MAX_DETACHED", "-1", 1);
	run_env(1, with_file("flight", ",stall=50"), stall);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	trace_text_free(&t);
}

static void
go_on_after_it(void)
{
	while (weft_trace_is_on())
		spawn_some();
	EQ(weft_trace_stop(NULL), -ENOENT);
}

TEST(it_ends_when_it_is_told_to)
{
	struct trace_text t;

	run_env(2, with_file("trace", ",traceend=30"), go_on_after_it);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	trace_text_free(&t);
}

static void
leave_by_exit(void)
{
	spawn_some();
	exit(3);
}

TEST(exit_ends_the_trace)
{
	const char *env = with_file("trace", "");
	pid_t pid = fork();
	struct trace_text t;
	int status;

	if (pid == 0)
		run_env(2, env, leave_by_exit);
	EQ(waitpid(pid, &status, 0), pid);
	EQ(WEXITSTATUS(status), 3);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	EQ(trace_count(&t).n[TR_CREATE], 101);
	trace_text_free(&t);
}

static void
die(void)
{
	weft_waitgroup none = {0};

	weft_trace_log("the last word", 0);
	weft_waitgroup_done(&none);
}

static void
crash(void)
{
	static volatile uintptr_t nowhere = 8;

	weft_trace_log("the last word", 0);
	*(volatile int *)nowhere = 1;
}

static void
run_to_death(const char *env, void (*fn)(void), int sig)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		freopen("/dev/null", "w", stderr);
		run_env(2, env, fn);
		_exit(0);
	}
	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == sig);
}

TEST(a_fatal_error_writes_what_there_is)
{
	struct trace_text t;

	run_to_death(with_file("flight", ""), die, SIGABRT);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	OK(trace_has(&t, "the last word"));
	trace_text_free(&t);
	run_to_death(with_file("trace", ""), die, SIGABRT);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	OK(trace_has(&t, "the last word"));
	trace_text_free(&t);
}

TEST(a_crash_writes_the_flight_recorder)
{
	struct trace_text t;

	if (T_SANITIZED)
		t_skip("the sanitizer reports it");
	run_to_death(with_file("flight", ""), crash, SIGSEGV);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	OK(trace_has(&t, "the last word"));
	trace_text_free(&t);
}

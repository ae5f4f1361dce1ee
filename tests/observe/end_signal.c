/* SPDX-License-Identifier: MIT */
/* Recordings of WEFT_DEBUG when a signal ends the process. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <weft.h>

#include "died.h"
#include "trace_events.h"

static const int ends[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
static int sig;
static char profile_path[96];

/* ThreadSanitizer delivers signals late: they are left alone there. */
static void
record(void)
{
	static char env[256];

	if (T_SANITIZED)
		t_skip("sanitizers deliver signals by themselves");
	snprintf(profile_path, sizeof profile_path, "%s.pb", trace_path());
	unlink(profile_path);
	unlink(trace_path());
	snprintf(env, sizeof env, "trace=%s,cpuprofile=%s", trace_path(),
	    profile_path);
	setenv("WEFT_DEBUG", env, 1);
	/* A shell ignores some of them for what it starts in the background. */
	for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
		signal(ends[i], SIG_DFL);
}

static bool
profile_is_there(void)
{
	struct stat st;

	return stat(profile_path, &st) == 0 && st.st_size > 0;
}

/* All of both. */
static bool
recordings_are_whole(void)
{
	struct trace_text t = trace_text_read(trace_path());
	bool whole = trace_is_whole(&t) && profile_is_there();

	trace_text_free(&t);
	unlink(profile_path);
	return whole;
}

static void
bystander(void)
{
	for (;;)
		weft_sleep(WEFT_MS);
}

static void
signal_and_wait(void)
{
	weft_go(bystander);
	weft_yield();
	kill(getpid(), sig);
	bystander();
}

static void
ends_by(int which)
{
	record();
	sig = which;
	OK(died_of(died(signal_and_wait, true), which));
	OK(recordings_are_whole());
}

TEST(of_a_terminal) { ends_by(SIGINT); }
TEST(of_a_service) { ends_by(SIGTERM); }
TEST(of_a_closed_terminal) { ends_by(SIGHUP); }
TEST(that_asks_for_a_dump) { ends_by(SIGQUIT); }

/* ---- signals that the program has its own idea of ---- */

/* exit() writes profiles: see died_child. */
static void
is_ignored(void)
{
	kill(getpid(), SIGTERM);
	exit(0);
}

TEST(ignored_before)
{
	record();
	signal(SIGTERM, SIG_IGN);
	EQ(died(is_ignored, true), 0);
	signal(SIGTERM, SIG_DFL);
	OK(recordings_are_whole());
}

static volatile sig_atomic_t handled;

static void
own_handler(int which)
{
	(void)which;
	handled = 1;
}

static void
is_handled(void)
{
	signal(SIGTERM, own_handler);
	kill(getpid(), SIGTERM);
	while (!handled)
		weft_sleep(WEFT_MS);
	exit(0);
}

TEST(handler_that_came_later)
{
	record();
	EQ(died(is_handled, true), 0);
	OK(recordings_are_whole());
}

/* The child has what its parent began with. */
static void
forks(void)
{
	int status = 0;
	pid_t pid;

	weft_pin();
	pid = fork();
	if (pid == 0) {
		kill(getpid(), SIGTERM);
		_exit(7);
	}
	if (waitpid(pid, &status, 0) != pid || !died_of(status, SIGTERM))
		abort();
	exit(0);
}

TEST(child_of_a_fork)
{
	record();
	EQ(died(forks, true), 0);
	OK(recordings_are_whole());
}

/* ---- beside exit() ---- */

/* Called after what the runtime has registered, which comes later. */
static void
signals_at_exit(void)
{
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

static void
exits(void)
{
	exit(0);
}

/* What exit() has written stays, and the signal is not lost. */
TEST(signal_after_the_files_were_written)
{
	record();
	OK(atexit(signals_at_exit) == 0);
	OK(died_of(died(exits, true), SIGTERM));
	OK(profile_is_there());
	unlink(profile_path);
	unlink(trace_path());
}

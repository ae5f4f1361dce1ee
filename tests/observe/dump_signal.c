/* SPDX-License-Identifier: MIT */
/* A dump on a signal: by default SIGQUIT, in programs with WEFT_MAIN. */
#define _GNU_SOURCE
#include <stdlib.h>

#include <weft.h>

#include "died.h"
#include "t.h"

static weft_waitgroup never;
static volatile int sink;

static void bystander(void) { weft_waitgroup_wait(&never); sink++; }

static void
no_tsan(void)
{
	if (T_TSAN)
		t_skip("the sanitizer keeps signals from sleeping threads");
}

/* A shell that runs the test in the background has it ignored. */
__attribute__((constructor)) static void
reset_quit(void)
{
	signal(SIGQUIT, SIG_DFL);
}

static void
company(void)
{
	weft_goroutine_counts n;

	weft_waitgroup_add(&never, 1);
	weft_go(bystander);
	do {
		weft_yield();
		weft_goroutine_counts_read(&n, sizeof n);
	} while (n.waiting < 1);
}

static void
quit_self(void)
{
	company();
	raise(SIGQUIT);
	for (;;)
		weft_sleep(WEFT_MS);
}

static void
said_all(int sig)
{
	char want[64];

	snprintf(want, sizeof want, "weft: signal %d: 2 goroutines\n", sig);
	OK(strstr(died_text, want));
	SAID(" [waiting: waitgroup wait]: bystander, spawned at ");
	SAID("\tbystander+0x");
	SAID("the main goroutine\n");
}

TEST(quit_dumps_and_ends)
{
	no_tsan();
	OK(died_of(died(quit_self, true), SIGQUIT));
	said_all(SIGQUIT);
}

TEST(not_without_the_macro)
{
	OK(died_of(died(quit_self, false), SIGQUIT));
	OK(!strstr(died_text, "weft: signal"));
}

static int got;

static void
note(int sig)
{
	(void)sig;
	__atomic_store_n(&got, 1, __ATOMIC_RELAXED);
}

static void
own_handler(void)
{
	company();
	signal(SIGQUIT, note);
	raise(SIGQUIT);
	while (!__atomic_load_n(&got, __ATOMIC_RELAXED))
		weft_sleep(WEFT_MS);
	_exit(7);
}

TEST(own_handler_wins)
{
	int status = died(own_handler, true);

	EQ(WIFEXITED(status) && WEXITSTATUS(status) == 7, 1);
	OK(!strstr(died_text, "weft: signal"));
}

static void
ignores(void)
{
	company();
	raise(SIGQUIT);		/* returns when its handler has */
	_exit(8);
}

/* As a shell does for commands in the background. */
TEST(ignored_stays_ignored)
{
	int status;

	signal(SIGQUIT, SIG_IGN);
	status = died(ignores, true);
	EQ(WIFEXITED(status) && WEXITSTATUS(status) == 8, 1);
	OK(!strstr(died_text, "weft: signal"));
}

TEST(goes_on_if_told)
{
	int status;

	no_tsan();
	setenv("WEFT_DEBUG", "dumpend=0", 1);
	status = died(ignores, true);
	EQ(WIFEXITED(status) && WEXITSTATUS(status) == 8, 1);
	said_all(SIGQUIT);
}

TEST(none)
{
	setenv("WEFT_DEBUG", "dumpsig=0", 1);
	OK(died_of(died(quit_self, true), SIGQUIT));
	OK(!strstr(died_text, "weft: signal"));
}

static void
usr1_twice(void)
{
	company();
	for (int i = 0; i < 2; i++)
		raise(SIGUSR1);
	_exit(9);
}

TEST(another_signal)
{
	int status;

	no_tsan();
	setenv("WEFT_DEBUG", "dumpsig=10,dumpend=0", 1);
	status = died(usr1_twice, false);
	EQ(WIFEXITED(status) && WEXITSTATUS(status) == 9, 1);
	said_all(SIGUSR1);
}

static void
on_and_off(void)
{
	company();
	EQ(weft_dump_on_signal(SIGUSR1, WEFT_DUMP_CONTINUE), 0);
	raise(SIGUSR1);
	EQ(weft_dump_on_signal(SIGUSR1, WEFT_DUMP_OFF), 0);
	signal(SIGUSR1, note);
	EQ(weft_dump_on_signal(SIGUSR1, WEFT_DUMP_OFF), 0);
	raise(SIGUSR1);
	while (!__atomic_load_n(&got, __ATOMIC_RELAXED))
		weft_sleep(WEFT_MS);
	_exit(9);
}

TEST(by_call)
{
	int status;

	no_tsan();
	status = died(on_and_off, false);
	EQ(WIFEXITED(status) && WEXITSTATUS(status) == 9, 1);
	said_all(SIGUSR1);
}

TEST(bad_signals)
{
	EQ(weft_dump_on_signal(0, 0), -22);
	EQ(weft_dump_on_signal(-1, 0), -22);
	EQ(weft_dump_on_signal(65, 0), -22);
	EQ(weft_dump_on_signal(SIGKILL, 0), -22);
	EQ(weft_dump_on_signal(SIGSEGV, 0), -22);
}

/* A child of fork has no runtime: the signal does what it did. */
static void
forks(void)
{
	int status;
	pid_t pid;

	company();
	pid = fork();
	if (pid == 0) {
		raise(SIGQUIT);
		_exit(1);
	}
	EQ(waitpid(pid, &status, 0), pid);
	_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT ? 5 : 6);
}

TEST(in_a_child_of_fork)
{
	int status;

	no_tsan();
	status = died(forks, true);
	EQ(WIFEXITED(status) && WEXITSTATUS(status) == 5, 1);
	OK(!strstr(died_text, "weft: signal"));
}

/* SPDX-License-Identifier: MIT */
/*
 * Faults that have nothing to do with stacks: they end the process, or go to
 * the program's own handler, as if weft were not there; but which goroutine it
 * was is told before the process ends.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_waitgroup never;
static void (*job)(void);

static int
run_job(int argc, char **argv)
{
	(void)argc, (void)argv;
	weft_waitgroup_add(&never, 1);
	weft_go(job);
	weft_waitgroup_wait(&never);
	return 0;
}

static int
run_job_on_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	job();
	return 0;
}

/* The child's status; what it printed is in buf. */
static int
status_of(int (*main_fn)(int, char **), char *buf, size_t cap)
{
	weft_config c = { .procs = 2 };
	struct rlimit no_core = {0};
	int fd[2], status = 0;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	EQ(pipe(fd), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], 2);
		setrlimit(RLIMIT_CORE, &no_core);
		alarm(20);
		_exit(weft_run_config(&c, sizeof c, main_fn, 0, NULL));
	}
	close(fd[1]);
	while (n < cap - 1 && (r = read(fd[0], buf + n, cap - 1 - n)) > 0)
		n += (size_t)r;
	buf[n] = 0;
	close(fd[0]);
	EQ(waitpid(pid, &status, 0), pid);
	return status;
}

/* What it says first, and once; the stacks come after that. */
static void
dies_by(int sig, int (*main_fn)(int, char **), void (*fn)(void),
    const char *line)
{
	char said[8192];
	int status;

	job = fn;
	status = status_of(main_fn, said, sizeof said);
	OK(!strstr(said, "overflowed"));
	/* A sanitizer has a handler of its own and ends in its own way. */
	if (T_SANITIZED) {
		OK(!strstr(said, "weft:"));
		OK(status != 0);
		return;
	}
	OK(strncmp(said, line, strlen(line)) == 0);
	OK(WIFSIGNALED(status));
	EQ(WTERMSIG(status), sig);
	if (t_emulated())
		return;		/* it says something, too */
	OK(!strstr(said + 1, "weft: "));
	OK(strstr(said, "\n\t"));	/* a frame */
}

/* An address that no sanitizer takes for null. */
static void
write_nowhere(void)
{
	volatile int *volatile p = (int *)64;

	*p = 1;
}

TEST(in_goroutine)
{
	dies_by(SIGSEGV, run_job, write_nowhere, "weft: SIGSEGV at address "
	    "0x40 in goroutine 65 (job, spawned at " __FILE__ ":");
}

TEST(in_main_goroutine)
{
	dies_by(SIGSEGV, run_job_on_main, write_nowhere,
	    "weft: SIGSEGV at address 0x40 in the main goroutine\n");
}

PLAIN_THREAD(write_plainly, write_nowhere())

static void
write_on_thread(void)
{
	thread_run(write_plainly, NULL);
}

TEST(on_a_thread)
{
	dies_by(SIGSEGV, run_job, write_on_thread,
	    "weft: SIGSEGV at address 0x40 in thread ");
}

/* A page of a file that has none. */
static void
read_past_end(void)
{
	int fd = memfd_create("empty", 0);
	volatile char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	(void)*p;
}

TEST(bus_error)
{
	dies_by(SIGBUS, run_job, read_past_end, "weft: SIGBUS at address 0x");
}

/*
 * Sent by a process, as kill(1) does: nothing faults again on return. It may
 * take a while, as any thread may be the one to handle it.
 */
static void
send(int sig)
{
	kill(getpid(), sig);
	for (;;)
		weft_yield();
}

static void send_segv(void) { send(SIGSEGV); }
static void send_bus(void) { send(SIGBUS); }

TEST(sent)
{
	dies_by(SIGSEGV, run_job, send_segv, "weft: SIGSEGV in ");
	dies_by(SIGBUS, run_job, send_bus, "weft: SIGBUS in ");
}

/* ---- the program's own handler ---- */

static void
on_fault_info(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	_exit(sig == SIGSEGV && si->si_addr == (void *)64 ? 42 : 1);
}

static void
on_fault(int sig)
{
	_exit(sig == SIGSEGV ? 43 : 1);
}

static void
exits_with(int code)
{
	char said[8192];
	int status;

	job = write_nowhere;
	status = status_of(run_job, said, sizeof said);
	OK(WIFEXITED(status));
	EQ(WEXITSTATUS(status), code);
	EQ(strlen(said), 0);
}

TEST(own_handler_with_info)
{
	struct sigaction sa = { .sa_sigaction = on_fault_info,
		.sa_flags = SA_SIGINFO };

	EQ(sigaction(SIGSEGV, &sa, NULL), 0);
	exits_with(42);
}

TEST(own_handler_plain)
{
	struct sigaction sa = { .sa_handler = on_fault };

	EQ(sigaction(SIGSEGV, &sa, NULL), 0);
	exits_with(43);
}

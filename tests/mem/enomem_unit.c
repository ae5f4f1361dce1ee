/* SPDX-License-Identifier: MIT */
/*
 * The kernel refuses memory at the n-th request, for every n: the program
 * gets an error or a clear message, never a crash somewhere else.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "os.h"
#include "t.h"

#ifdef WEFT_DEBUG

enum { PROGRAM_OK = 40, PROGRAM_ENOMEM = 41 };

static weft_waitgroup wg;

static void
child(int depth)
{
	for (int i = 0; depth > 0 && i < 2; i++) {
		weft_waitgroup_add(&wg, 1);
		if (weft_try_go(child, depth - 1) < 0)
			weft_waitgroup_done(&wg);
	}
	weft_waitgroup_done(&wg);
}

static int
program(int argc, char **argv)
{
	int64_t r;
	int n;

	(void)argc, (void)argv;
	weft_waitgroup_add(&wg, 1);
	r = weft_try_go(child, 6);
	if (r < 0)
		weft_waitgroup_done(&wg);
	n = weft_set_procs(8);
	OK(n == 2 || n == -ENOMEM);
	OK(r > 0 || r == -ENOMEM);
	weft_waitgroup_wait(&wg);
	return PROGRAM_OK;
}

/* Runs it with the n-th mapping and all later ones refused. */
static void
run_refused(uint32_t n, int err_fd)
{
	weft_config c = { .procs = 2 };
	int r;

	dup2(err_fd, 2);
	alarm(30);
	a_store_relaxed(&os_map_fail_after, n);
	r = weft_run_config(&c, sizeof c, program, 0, NULL);
	_exit(r == -ENOMEM ? PROGRAM_ENOMEM : r);
}

/* 1 ran through, 0 told us so, -1 neither. */
static int
outcome(uint32_t n)
{
	static char err[65536];
	int fd[2], status;
	size_t len = 0;
	ssize_t r;
	pid_t pid;

	if (pipe(fd) != 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run_refused(n, fd[1]);
	close(fd[1]);
	while ((r = read(fd[0], err + len, sizeof err - 1 - len)) > 0)
		len += (size_t)r;
	err[len] = 0;
	close(fd[0]);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROGRAM_OK)
		return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROGRAM_ENOMEM)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
	    strstr(err, "out of memory"))
		return 0;
	fprintf(stderr, "# refused at %u: status %x\n# %s\n", n, status, err);
	return -1;
}

TEST(every_request_in_turn)
{
	uint32_t n = 1;
	int r;

	while ((r = outcome(n)) == 0 && n < 1000)
		n++;
	EQ(r, 1);
	OK(n > 3);
}

#else
TEST(every_request_in_turn) { t_skip("needs DEBUG=1"); }
#endif

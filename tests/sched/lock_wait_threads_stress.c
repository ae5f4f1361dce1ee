/* SPDX-License-Identifier: MIT */
/*
 * A thread that sleeps for a lock of the library, whose holder was preempted by
 * the kernel, keeps its P: another thread would only sleep for the same lock,
 * and the next one, too. So a program beside others that have the CPUs does not
 * make a thread for each of its goroutines. (A few more than it needs are made
 * for goroutines whose thread the kernel did not run for long.)
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

enum { OTHERS = 4, SENDERS = 100, FEW = 25 };

static weft_chan *shared;
static weft_waitgroup all;

/* A process that computes, and dies with us. */
static pid_t
compute(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	return pid;
}

static void
sends(void)
{
	while (t_more(1.5))
		weft_send(shared, 1);
	weft_waitgroup_done(&all);
}

static void
receives(void)
{
	int n;

	while (weft_recv_ok(shared, &n))
		;
}

static void
run(void)
{
	weft_stats s;

	t_more(1.5);			/* from now on */
	shared = weft_chan_make(sizeof(int), 1);
	weft_waitgroup_add(&all, SENDERS);
	for (int i = 0; i < SENDERS; i++) {
		weft_go(sends);
		weft_go(receives);
	}
	weft_waitgroup_wait(&all);
	weft_stats_read(&s, sizeof s);
	fprintf(stderr, "# %d threads\n", s.threads);
	OK(s.threads <= FEW);
	weft_chan_close(shared);
}

static pid_t others[OTHERS];

static int
as_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	run();
	return 0;
}

TEST(few_threads_beside_others)
{
	weft_config c = { .procs = 2 };

	for (int i = 0; i < OTHERS; i++)
		others[i] = compute();
	EQ(weft_run_config(&c, sizeof c, as_main, 0, NULL), 0);
	for (int i = 0; i < OTHERS; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
}

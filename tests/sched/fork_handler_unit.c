/* SPDX-License-Identifier: MIT */
/*
 * A signal handler that forks, and what it interrupted: the M is inside after
 * it if it was before, and the goroutine in as many regions as before.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "retake.h"
#include "sched.h"
#include "t.h"

enum { RESULT = 7 };

static volatile int ended = -1;

static void
fork_here(int sig)
{
	pid_t pid = fork();
	int status = 0;

	(void)sig;
	if (pid == 0)
		_exit(RESULT);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	ended = status;
}

static void
interrupt(void)
{
	ended = -1;
	raise(SIGUSR1);
	EQ(ended, RESULT << 8);
}

GTEST(inside_stays_inside, 1)
{
	struct m *mp = m_self();
	uint32_t was;

	signal(SIGUSR1, fork_here);
	was = rt_enter(mp);
	interrupt();
	OK(m_self() == mp);
	EQ(a_load_relaxed(&mp->inside), 1);
	rt_leave(mp, was);
}

GTEST(outside_stays_outside, 1)
{
	signal(SIGUSR1, fork_here);
	interrupt();
	EQ(a_load_relaxed(&m_self()->inside), 0);
	EQ(m_g(m_self())->regions, 0);
	EQ(m_g(m_self())->forks, 0);
}

/* The deepest there is: a fork is not one of them. */
GTEST(in_regions, 1)
{
	signal(SIGUSR1, fork_here);
	for (int i = 0; i < UINT8_MAX; i++)
		weft_preempt_off();
	interrupt();
	EQ(m_g(m_self())->regions, UINT8_MAX);
	for (int i = 0; i < UINT8_MAX; i++)
		weft_preempt_on();
	EQ(m_g(m_self())->forks, 0);
}

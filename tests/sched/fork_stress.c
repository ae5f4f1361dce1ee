/* SPDX-License-Identifier: MIT */
/* Forks again and again, from several goroutines and a thread, under load. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plain_thread.h"
#include "run_env.h"

static weft_waitgroup all;
static weft_chan *ball;
static long stop, children;

static int
ended(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		EQ(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static void nothing(void) { }

static int
in_child(int nr)
{
	void *p = malloc(100);

	weft_checkpoint();
	weft_yield();
	free(p);
	return weft_try_go(nothing) == -EPERM ? nr : 100;
}

static void
fork_once(int nr)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(in_child(nr));
	EQ(ended(pid), nr);
	bump(&children);
}

static void
forks(int nr)
{
	while (!get(&stop)) {
		fork_once(nr);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void *
forks_plainly(void *arg)
{
	while (!get(&stop))
		fork_once(50);
	return arg;
}

static void
plays(void)
{
	while (!get(&stop)) {
		weft_chan_send(ball, NULL);
		weft_chan_recv(ball, NULL);
		weft_sleep(10 * WEFT_US);
	}
	weft_waitgroup_done(&all);
}

static void
hog(void)
{
	while (!get(&stop))
		free(malloc(10));
	weft_waitgroup_done(&all);
}

/* While a thread does that; then all end. */
static void
fork_for_a_while(void *(*thread)(void *))
{
	pthread_t t = thread_start(thread, NULL);

	while (t_more(2))
		weft_sleep(5 * WEFT_MS);
	bump(&stop);
	pthread_join(t, NULL);
	weft_waitgroup_wait(&all);
	OK(children > 0);
	weft_chan_release(ball);
}

static void
fork_under_load(void)
{
	ball = weft_chan_make(0, 8);
	weft_waitgroup_add(&all, 9);
	for (int i = 0; i < 4; i++)
		weft_go(plays);
	for (int i = 1; i <= 3; i++)
		weft_go(forks, i);
	weft_go(hog);
	weft_go(hog);
	fork_for_a_while(forks_plainly);
}

/* ---- in signal handlers, wherever they come ---- */

static long tid[3];

static void
fork_here(int sig)
{
	int error = errno;

	(void)sig;
	fork_once(60);
	errno = error;
}

/* In and out of the runtime, with all it has to do there. */
static void
plays_there(int nr)
{
	while (!get(&stop)) {
		__atomic_store_n(&tid[nr], syscall(SYS_gettid),
		    __ATOMIC_RELEASE);
		for (int i = 0; i < 100; i++) {
			weft_chan_send(ball, NULL);
			weft_chan_recv(ball, NULL);
			weft_yield();
		}
	}
	weft_waitgroup_done(&all);
}

/* A thread of the runtime does not end soon after it was used. */
static void *
shoots(void *arg)
{
	for (int i = 0; !get(&stop); i = (i + 1) % 3) {
		if (get(&tid[i]))
			syscall(SYS_tgkill, getpid(), get(&tid[i]), SIGUSR1);
		usleep(500);
	}
	return arg;
}

static void
fork_in_handlers(void)
{
	struct sigaction sa = { .sa_handler = fork_here,
	    .sa_flags = SA_ONSTACK | SA_RESTART };

	EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	ball = weft_chan_make(0, 2);
	weft_waitgroup_add(&all, 4);
	for (int i = 0; i < 3; i++)
		weft_go(plays_there, i);
	weft_go(hog);
	fork_for_a_while(shoots);
}

ETEST(in_handlers, 2, "WEFT_SLICE_US=50") { fork_in_handlers(); }

GTEST(many_children, 2) { fork_under_load(); }
ETEST(with_short_slices, 2, "WEFT_SLICE_US=50") { fork_under_load(); }
ETEST(migrating, 2, "WEFT_MIGRATE=1") { fork_under_load(); }
ETEST(without_signals, 2, "WEFT_PREEMPT_SIGNAL=-1") { fork_under_load(); }

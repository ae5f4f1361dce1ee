/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that cannot be moved, more than there may be loose ones: each is
 * paused with its thread and gets its turns, and what libc does with all
 * threads of a process works beside them.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_env.h"

enum { MANY = 100, SOME = 24, FEW = 8 };

/* The audit refuses a program that has one. */
static __thread volatile long mine;

static long turns[MANY], stop, ended;

/* Not with a sanitizer, nor where libc is part of the program. */
static bool
can_pause(void)
{
	return !T_SANITIZED && getauxval(AT_BASE) != 0;
}

static void
loop(int nr)
{
	while (!get(&stop)) {
		for (int i = 0; i < 1000; i++)
			mine++;
		bump(&turns[nr]);
	}
	bump(&ended);
}

static void
run_with(int procs, int max_detached, int max_threads, void (*fn)(void))
{
	weft_config c;

	memset(&c, 0, sizeof c);
	c.procs = procs;
	c.max_detached = max_detached;
	c.max_threads = max_threads;
	hogs_body = fn;
	EQ(weft_run_config(&c, sizeof c, hogs_main, 0, 0), 0);
}

static uint64_t
pauses(void)
{
	weft_preempt_stats s = stalls_now();
	uint64_t n = 0;

	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		n += s.paused[i];
	return n;
}

/* Until each of n loops has begun; fewer where they can only be loose. */
static int
begin(int n)
{
	if (!can_pause() && n > FEW)
		n = FEW;
	for (int i = 0; i < n; i++)
		weft_go(loop, i);
	for (int i = 0; i < n; i++)
		await(&turns[i], 1);
	return n;
}

static void
finish(int n)
{
	bump(&stop);
	await(&ended, n);
}

/* ---- they take turns ---- */

static void
each_advances(void)
{
	int n = begin(SOME);

	for (int i = 0; i < 20; i++)
		weft_sleep(2 * WEFT_MS);
	for (int i = 0; i < n; i++)
		await(&turns[i], get(&turns[i]) + 1);
	if (can_pause())
		OK(pauses() > 0 && stalls_now().paused_now > 0);
	finish(n);
	while (stalls_now().paused_now)	/* after it has ended the loop */
		weft_sleep(WEFT_MS);
}

TEST(more_than_loose_ones)
{
	run_with(2, can_pause() ? 2 : 0, 0, each_advances);
}
TEST(more_than_loose_ones_on_one)
{
	run_with(1, can_pause() ? 1 : 0, 0, each_advances);
}

static void main_returns(void) { begin(50); }

TEST(main_returns_beside_them) { run_with(2, 0, 0, main_returns); }

ETEST(switched_off, 1, "WEFT_PAUSE=-1")
{
	int n = begin(FEW);

	EQ(pauses(), 0);
	finish(n);
}

/* ---- no more threads ---- */

enum { LIMIT = 6 };

static void
watched(void)
{
	for (int i = 0; i < SOME; i++)
		weft_go(loop, i);
	await(&ended, SOME);
}

/* Those that have a thread take turns, but for one or two that are loose. */
static void *
watch(void *arg)
{
	long seen[SOME];

	for (int round = 0, n; round < 5; round++) {
		for (int i = 0; i < SOME; i++)
			seen[i] = get(&turns[i]);
		do {
			usleep(1000);
			n = 0;
			for (int i = 0; i < SOME; i++)
				n += get(&turns[i]) > seen[i];
		} while (n < LIMIT - 2);
	}
	bump(&stop);
	return arg;
}

TEST(no_more_threads)
{
	pthread_t t;

	if (!can_pause())
		t_skip("nothing is paused here");
	EQ(pthread_create(&t, NULL, watch, NULL), 0);
	run_with(1, 1, LIMIT, watched);
	EQ(pthread_join(t, NULL), 0);
}

/* ---- all threads of the process ---- */

GTEST(identity_changes, 2)
{
	int n;

	if (t_emulated())
		t_skip("an emulator has signals of its own");
	n = begin(MANY);
	for (int i = 0; i < 3; i++)
		EQ(setuid(getuid()), 0);
	finish(n);
}

static void
wait_for(pid_t pid, int code)
{
	int status = -1;

	EQ(waitpid(pid, &status, 0), pid);
	EQ(WEXITSTATUS(status), code);
}

GTEST(children, 2)
{
	char *args[] = { (char *)(uintptr_t)"true", NULL };
	int n = begin(MANY);
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0)
			_exit(7);
		wait_for(pid, 7);
		EQ(posix_spawnp(&pid, "true", NULL, NULL, args, args + 1), 0);
		wait_for(pid, 0);
	}
	finish(n);
}

/*
 * A library that keeps others from forking, as an allocator does; its handler
 * was there before ours, so it is called after ours.
 */
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static long held;

static void before_fork(void) { pthread_mutex_lock(&busy); }
static void after_fork(void) { pthread_mutex_unlock(&busy); }

static void
hold(void)
{
	double end;

	EQ(pthread_mutex_lock(&busy), 0);
	bump(&held);
	for (end = t_now() + 0.1; t_now() < end; )
		for (int i = 0; i < 1000000; i++)
			mine++;
	EQ(pthread_mutex_unlock(&busy), 0);
	bump(&held);
}

static void
fork_meanwhile(void)
{
	pid_t pid;

	weft_go(hold);
	while (!get(&held))
		weft_yield();
	pid = fork();
	if (pid == 0)
		_exit(7);
	wait_for(pid, 7);
	await(&held, 2);
}

TEST(fork_waits_for_one_that_is_paused)
{
	EQ(pthread_atfork(before_fork, after_fork, after_fork), 0);
	run_with(1, 0, 0, fork_meanwhile);
}

/* ---- in a signal handler of the program's ---- */

static long handled;

/* Computes until another goroutine has had three turns. */
static void
on_usr1(int sig)
{
	long at_first = get(&turns[0]);

	(void)sig;
	while (get(&turns[0]) < at_first + 3)
		mine++;
	bump(&handled);
}

static void
signals_itself(int times)
{
	for (int i = 0; i < times; i++)
		EQ(raise(SIGUSR1), 0);
}

static void
handler(int flags)
{
	struct sigaction sa;
	int n;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_usr1;
	sa.sa_flags = flags;
	EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	n = begin(2);
	weft_go(signals_itself, 3);
	weft_go(signals_itself, 3);
	await(&handled, 6);
	finish(n);
}

GTEST(in_a_handler, 1) { handler(0); }
GTEST(in_a_handler_on_its_own_stack, 1) { handler(SA_ONSTACK); }

/* ---- not now, but later ---- */

static char buf[1 << 20];
static void *(*volatile fill)(void *to, int c, size_t n) = memset;

static void
leaves_libc(void)
{
	for (int i = 0; !get(&stop); i++)
		fill(buf, i, sizeof buf);
	for (;;)
		mine++;
}

static uint64_t
refusals(void)
{
	return stalls_now().refused[WEFT_RETAKE_LIBC];
}

/* It is in libc, and loses its processor; it is tried again and again. */
GTEST(loose_ones_are_tried_again, 1)
{
	uint64_t n;

	if (!can_pause())
		t_skip("nothing is paused here");
	weft_go(leaves_libc);
	while (!stalls_now().detached)
		weft_sleep(WEFT_MS);
	for (n = refusals(); stalls_now().detached && refusals() < n + 3; )
		weft_sleep(WEFT_MS);
	bump(&stop);
	/* It is no longer detached a moment before the pause is counted. */
	while (stalls_now().detached || pauses() == 0)
		weft_sleep(WEFT_MS);
}

static int wake[2];

/* A call that nobody is told of, until the test has seen it. */
static void
sleeps_and_leaves_libc(void)
{
	char c;

	while (syscall(SYS_read, wake[0], &c, 1) != 1)
		;
	leaves_libc();
}

/*
 * It lost its processor while it slept, and is in libc when it is tried for
 * the first time.
 */
GTEST(one_that_slept_is_tried_again, 1)
{
	if (!can_pause())
		t_skip("nothing is paused here");
	EQ(pipe(wake), 0);
	weft_go(sleeps_and_leaves_libc);
	while (!stalls_now().blocked)
		weft_sleep(WEFT_MS);
	EQ(write(wake[1], "", 1), 1);
	for (uint64_t n = refusals();
	    stalls_now().blocked && refusals() < n + 2; )
		weft_sleep(WEFT_MS);
	bump(&stop);
	while (stalls_now().blocked || pauses() == 0)
		weft_sleep(WEFT_MS);
}

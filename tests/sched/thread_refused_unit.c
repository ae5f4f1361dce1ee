/* SPDX-License-Identifier: MIT */
/* The kernel refuses threads: the program goes on with those it has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "exit_hook.h"
#include "os.h"
#include "sched.h"
#include "t.h"

#if T_SANITIZED
TEST(all) { t_skip("the sanitizer has pthread_create"); }
#else

/*
 * Stands in for libc's: the first so many calls succeed, the others are
 * refused, but not before what the test wants to happen meanwhile has.
 */
enum { MONITOR = 1 };		/* the thread that is started first */
static int allowed = 1 << 30, refused;
static bool (*meanwhile)(void);

int
pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *),
    void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
	    void *) = dlsym(RTLD_NEXT, "pthread_create");

	if (__atomic_fetch_sub(&allowed, 1, __ATOMIC_SEQ_CST) > 0)
		return real(t, a, fn, arg);
	__atomic_add_fetch(&refused, 1, __ATOMIC_SEQ_CST);
	while (meanwhile && !meanwhile())
		sched_yield();
	return EAGAIN;
}

static weft_waitgroup wg;

static void nothing(void) { weft_waitgroup_done(&wg); }

static void
spawner(void)
{
	weft_waitgroup_add(&wg, 1);
	weft_go(nothing);	/* wakes an idle P; there is no thread for it */
	weft_waitgroup_done(&wg);
}

static int other_waits;

static bool
stop_was_asked(void)
{
	__atomic_store_n(&other_waits, 1, __ATOMIC_SEQ_CST);
	return a_load_relaxed(&sched.stopping) & STOP_WORLD;
}

/* The world is stopped just while a P waits for a thread that is refused. */
static int
stop_meanwhile(int argc, char **argv)
{
	(void)argc, (void)argv;
	meanwhile = stop_was_asked;
	while (!__atomic_load_n(&other_waits, __ATOMIC_SEQ_CST)) {
		weft_waitgroup_add(&wg, 1);
		weft_go(spawner);
		for (int i = 0; i < 100; i++)
			sched_yield();
	}
	EQ(weft_set_procs(4), 3);
	meanwhile = NULL;
	weft_waitgroup_wait(&wg);
	return 7;
}

TEST(stop_while_refused)
{
	weft_config c = { .procs = 3 };

	allowed = 2 + MONITOR;
	EQ(weft_run_config(&c, sizeof c, stop_meanwhile, 0, NULL), 7);
}

static int
many(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int i = 0; i < 50; i++) {
		weft_waitgroup_add(&wg, 1);
		weft_go(nothing);
	}
	weft_waitgroup_wait(&wg);
	return 7;
}

static int
many_until_refused(int argc, char **argv)
{
	do
		many(argc, argv);
	while (!__atomic_load_n(&refused, __ATOMIC_SEQ_CST));
	return 7;
}

TEST(one_thread_does_it_all)
{
	weft_config c = { .procs = 4 };

	allowed = 1 + MONITOR;
	EQ(weft_run_config(&c, sizeof c, many_until_refused, 0, NULL), 7);
}

/*
 * A thread without a P finds an idle P and no thread for it. While one is being
 * made, and refused, another goroutine is queued: both run.
 */
static weft_waitgroup two;
static int waits, released, queued;

static void done_two(void) { weft_waitgroup_done(&two); }

static bool
was_queued(void)
{
	__atomic_store_n(&waits, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&queued, __ATOMIC_SEQ_CST);
}

static void *
refused_thread(void *arg)
{
	__atomic_store_n(&allowed, 0, __ATOMIC_SEQ_CST);
	weft_go(done_two);
	return arg;
}

static void *
relying_thread(void *arg)
{
	while (!__atomic_load_n(&waits, __ATOMIC_SEQ_CST))
		sched_yield();
	weft_go(done_two);
	__atomic_store_n(&queued, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static int
rely(int argc, char **argv)
{
	pthread_t a, b;

	(void)argc, (void)argv;
	weft_waitgroup_add(&two, 2);
	pthread_create(&b, NULL, relying_thread, NULL);
	pthread_create(&a, NULL, refused_thread, NULL);
	while (!__atomic_load_n(&released, __ATOMIC_SEQ_CST))
		sched_yield();
	weft_waitgroup_wait(&two);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 7;
}

TEST(queued_while_a_thread_is_refused)
{
	weft_config c = { .procs = 2 };

	meanwhile = was_queued;
	EQ(weft_run_config(&c, sizeof c, rely, 0, NULL), 7);
	EQ(queued, 1);
}

static int
use_stack(int argc, char **argv)
{
	volatile char big[20 << 20];

	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof big; i += 4096)
		big[i] = 1;
	return 7;
}

/* A stack of a refused start must not serve a later one that wants more. */
TEST(second_try_with_a_larger_stack)
{
	weft_config c = { .procs = 1, .stack = (8 << 20) - (68 << 10) };

	allowed = 0;
	EQ(weft_run_config(&c, sizeof c, use_stack, 0, NULL), -EAGAIN);
	allowed = 1 << 30;
	c.stack = 60 << 20;
	EQ(weft_run_config(&c, sizeof c, use_stack, 0, NULL), 7);
}

static int
crash(int argc, char **argv)
{
	(void)argv;
	*(volatile int *)(uintptr_t)(argc + 8) = 1;
	return 0;
}

/* Refused at first, then tried again; a crash is still a crash. */
TEST(second_try)
{
	int status = 0;
	pid_t pid;

	allowed = 0;
	EQ(weft_run(many, 0, NULL), -EAGAIN);
	allowed = 1 << 30;
	pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		alarm(20);
		_exit(weft_run(crash, 0, NULL));
	}
	waitpid(pid, &status, 0);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	EQ(weft_run(many, 0, NULL), 7);
}
#endif

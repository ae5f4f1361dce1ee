/* SPDX-License-Identifier: MIT */
/* Announced calls: weft_blocking, and the pair of enter and leave. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "busy.h"
#include "plain_thread.h"
#include "run_env.h"

enum { MANY = 64, NAP_MS = 20 };

static weft_waitgroup all;
static int fd[2];
static char letter;

static void
nap(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void *
add_one(void *n)
{
	return (char *)n + 1;
}

static void *
read_letter(void *arg)
{
	*(ssize_t *)arg = read(fd[0], &letter, 1);
	return &letter;
}

static void *
fail_close(void *arg)
{
	*(int *)arg = close(-1);
	return NULL;
}

/* ---- what comes back ---- */

static void
results(void)
{
	char text[300];
	int r = 0;

	for (int i = 0; i < 299; i++)
		OK(weft_blocking(add_one, &text[i]) == &text[i + 1]);
	OK(weft_blocking(add_one, NULL) == (void *)1);
	errno = 0;
	weft_blocking(fail_close, &r);
	EQ(r, -1);
	EQ(errno, EBADF);
	errno = ENOTDIR;
	weft_blocking(add_one, text);
	EQ(errno, ENOTDIR);
	weft_blocking_enter();
	r = close(-1);
	weft_blocking_leave();
	EQ(r, -1);
	EQ(errno, EBADF);
}

ON_ALL(results)

ETEST(results_migrating, 2, "WEFT_MIGRATE=1") { results(); }

/* The same on a thread that is not weft's, and before there is a runtime. */
TEST(results_without_a_runtime) { results(); }

GTEST(results_on_a_thread, 1) { thread_call(results); }

GTEST(results_pinned, 2)
{
	pid_t tid;

	weft_pin();
	tid = gettid();
	for (int i = 0; i < 20; i++) {
		results();
		EQ(gettid(), tid);
	}
	weft_unpin();
}

/* ---- others have the processor meanwhile ---- */

static void
write_letter(char c)
{
	EQ(write(fd[1], &c, 1), 1);
}

static void
answered(int rounds)
{
	ssize_t n;

	EQ(pipe(fd), 0);
	for (int i = 0; i < rounds; i++) {
		n = 0;
		weft_go(write_letter, (char)('a' + i % 26));
		OK(weft_blocking(read_letter, &n) == &letter);
		EQ(n, 1);
		EQ(letter, 'a' + i % 26);
		weft_go(write_letter, 'z');
		weft_blocking_enter();
		n = read(fd[0], &letter, 1);
		weft_blocking_leave();
		EQ(n, 1);
		EQ(letter, 'z');
	}
	close(fd[0]);
	close(fd[1]);
}

GTEST(the_writer_runs_on_the_only_proc, 1) { answered((int)t_scale(300)); }

GTEST(the_writer_runs_beside_a_pinned_one, 1)
{
	weft_pin();
	answered((int)t_scale(100));
	weft_unpin();
}

GTEST(back_among_endless_ones, 2)
{
	static long stop;

	weft_waitgroup_add(&all, 4);
	for (int i = 0; i < 4; i++)
		weft_go(busy_goroutine, &stop, &all);
	answered(10);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* ---- many at once ---- */

static void *
nap_call(void *arg)
{
	nap(NAP_MS);
	return arg;
}

static long within;

/* Returns when all of them are in it: one after another they never were. */
static void *
meet_call(void *arg)
{
	bump(&within);
	while (get(&within) < MANY)
		nap(1);
	return arg;
}

static void
napper(bool pin)
{
	if (pin)
		weft_pin();
	OK(weft_blocking(meet_call, &letter) == &letter);
	weft_waitgroup_done(&all);
}

GTEST(many_naps_overlap, 2)
{
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(napper, i % 4 == 0);
	weft_waitgroup_wait(&all);
}

/* ---- they are seen, and counted ---- */

static void
sleeper(void)
{
	char c;

	weft_blocking_enter();
	EQ(read(fd[0], &c, 1), 1);
	weft_blocking_leave();
	weft_waitgroup_done(&all);
}

GTEST(are_counted, 1)
{
	weft_preempt_stats s;

	EQ(pipe(fd), 0);
	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(sleeper);
	do {
		weft_yield();
		s = stalls_now();
	} while (s.blocked < 3);
	EQ(s.blocked, 3);
	EQ(s.detached, 0);
	OK(s.taken[WEFT_RETAKE_CALL] > 0);
	EQ(write(fd[1], "abc", 3), 3);
	weft_waitgroup_wait(&all);
	/* Their threads are counted for a moment longer. */
	while (stalls_now().blocked)
		weft_sleep(WEFT_MS);
}

/* ---- asleep, but not dead ---- */

static weft_event happened;

static void *
late_writer(void *arg)
{
	nap(500);
	write_letter('l');
	return arg;
}

static void
reader(void)
{
	ssize_t n = 0;

	weft_blocking(read_letter, &n);
	EQ(letter, 'l');
	weft_event_set(&happened);
}

/* The kernel will end that call; the runtime cannot tell that it will not. */
GTEST(no_deadlock_while_one_blocks, 2)
{
	struct pollfd p = { .events = POLLIN };
	pthread_t t;

	EQ(pipe(fd), 0);
	p.fd = fd[0];
	EQ(poll(&p, 1, 0), 0);
	weft_go(reader);
	pthread_create(&t, NULL, late_writer, NULL);
	weft_event_wait(&happened);
	pthread_join(t, NULL);
}

static void
naps_then_sets(void)
{
	weft_blocking(nap_call, NULL);
	nap(400);
	weft_event_set(&happened);
}

/* No other thread is there to blame. */
GTEST(no_deadlock_while_one_naps, 2)
{
	weft_go(naps_then_sets);
	weft_event_wait(&happened);
}

GTEST(no_deadlock_while_a_pinned_one_naps, 1)
{
	weft_pin();
	weft_go(naps_then_sets);
	weft_event_wait(&happened);
	weft_blocking(nap_call, NULL);
	weft_unpin();
}

/* ---- what is allowed within ---- */

static void *
has_name(void *name)
{
	OK(weft_self_id() > 0);
	OK(!strcmp(weft_self_name(), name));
	return NULL;
}

static void
named(void)
{
	char name[] = "caller";

	weft_blocking(has_name, name);
	weft_blocking_enter();
	has_name(name);
	weft_blocking_leave();
	weft_waitgroup_done(&all);
}

GTEST(it_knows_itself_within, 1)
{
	weft_waitgroup_add(&all, 1);
	weft_go_opt(WEFT_OPT(.name = "caller"), named);
	weft_waitgroup_wait(&all);
}

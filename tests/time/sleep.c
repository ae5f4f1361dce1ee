/* SPDX-License-Identifier: MIT */
/*
 * The clock and sleep: never short, whatever is asked for, on goroutines and
 * on plain threads, with a runtime and without.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

#include "kernel_clock.h"
#include "plain_thread.h"
#include "samples.h"
#include "t.h"
#include "timer_expect.h"

/* ---- the clock ---- */

static void
clock_never_goes_back(void)
{
	int64_t last = weft_now();

	for (long i = 0; i < t_scale(100000); i++) {
		int64_t now = weft_now();

		if (now < last)
			t_fail(__FILE__, __LINE__, "the clock went back");
		last = now;
	}
}

TEST(clock_without_runtime)
{
	clock_never_goes_back();
}

static void
send_the_time(weft_chan *c, long n)
{
	while (n-- > 0)
		weft_send(c, weft_now());
}

/* What another read before it told us is not later than what we read. */
GTEST(clock_agrees_between_procs, 4)
{
	long n = t_scale(20000);
	weft_chan *c = weft_chan_make(sizeof(int64_t), 0);

	for (int i = 0; i < 4; i++)
		weft_go(send_the_time, c, n);
	for (long i = 0; i < 4 * n; i++) {
		int64_t told = weft_recv(c, int64_t);

		if (told > weft_now())
			t_fail(__FILE__, __LINE__, "a time of the future");
	}
	clock_never_goes_back();
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(c);
}

TEST(clock_counts_nanoseconds)
{
	struct timespec ts = { .tv_nsec = 50 * 1000 * 1000 };
	int64_t w = weft_now(), k = kernel_now();

	nanosleep(&ts, NULL);
	k = kernel_now() - k;
	w = weft_now() - w;
	OK(w >= k && w < k + 10 * WEFT_SECOND);
}

/* ---- weft_deadline ---- */

static void
check_in(int64_t ns)
{
	int64_t lo = weft_now(), in = weft_deadline(ns), hi = weft_now();

	OK(in >= lo + ns && in <= hi + ns);
}

TEST(in_adds)
{
	check_in(0);
	check_in(1);
	check_in(WEFT_SECOND);
	check_in(100 * 365 * 24 * HOUR);
	check_in(-1);
	check_in(-WEFT_SECOND);
}

TEST(in_saturates)
{
	EQ(weft_deadline(INT64_MAX), WEFT_NEVER);
	EQ(weft_deadline(INT64_MAX - 1), WEFT_NEVER);
	EQ(weft_deadline(INT64_MAX - weft_now()), WEFT_NEVER);
	OK(weft_deadline(INT64_MAX - weft_now() - HOUR) < WEFT_NEVER);
	OK(weft_deadline(INT64_MAX - weft_now() - HOUR) >
	    WEFT_NEVER - 2 * HOUR);
	OK(weft_deadline(INT64_MIN) < weft_now());
	/* 0 would be no limit, so it is never that */
	EQ(weft_deadline(INT64_MIN), 1);
	EQ(weft_deadline(INT64_MIN / 2), 1);
	OK(weft_deadline(-weft_now()) > 0);
}

/* ---- never short ---- */

static void
sleep_checked(int64_t ns)
{
	int64_t w = weft_now(), k = kernel_now();

	weft_sleep(ns);
	w = weft_now() - w;
	k = kernel_now() - k;
	if (w < ns || k < ns - ns / 100)
		EQ(w, ns);
}

static void
sleep_until_checked(int64_t ns)
{
	int64_t when = weft_now() + ns;

	weft_sleep_until(when);
	if (weft_now() < when)
		t_fail(__FILE__, __LINE__, "slept too short");
}

static void
never_short(void)
{
	static const int64_t some[] = { 0, -1, -HOUR, INT64_MIN, INT64_MIN + 1,
	    1, 10, 1000, 50 * WEFT_US, WEFT_MS, 20 * WEFT_MS };
	int n = sizeof some / sizeof some[0];

	for (int i = 0; i < n; i++)
		sleep_checked(some[i]);
	for (int i = 5; i < n; i++)
		sleep_until_checked(some[i]);
	for (long i = 0; i < t_scale(500); i++) {
		sleep_checked(i * 311);
		sleep_until_checked(i * 237);
	}
}

GTEST(never_short_on_one, 1) { never_short(); }
GTEST(never_short_on_four, 4) { never_short(); }

PLAIN_THREAD(never_short_thread, never_short())

GTEST(never_short_on_a_thread, 2) { thread_run(never_short_thread, NULL); }
TEST(never_short_without_runtime) { never_short(); }

/* Times that are over: none of these may wait. */
static void
until_the_past(void)
{
	for (long i = 0; i < t_scale(10000); i++) {
		weft_sleep_until(INT64_MIN);
		weft_sleep_until(-1);
		weft_sleep_until(0);
		weft_sleep_until(weft_now() - HOUR);
		weft_sleep_until(weft_now());
	}
}

PLAIN_THREAD(until_the_past_thread, until_the_past())

GTEST(sleep_until_the_past, 1)
{
	until_the_past();
	thread_run(until_the_past_thread, NULL);
}

TEST(sleep_until_the_past_without_runtime) { until_the_past(); }

static int
run_sleeps(int argc, char **argv)
{
	(void)argv;
	never_short();
	return argc;
}

TEST(before_and_after_the_runtime)
{
	sleep_checked(5 * WEFT_MS);
	EQ(weft_run(run_sleeps, 7, NULL), 7);
	sleep_checked(5 * WEFT_MS);
	sleep_checked(-5);
	until_the_past();
	thread_run(never_short_thread, NULL);
}

/* ---- never at all ---- */

static int woke;

static void
sleep_for_ever(int how)
{
	switch (how) {
	case 0: weft_sleep(INT64_MAX); break;
	case 1: weft_sleep(INT64_MAX - 1); break;
	case 2: weft_sleep(INT64_MAX - weft_now()); break;
	case 3: weft_sleep(INT64_MAX - weft_now() - HOUR); break;
	case 4: weft_sleep_until(WEFT_NEVER); break;
	case 5: weft_sleep_until(WEFT_NEVER - 1); break;
	case 6: weft_sleep(INT64_MAX / 2); break;
	case 7: weft_sleep(HOUR); break;
	}
	__atomic_add_fetch(&woke, 1, __ATOMIC_RELAXED);
}

PLAIN_THREAD(sleep_for_ever_thread, sleep_for_ever((int)(intptr_t)arg))

/* They are left asleep when main returns. */
static void
long_sleeps(bool threads)
{
	pthread_t t;

	for (int i = 0; i < 8; i++)
		weft_go(sleep_for_ever, i);
	for (intptr_t i = 0; threads && i < 8; i++)
		EQ(pthread_create(&t, NULL, sleep_for_ever_thread, (void *)i),
		    0);
	for (int i = 0; i < 20; i++)
		weft_sleep(10 * WEFT_MS);
	EQ(__atomic_load_n(&woke, __ATOMIC_RELAXED), 0);
	EQ(weft_goroutines(), 9);
}

GTEST(long_sleeps_last_on_one, 1) { long_sleeps(false); }
GTEST(long_sleeps_last_on_four, 4) { long_sleeps(false); }
GTEST(long_sleeps_last_on_threads, 2) { long_sleeps(true); }

/* ---- many ---- */

static weft_waitgroup all;

static void
sleep_at_random(unsigned seed)
{
	for (int i = 0; i < 5; i++)
		sleep_checked(rand_r(&seed) % (20 * WEFT_MS));
	weft_waitgroup_done(&all);
}

static void
many_sleepers(int n)
{
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(sleep_at_random, (unsigned)i);
	weft_waitgroup_wait(&all);
}

GTEST(many_sleep_on_one, 1) { many_sleepers((int)t_scale(10000)); }
GTEST(many_sleep_on_four, 4) { many_sleepers((int)t_scale(10000)); }

PLAIN_THREAD(sleep_at_random_thread, sleep_at_random((unsigned)(uintptr_t)arg))

GTEST(threads_and_goroutines_sleep, 2)
{
	enum { THREADS = 20 };
	pthread_t t[THREADS];
	int n = (int)t_scale(2000);

	weft_waitgroup_add(&all, n + THREADS);
	for (int i = 0; i < n; i++)
		weft_go(sleep_at_random, (unsigned)i);
	for (uintptr_t i = 0; i < THREADS; i++)
		EQ(pthread_create(&t[i], NULL, sleep_at_random_thread,
		    (void *)i), 0);
	weft_waitgroup_wait(&all);
	threads_join(t, THREADS);
}

static void
sleep_to(int64_t when)
{
	weft_sleep_until(when);
	OK(weft_now() >= when);
	weft_waitgroup_done(&all);
}

GTEST(all_until_the_same_time, 4)
{
	int n = (int)t_scale(5000);

	for (int round = 0; round < 3; round++) {
		int64_t when = weft_deadline(30 * WEFT_MS);

		weft_waitgroup_add(&all, n);
		for (int i = 0; i < n; i++)
			weft_go(sleep_to, when);
		weft_waitgroup_wait(&all);
		OK(weft_now() >= when);
	}
}

/* ---- a sleeper lets others run, and is no deadlock ---- */

static int turns;

GTEST(others_run_meanwhile, 1)
{
	weft_waitgroup_add(&all, 1);
	weft_go(take_turns, &turns, &all);
	/* It has no other moment to run in; one may be too short for it. */
	do
		weft_sleep(20 * WEFT_MS);
	while (__atomic_load_n(&turns, __ATOMIC_RELAXED) < 2);
	__atomic_store_n(&turns, INT32_MIN, __ATOMIC_RELAXED);
	while (weft_goroutines() > 1)
		weft_yield();
}

static weft_waitgroup never;

static void
wait_for_ever(void)
{
	weft_waitgroup_wait(&never);
}

/* Longer than the detector's retries last. */
static void
no_deadlock(void)
{
	weft_waitgroup_add(&never, 1);
	for (int i = 0; i < 3; i++)
		weft_go(wait_for_ever);
	weft_sleep(400 * WEFT_MS);
	weft_sleep(3 * WEFT_MS);
	weft_sleep(30 * WEFT_MS);
	EQ(weft_goroutines(), 4);
}

GTEST(sleep_is_no_deadlock_on_one, 1) { no_deadlock(); }
GTEST(sleep_is_no_deadlock_on_four, 4) { no_deadlock(); }

static void
sleep_then_done(int64_t ns)
{
	weft_sleep(ns);
	weft_waitgroup_done(&all);
}

/* Main waits for one that sleeps: also no deadlock. */
GTEST(waiting_for_a_sleeper, 2)
{
	weft_waitgroup_add(&all, 2);
	weft_go(sleep_then_done, 300 * WEFT_MS);
	weft_go(sleep_then_done, 1 * WEFT_MS);
	weft_waitgroup_wait(&all);
}

/* Main is gone, the rest sleeps, and then ends the program. */
static void
sleep_and_leave(void)
{
	weft_sleep(200 * WEFT_MS);
	_Exit(0);
}

GTEST(main_exits_sleepers_stay, 2)
{
	weft_go(sleep_and_leave);
	weft_goexit();
}

/* ---- interrupted ---- */

static int storm_over;

static void on_signal(int sig) { (void)sig; }

/* A signal to every thread but this, again and again. */
static void *
storm(void *arg)
{
	while (!__atomic_load_n(&storm_over, __ATOMIC_ACQUIRE)) {
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;

		while (d && (e = readdir(d))) {
			pid_t tid = atoi(e->d_name);

			if (tid > 0 && tid != gettid())
				syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
		}
		if (d)
			closedir(d);
	}
	return arg;
}

static void *
sleep_some_thread(void *arg)
{
	for (int i = 0; i < 20; i++)
		sleep_checked(10 * WEFT_MS);
	weft_waitgroup_done(&all);
	return arg;
}

/* Each interrupts whatever it is that the thread sleeps in. */
GTEST(signals_do_not_wake, 4)
{
	struct sigaction sa = { .sa_handler = on_signal,
	    .sa_flags = SA_ONSTACK };
	pthread_t s, p;

	EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	EQ(pthread_create(&s, NULL, storm, NULL), 0);
	weft_waitgroup_add(&all, 101);
	EQ(pthread_create(&p, NULL, sleep_some_thread, NULL), 0);
	for (unsigned i = 0; i < 100; i++)
		weft_go(sleep_at_random, i);
	for (int i = 0; i < 10; i++)
		sleep_checked(20 * WEFT_MS);
	weft_waitgroup_wait(&all);
	__atomic_store_n(&storm_over, 1, __ATOMIC_RELEASE);
	pthread_join(s, NULL);
	pthread_join(p, NULL);
}

/* ---- how late: generously ---- */

static int64_t
median_lateness(void)
{
	enum { N = 200 };
	int64_t late[N];

	for (int i = 0; i < N; i++) {
		int64_t when = weft_deadline(50 * WEFT_US);

		weft_sleep(50 * WEFT_US);
		late[i] = weft_now() - when;
	}
	qsort(late, N, sizeof late[0], ascending);
	return late[N / 2];
}

/* The machine may be busy: one quiet moment of many is enough. */
static void
sleeps_are_short(void)
{
	int64_t best = WEFT_NEVER;

	for (int i = 0; i < 100 && best >= WEFT_MS; i++) {
		int64_t late = median_lateness();

		best = late < best ? late : best;
	}
	OK(best < WEFT_MS);
}

GTEST(short_sleeps_are_short_on_one, 1) { sleeps_are_short(); }
GTEST(short_sleeps_are_short_on_four, 4) { sleeps_are_short(); }

/* ---- nearer than the time that a thread sleeps for already ---- */

static int sooner;

static void
be_sooner(void *arg)
{
	(void)arg;
	__atomic_store_n(&sooner, 1, __ATOMIC_RELEASE);
}

/*
 * One thread sleeps until a timer that is far away. A goroutine that sets a
 * nearer one does not let others run: so that thread must hear of it.
 */
GTEST(nearer_than_the_first, 2)
{
	weft_timer *far = weft_after_func(600 * WEFT_SECOND, be_sooner, NULL);
	double limit = t_now() + 30, settled;
	weft_timer *near;

	weft_sleep(20 * WEFT_MS);
	settled = t_now() + 0.1;
	while (t_now() < settled)
		;
	near = weft_after_func(WEFT_MS, be_sooner, NULL);
	while (!__atomic_load_n(&sooner, __ATOMIC_ACQUIRE) && t_now() < limit)
		;
	OK(sooner);
	weft_timer_free(far);
	weft_timer_free(near);
}

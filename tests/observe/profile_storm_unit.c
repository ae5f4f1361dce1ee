/* SPDX-License-Identifier: MIT */
/*
 * Samples at every instruction: timers of real time send each thread the
 * profiler's signal every 50 microseconds, where the kernel's CPU clocks give
 * at most a thousand a second. Meanwhile goroutines compute, wait, spawn and
 * sleep, are preempted every 50 microseconds and moved at every call, and
 * profiles are begun and ended. Results are checked, and all goroutines end.
 */
#define _GNU_SOURCE 1
#include "profile_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os.h"
#include "t.h"
#include "weft.h"

enum { TIMERS = 256, LOOPS = 8, PERIOD_NS = 50000 };

/* As the kernel has it: see os/cpu_timer.c. */
struct event {
	uintptr_t value;
	int32_t signal, notify, tid, pad[11];
};

static struct { int tid, id; } timers[TIMERS];
static int n_timers;
static bool ended;
static a64 samples, empty, walked;

static bool
is_over(void)
{
	return __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
}

static void
on_sample(const struct profile_sample *s)
{
	a_add_relaxed(s->n > 0 && s->pcs[0] ? &samples : &empty, 1);
	if (s->goroutine && s->n > 1)
		a_add_relaxed(&walked, 1);
}

/* ---- the storm: a plain thread ---- */

static void
storm_thread(int tid)
{
	enum { THREAD_ID = 4 };
	struct event ev = { (uintptr_t)&profile_cpu_marks[0], SIGPROF,
	    THREAD_ID, tid, {0} };
	struct itimerspec every = { { 0, PERIOD_NS }, { 0, PERIOD_NS } };
	int id;

	for (int i = 0; i < n_timers; i++)
		if (timers[i].tid == tid)
			return;
	if (n_timers == TIMERS || syscall(SYS_timer_create, CLOCK_MONOTONIC,
	    &ev, &id) != 0)
		return;
	timers[n_timers].tid = tid;
	timers[n_timers++].id = id;
	syscall(SYS_timer_settime, id, 0, &every, NULL);
}

static void
storm_all(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != os_thread_id())
			storm_thread(atoi(e->d_name));
	if (d)
		closedir(d);
}

static void *
storm(void *arg)
{
	struct timespec ms = { 0, 20000000 };

	while (!is_over()) {
		storm_all();
		nanosleep(&ms, NULL);
	}
	for (int i = 0; i < n_timers; i++)
		syscall(SYS_timer_delete, timers[i].id);
	return arg;
}

/* ---- goroutines ---- */

static weft_waitgroup all;
static weft_chan *there, *back;
static weft_mutex mu;
static long counted, wrong;

static uint64_t
compute(uint64_t x)
{
	for (int i = 0; i < 20000; i++)
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return x;
}

static void
loop(uint64_t seed)
{
	uint64_t want = compute(seed);

	while (!is_over())
		if (compute(seed) != want)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void
echo(void)
{
	int v = 0;

	while (weft_recv_ok(there, &v))
		weft_send(back, v);
}

static void
ping(void)
{
	int got = 0;

	for (int i = 0; !is_over(); i++) {
		weft_send(there, i);
		if (!weft_recv_ok(back, &got) || got != i)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	}
	weft_chan_close(there);
}

static void
count(void)
{
	weft_label_set("kind", "count");
	weft_mutex_lock(&mu);
	counted++;
	weft_mutex_unlock(&mu);
}

static void
spawn(void)
{
	long spawned = 0;

	while (!is_over()) {
		weft_waitgroup wg = {0};

		for (int i = 0; i < 50; i++, spawned++)
			weft_waitgroup_go(&wg, count);
		weft_waitgroup_wait(&wg);
		free(malloc(64 + (size_t)spawned % 5000));
	}
	weft_mutex_lock(&mu);
	EQ(counted, spawned);
	weft_mutex_unlock(&mu);
}

static void
sleep_often(void)
{
	while (!is_over())
		weft_sleep(100 * WEFT_US);
}

static void
restart(void)
{
	int null = open("/dev/null", O_WRONLY), err;

	for (int i = 0; !is_over(); i++) {
		err = weft_profile_cpu_start(i % 2 ? 10000 : 100, i % 3 == 0);
		EQ(err, 0);
		weft_sleep(5 * WEFT_MS);
		weft_profile_write(WEFT_PROFILE_CPU, null, i % 8 == 0);
		if (i % 8 == 0)
			weft_profile_write(WEFT_PROFILE_GOROUTINE, null, 0);
		EQ(weft_profile_cpu_stop(), 0);
	}
	close(null);
}

static int
body(int argc, char **argv)
{
	pthread_t t;

	(void)argc, (void)argv;
	there = weft_chan_make(sizeof(int), 0);
	back = weft_chan_make(sizeof(int), 0);
	EQ(weft_profile_block_rate(1), 0);
	EQ(weft_profile_mutex_fraction(2), 0);
	EQ(weft_profile_offcpu_rate(1000), 0);
	a_store_relaxed(&profile_sample_hook, on_sample);
	/* From now on the signal has a handler. */
	EQ(weft_profile_cpu_start(1, 0), 0);
	EQ(weft_profile_cpu_stop(), 0);
	EQ(pthread_create(&t, NULL, storm, NULL), 0);
	for (int i = 0; i < LOOPS; i++)
		weft_waitgroup_go(&all, loop, (uint64_t)i);
	weft_waitgroup_go(&all, echo);
	weft_waitgroup_go(&all, ping);
	weft_waitgroup_go(&all, spawn);
	weft_waitgroup_go(&all, sleep_often);
	weft_waitgroup_go(&all, restart);
	while (t_more(3) || !a_load_relaxed(&walked) ||
	    !a_load_relaxed(&samples))
		weft_sleep(10 * WEFT_MS);
	__atomic_store_n(&ended, true, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
	EQ(wrong, 0);
	OK(a_load_relaxed(&samples) > 0);
	OK(a_load_relaxed(&walked) > 0);
	EQ(a_load_relaxed(&empty), 0);
	printf("# %lu samples, %lu of goroutines with callers\n",
	    (unsigned long)a_load_relaxed(&samples),
	    (unsigned long)a_load_relaxed(&walked));
	weft_chan_release(there);
	weft_chan_release(back);
	return 0;
}

static void
run(int procs, const char *slice, const char *migrate)
{
	weft_config c = { .procs = procs };

	if (T_SANITIZED || t_valgrind() || t_emulated())
		t_skip("no profiling signals here");
	setenv("WEFT_SLICE_US", slice, 1);
	setenv("WEFT_MIGRATE", migrate, 1);
	EQ(weft_run_config(&c, sizeof c, body, 0, NULL), 0);
}

TEST(preempted_and_moved) { run(4, "50", "1"); }
TEST(preempted_on_one) { run(1, "50", "0"); }
TEST(moved_on_eight) { run(8, "0", "1"); }

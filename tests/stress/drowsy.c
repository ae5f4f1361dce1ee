/* SPDX-License-Identifier: MIT */
/*
 * A program that sleeps until a time makes no system calls until then, and a
 * handful when it comes. Shown by what the kernel counted for each thread, and
 * by strace.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

#define HOUR (3600 * WEFT_SECOND)

#ifdef __SANITIZE_THREAD__
enum { OWN_THREAD = 1 };
#else
enum { OWN_THREAD = 0 };
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static weft_waitgroup gate;

static void
sleep_for(double s)
{
	time_t whole = (time_t)s;
	struct timespec ts = { whole, (long)((s - (double)whole) * 1e9) };

	nanosleep(&ts, NULL);
}

/* Switches of one thread. */
static long
switches(const char *tid)
{
	char path[300], line[256];
	long sum = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "ctxt_switches:"))
			sum += atol(strchr(line, ':') + 1);
	if (f)
		fclose(f);
	return sum;
}

/* Of all threads but the caller's. */
static long
activity(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	long sum = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != gettid())
			sum += switches(e->d_name);
	if (d)
		closedir(d);
	return sum;
}

/* Returns when all of weft's threads sleep and have made up their minds. */
static void
settle(void)
{
	weft_stats s;

	do {
		sched_yield();
		weft_stats_read(&s);
	} while (s.threads_idle < s.threads);
	sleep_for(0.3);
}

/* ---- as the kernel counts ---- */

static void *
watch(void *moved)
{
	long before;

	settle();
	before = activity();
	sleep_for(0.7);
	*(long *)moved = activity() - before;
	weft_waitgroup_done(&gate);
	return NULL;
}

static void nothing(void *arg) { (void)arg; }

/* Every way to wait for an hour, and timers that nobody waits for. */
static void
sleep_long(int how)
{
	weft_chan *c = weft_chan_make(8, 0);
	weft_case cases[] = { WEFT_RECV(c, NULL), WEFT_RECV(weft_after(HOUR),
	    NULL) };

	weft_after_func(HOUR, nothing, NULL);
	switch (how % 4) {
	case 0: weft_sleep(HOUR); break;
	case 1: weft_chan_recv_until(c, NULL, weft_in(HOUR)); break;
	case 2: weft_select(cases, 2); break;
	case 3: weft_chan_recv(weft_timer_chan(weft_ticker_make(HOUR)), NULL);
	}
}

static void
nobody_moves(int sleepers)
{
	long moved = -1;
	pthread_t t;

	if (OWN_THREAD)
		t_skip("the sanitizer has a thread of its own");
	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < sleepers; i++)
		weft_go(sleep_long, i);
	EQ(pthread_create(&t, NULL, watch, &moved), 0);
	weft_waitgroup_wait(&gate);
	pthread_join(t, NULL);
	EQ(moved, 0);
}

GTEST(one_sleeper_moves_nobody, 4) { nobody_moves(1); }
GTEST(many_sleepers_move_nobody, 4) { nobody_moves(100); }
GTEST(sleepers_of_one_move_nobody, 1) { nobody_moves(10); }

/* Timers that were stopped do not wake anybody at their time. */
static void *
watch_stopped(void *moved)
{
	weft_timer *t[100];
	long before;

	for (int i = 0; i < 100; i++)
		t[i] = weft_after_func((400 + i * 3) * WEFT_MS, nothing, NULL);
	for (int i = 0; i < 100; i++)
		OK(weft_timer_stop(t[i]));
	settle();
	before = activity();
	sleep_for(0.6);
	*(long *)moved = activity() - before;
	weft_waitgroup_done(&gate);
	return NULL;
}

/* One wake to find out that there is nothing left would be all right. */
GTEST(stopped_timers_wake_nobody, 2)
{
	long moved = -1;
	pthread_t t;

	if (OWN_THREAD)
		t_skip("the sanitizer has a thread of its own");
	weft_waitgroup_add(&gate, 1);
	EQ(pthread_create(&t, NULL, watch_stopped, &moved), 0);
	weft_waitgroup_wait(&gate);
	pthread_join(t, NULL);
	OK(moved >= 0 && moved <= 20);
}

/* ---- under strace ---- */

static void begin(void) { prctl(PR_GET_DUMPABLE, 1); }
static void end(void) { prctl(PR_GET_DUMPABLE, 2); }

/* Main and another sleep for an hour; a thread looks, and ends it all. */
static void *
look_and_leave(void *arg)
{
	settle();
	begin();
	sleep_for(1);
	end();
	_exit(0);
	return arg;
}

/* These run only when asked for by name. */
GTEST(traced_hour, 4)
{
	pthread_t t;

	weft_go(weft_sleep, HOUR);
	EQ(pthread_create(&t, NULL, look_and_leave, NULL), 0);
	weft_sleep(HOUR);
}

GTEST(traced_second, 4)
{
	weft_sleep(5 * WEFT_MS);
	begin();
	weft_sleep(WEFT_SECOND);
	end();
}

/* Lines between the two marks, less the sleep of who looks. */
static long
count_calls(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	bool in = false;
	int marks = 0;
	long n = 0;

	while (f && fgets(line, sizeof line, f)) {
		if (strstr(line, "PR_GET_DUMPABLE")) {
			in = !in;
			marks++;
			continue;
		}
		if (in && !strstr(line, "nanosleep")) {
			fprintf(stderr, "# %s", line);
			n++;
		}
	}
	if (f)
		fclose(f);
	return marks == 2 ? n : -1;
}

static long
trace(const char *test)
{
	char cmd[1024], self[512], out[] = "/tmp/weft-drowsy-XXXXXX";
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	long calls;
	int fd;

	if (SANITIZED)
		t_skip("not under a sanitizer");
	if (getenv("RUN") && *getenv("RUN"))
		t_skip("not under an emulator");
	if (system("strace -V >/dev/null 2>&1") != 0)
		t_skip("no strace (apt install strace)");
	self[n > 0 ? n : 0] = 0;
	fd = mkstemp(out);
	snprintf(cmd, sizeof cmd, "strace -f -o %s %s %s >/dev/null 2>&1", out,
	    self, test);
	if (system(cmd) != 0)
		t_skip("strace may not trace here");
	calls = count_calls(out);
	unlink(out);
	close(fd);
	return calls;
}

TEST(an_hour_is_silent)
{
	EQ(trace("traced_hour"), 0);
}

/* It falls asleep, wakes, and perhaps wakes another; that is all. */
TEST(a_second_is_a_handful)
{
	long calls = trace("traced_second");

	OK(calls >= 0 && calls <= 30);
}

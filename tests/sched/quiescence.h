/* SPDX-License-Identifier: MIT */
/*
 * Watching a program do nothing: by what the kernel counted for each thread,
 * and by strace, between two marks.
 */
#ifndef SILENCE_H
#define SILENCE_H

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

/*
 * Returns when all is quiet: those that were too many have left, every thread
 * of weft sleeps, and the tenth of a second is over in which the last of them
 * asks for a deadlock.
 */
static void
settle(void)
{
	weft_stats s;

	do {
		sched_yield();
		weft_stats_read(&s, sizeof s);
	} while (s.threads_idle < s.threads || s.threads > s.procs);
	sleep_for(0.5);
}

/* What the others have done meanwhile. */
static inline long
activity_in(double seconds)
{
	long before = activity();

	sleep_for(seconds);
	return activity() - before;
}

/* Skips where a thread that is not weft's is counted, too. */
static inline void
need_own_threads(void)
{
	if (T_TSAN)
		t_skip("the sanitizer has a thread of its own");
}

/* No thread moves while `idle` waits until this watch ends it. */
static inline void
check_idle(void (*idle)(void *(*watch)(void *), void *arg),
    void *(*watch)(void *))
{
	long moved = -1;

	need_own_threads();
	idle(watch, &moved);
	EQ(moved, 0);
}

/* Waits, as a goroutine, while a plain thread watches and ends the wait. */
static inline void
wait_watched(weft_waitgroup *wg, void *(*watch)(void *), void *arg)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, watch, arg), 0);
	weft_waitgroup_wait(wg);
	EQ(pthread_join(t, NULL), 0);
}

static inline void mark_begin(void) { prctl(PR_GET_DUMPABLE, 1); }
static inline void mark_end(void) { prctl(PR_GET_DUMPABLE, 2); }

static inline void
mark_for(double seconds)
{
	mark_begin();
	sleep_for(seconds);
	mark_end();
}

/* Calls made between the two marks, less the sleep of the one that looks. The
 * end of a call may be a line of its own. */
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
			n += !strstr(line, " resumed>");
		}
	}
	if (f)
		fclose(f);
	return marks == 2 ? n : -1;
}

/* For a test that checks nothing unless trace() runs it. */
static void
only_traced(void)
{
	if (!getenv("T_TRACED"))
		t_skip("it is run under strace");
}

/* Runs a test of this program, by name, under strace: calls between marks. */
static long
trace(const char *test)
{
	char cmd[1024], self[512], out[] = "/tmp/weft-calls-XXXXXX";
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	long calls;
	int fd;

	if (T_SANITIZED)
		t_skip("not under a sanitizer");
	if (getenv("RUN") && *getenv("RUN"))
		t_skip("not under an emulator");
	if (system("strace -V >/dev/null 2>&1") != 0)
		t_skip("no strace (apt install strace)");
	self[n > 0 ? n : 0] = 0;
	fd = mkstemp(out);
	snprintf(cmd, sizeof cmd, "T_TRACED=1 strace -f -o %s %s %s >/dev/null "
	    "2>&1", out, self, test);
	if (system(cmd) != 0)
		t_skip("strace may not trace here");
	calls = count_calls(out);
	unlink(out);
	close(fd);
	return calls;
}

/* A GTEST `traced` that waits, and a test that strace sees nothing of it. */
#define STRACE_SEES_NOTHING(procs, wait)				\
	GTEST(traced, procs)						\
	{								\
		only_traced();						\
		wait;							\
	}								\
	TEST(strace_sees_nothing) { EQ(trace("traced"), 0); }

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A program whose goroutines all wait makes no system calls and uses no CPU.
 * Shown twice: by what the kernel counted for each thread, and by strace
 * (T_SECONDS=10 to look for that long).
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

static weft_waitgroup gate;

static double
seconds(void)
{
	const char *s = getenv("T_SECONDS");

	return s ? atof(s) : 2;
}

static void
waiter(void)
{
	weft_waitgroup_wait(&gate);
}

static void
sleep_for(double s)
{
	time_t whole = (time_t)s;
	struct timespec ts = { whole, (long)((s - (double)whole) * 1e9) };

	nanosleep(&ts, NULL);
}

/* Switches and ticks of all threads but the caller's, added up. */
static long
activity(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	long sum = 0;

	while (d && (e = readdir(d))) {
		char path[300], line[256];
		FILE *f;

		if (e->d_name[0] == '.' || atoi(e->d_name) == gettid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/status",
		    e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof line, f))
			if (strstr(line, "ctxt_switches:"))
				sum += atol(strchr(line, ':') + 1);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

/*
 * Returns when all is quiet: every thread of weft sleeps, and the tenth of a
 * second is over in which the last of them asks for a deadlock.
 */
static void
settle(void)
{
	weft_stats s;

	do {
		sched_yield();
		weft_stats_read(&s);
	} while (s.threads_idle < s.threads);
	sleep_for(0.5);
}

/* This thread is not one of weft's. */
static void *
watch(void *moved)
{
	long before;

	settle();
	before = activity();
	sleep_for(seconds());
	*(long *)moved = activity() - before;
	weft_waitgroup_done(&gate);
	return NULL;
}

static void
idle_program(void *(*thread)(void *), void *arg)
{
	pthread_t t;

	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < 100; i++)
		weft_go(waiter);
	pthread_create(&t, NULL, thread, arg);
	weft_waitgroup_wait(&gate);
	pthread_join(t, NULL);
}

GTEST(no_thread_moves, 4)
{
	long moved = -1;

#ifdef __SANITIZE_THREAD__
	t_skip("the sanitizer has a thread of its own");
#endif
	idle_program(watch, &moved);
	EQ(moved, 0);
}

/* ---- under strace ---- */

static void *
mark(void *arg)
{
	(void)arg;
	settle();
	prctl(PR_GET_DUMPABLE, 1);	/* begin */
	sleep_for(seconds());
	prctl(PR_GET_DUMPABLE, 2);	/* end */
	weft_waitgroup_done(&gate);
	return NULL;
}

/* The traced program: runs only when asked for by name. */
GTEST(traced, 4)
{
	idle_program(mark, NULL);
}

/* Lines between the two marks, less the sleep and the resumed second mark. */
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

TEST(strace_sees_nothing)
{
	char cmd[1024], self[512], out[] = "/tmp/weft-quiet-XXXXXX";
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	int fd;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	t_skip("not under a sanitizer");
#endif
	if (getenv("RUN") && *getenv("RUN"))
		t_skip("not under an emulator");
	if (system("strace -V >/dev/null 2>&1") != 0)
		t_skip("no strace (apt install strace)");
	self[n > 0 ? n : 0] = 0;
	fd = mkstemp(out);
	snprintf(cmd, sizeof cmd, "strace -f -o %s %s traced >/dev/null 2>&1",
	    out, self);
	if (system(cmd) != 0)
		t_skip("strace may not trace here");
	EQ(count_calls(out), 0);
	unlink(out);
	close(fd);
}

/* SPDX-License-Identifier: MIT */
/* See usage.h. */
#define _GNU_SOURCE
#include "usage.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 20000000 };

static long most;		/* atomic; without the thread that looks */

/* The number behind "NAME:" in a file of /proc/PID; 0 if there is none. */
static long
field(pid_t process, const char *file, const char *name)
{
	char path[64], line[256];
	size_t len = strlen(name);
	long value = 0;
	FILE *in;

	snprintf(path, sizeof path, "/proc/%d/%s",
	    (int)(process ? process : getpid()), file);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof line, in))
		if (!strncmp(line, name, len) && line[len] == ':')
			value = atol(line + len + 1);
	if (in)
		fclose(in);
	return value;
}

long
usage_threads(pid_t process)
{
	return field(process, "status", "Threads");
}

double
usage_bytes(pid_t process)
{
	return (double)field(process, "smaps_rollup", "Rss") * 1024;
}

double
usage_cpu_us(pid_t process)
{
	struct timespec ts = {0};
	clockid_t clock;

	if (!clock_getcpuclockid(process, &clock))
		clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void
look(void)
{
	long n = usage_threads(0) - 1;

	if (n > __atomic_load_n(&most, __ATOMIC_RELAXED))
		__atomic_store_n(&most, n, __ATOMIC_RELAXED);
}

static void *
watch(void *arg)
{
	struct timespec ts = { 0, PERIOD_NS };

	for (;;) {
		look();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	}
	return arg;
}

void
usage_watch_threads(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, watch, NULL)) {
		fprintf(stderr, "usage: no thread\n");
		exit(1);
	}
	pthread_detach(t);
}

long
usage_most_threads(void)
{
	return __atomic_load_n(&most, __ATOMIC_RELAXED);
}

/* SPDX-License-Identifier: MIT */
/*
 * How many threads of a process run or could run, state R in /proc, looked at
 * again and again by a child that was forked before there were any threads.
 * As a process of its own its CPU time is not counted among the program's, and
 * no thread of the program waits for it. A look at 1000 threads takes
 * milliseconds, so it sleeps 20 times as long as it looked: it takes 5 percent
 * of a CPU at most.
 *
 * It ends when the pipe to it is closed, and then sends what it saw.
 */
#define _GNU_SOURCE
#include "loops.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS_MAX = 20000, LEAST_MS = 5, RATIO = 20 };

struct census {
	double p50, p99, max;
};

static pid_t child;
static int stop_it, result;	/* our ends of two pipes */

/* Is that thread in state R? The state follows the last parenthesis. */
static int
runs(int tasks, const char *tid)
{
	char path[64], buf[256], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%.20s/stat", tid);
	fd = openat(tasks, path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, buf, sizeof buf - 1);
	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = 0;
	end = strrchr(buf, ')');
	return end && end[1] == ' ' && end[2] == 'R';
}

static int
look(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			n += runs(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return n;
}

static int
ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void
census(pid_t pid, int until, int out)
{
	static int seen[LOOKS_MAX];
	struct pollfd p = { .fd = until, .events = POLLIN };
	struct census c = {0};
	int64_t took = 0;
	char folder[64];
	int n = 0;

	snprintf(folder, sizeof folder, "/proc/%d/task", (int)pid);
	while (n < LOOKS_MAX && poll(&p, 1,
	    LEAST_MS + (int)(took * RATIO / 1000000)) == 0) {
		took = loops_now();
		seen[n++] = look(folder);
		took = loops_now() - took;
	}
	qsort(seen, (size_t)n, sizeof *seen, ascending);
	if (n > 0)
		c = (struct census){ seen[n / 2], seen[n * 99 / 100],
			seen[n - 1] };
	loops_check("census", write(out, &c, sizeof c), sizeof c);
}

void
census_start(void)
{
	int until[2], out[2];
	pid_t pid = getpid();

	loops_check("pipe", pipe(until) | pipe(out), 0);
	child = fork();
	loops_check("fork", child >= 0, 1);
	if (child == 0) {
		close(until[1]);
		signal(SIGINT, SIG_DFL);
		census(pid, until[0], out[1]);
		_exit(0);
	}
	close(until[0]);
	close(out[1]);
	stop_it = until[1];
	result = out[0];
}

void
census_end(double *p50, double *p99, double *max)
{
	struct census c = {0};

	close(stop_it);
	loops_check("census", read(result, &c, sizeof c), sizeof c);
	waitpid(child, NULL, 0);
	*p50 = c.p50;
	*p99 = c.p99;
	*max = c.max;
}

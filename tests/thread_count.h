/* SPDX-License-Identifier: MIT */
/* How many threads a test has. */
#ifndef THREAD_COUNT_H
#define THREAD_COUNT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>

#include <weft.h>

enum {
	/* Beside those that run goroutines: the monitor, and those that wait
	 * in the poller, for work, or for what blocks for a moment. */
	THREADS_BESIDE = 8,
	/* A thread that has nothing to do ends after a while; those that
	 * stood in for goroutines that computed, in a handshake say. */
	THREADS_END_MS = 20000,
};

/* Entries of /proc/self/task. */
static inline int
threads_now(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static inline bool
threads_at_most(int most)
{
	int n = threads_now();

	if (n <= most)
		return true;
	fprintf(stderr, "# %d threads, not at most %d\n", n, most);
	return false;
}

/* While goroutines wait in a library: they have no threads. */
static inline bool
threads_are_few(void)
{
	int most = weft_procs() + THREADS_BESIDE;

	for (int ms = 0; threads_now() > most && ms < THREADS_END_MS; ms += 5)
		weft_sleep(5 * WEFT_MS);
	return threads_at_most(most);
}

#endif

/* SPDX-License-Identifier: MIT */
/* What tests of the hooks ask of them, and of the kernel's threads. */
#ifndef HOOKED_H
#define HOOKED_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft.h>
#include <weft/hooks.h>

#include "stats_now.h"
#include "t.h"

STATS_NOW_(hooks_now, weft_hooks_stats)

/* Threads of this process. */
static inline int
count_threads(void)
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

/*
 * However many goroutines wait, 50 to 200: no thread for each. Some are there
 * because the machine was busy and a P was retaken in the meantime: 3 to 12
 * were seen. (WEFT_MIGRATE=1 has threads to move goroutines to; how many
 * depends on the machine.)
 */
enum { SPARE_THREADS = 24 };

static inline bool
are_few(int threads)
{
	return threads <= weft_procs() + SPARE_THREADS ||
	    getenv("WEFT_MIGRATE");
}

#define FEW_THREADS()							\
	do {								\
		int threads_ = count_threads();				\
									\
		if (!are_few(threads_))					\
			EQ(threads_, weft_procs() + SPARE_THREADS);	\
	} while (0)

static inline int
thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

/* The kernel's letter for what that thread does; 0 if there is none. */
static inline char
thread_state(int tid)
{
	char path[64], text[512];
	const char *end;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Returns when that thread sleeps in the kernel. */
static inline void
await_asleep(const int *tid)
{
	int t;

	while ((t = __atomic_load_n(tid, __ATOMIC_ACQUIRE)) == 0 ||
	    thread_state(t) != 'S')
		weft_sleep(100 * WEFT_US);
}

/* Whether the counter gets there. Only a failure takes that long. */
#define GETS_TO(counter, least)	gets_to_(offsetof(weft_hooks_stats, counter), \
	least)
static inline bool
gets_to_(size_t at, uint64_t least)
{
	for (double end = t_now() + 15; t_now() < end; ) {
		weft_hooks_stats s = hooks_now();

		if (*(uint64_t *)((char *)&s + at) >= least)
			return true;
		weft_sleep(WEFT_MS);
	}
	return false;
}

#endif

/* SPDX-License-Identifier: MIT */
/* What tests of the hooks ask of them, and of the kernel's threads. */
#ifndef HOOKED_H
#define HOOKED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>
#include <weft/hooks.h>

#include "stats_now.h"
#include "t.h"
#include "thread_count.h"

STATS_NOW_(hooks_now, weft_hooks_stats)

/*
 * However many goroutines wait: no thread for each. (WEFT_MIGRATE=1 has threads
 * to move goroutines to; how many depends on the machine.)
 */
#define FEW_THREADS()	OK(getenv("WEFT_MIGRATE") || threads_are_few())

/* A time of that clock, so far from now. */
static inline struct timespec
in_ms(clockid_t clock, long ms)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_nsec += ms * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

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

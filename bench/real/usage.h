/* SPDX-License-Identifier: MIT */
/*
 * What a process uses, as the kernel counts it. A process of 0 is the caller's.
 */
#ifndef USAGE_H
#define USAGE_H

#include <sys/types.h>

/* Threads it has now; 0 if there is no such process. */
long usage_threads(pid_t process);
/* Rss of /proc/PID/smaps_rollup. What the kernel keeps for a process (socket
 * buffers, page tables, its own stacks of threads) is not in it. */
double usage_bytes(pid_t process);
/* Microseconds of all its threads, also of those that have ended. */
double usage_cpu_us(pid_t process);

/* A thread looks every 20 ms how many threads this process has, without
 * itself; the most it has seen so far. */
void usage_watch_threads(void);
long usage_most_threads(void);

#endif

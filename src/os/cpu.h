/* SPDX-License-Identifier: MIT */
/*
 * How many processors this process may use: the CPUs it is allowed to
 * run on, and the share of them that its cgroups allow. See cpu.c.
 */
#ifndef CPU_H
#define CPU_H

#include <stdbool.h>

/* CPUs in the affinity mask of the calling thread, at least 1. */
int cpu_count(void);

/*
 * CPUs' worth of time the cgroup quota allows, rounded up, at least 1;
 * 0 means no limit, or none that could be found. Every path is looked up
 * below root: "" for the real system, a fixture tree in tests.
 * Works in static buffers: one thread at a time, as all that follow.
 */
int cpu_quota_at(const char *root);

/* The default number of Ps at boot: the smaller of the two. */
int cpu_default_procs(void);

/*
 * The same while the program runs, by the affinity mask of that thread; the
 * quota is read again if `files`. What cannot be read is as it was before.
 */
int cpu_look(int tid, bool files);

/* Tests: the root of all paths, and CPUs instead of those of the mask. */
extern struct cpu_test {
	const char *root;
	int cpus;
} cpu_test;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * How many processors this process may use: the CPUs it is allowed to
 * run on, and the share of them that its cgroups allow. See cpu.c.
 */
#ifndef CPU_H
#define CPU_H

/* CPUs in the affinity mask of the calling thread, at least 1. */
int cpu_count(void);

/*
 * CPUs' worth of time the cgroup quota allows, rounded up, at least 1;
 * 0 means no limit, or none that could be found. Every path is looked up
 * below root: "" for the real system, a fixture tree in tests.
 * Boot only: works in a static buffer, so one caller at a time.
 */
int cpu_quota_at(const char *root);

/* The default number of Ps: the smaller of the two. Boot only, as above. */
int cpu_default_procs(void);

#endif

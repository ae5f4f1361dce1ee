/* SPDX-License-Identifier: MIT */
/*
 * Workloads: each twice, as tasks of the model and as goroutines. An operation
 * is what is counted; the model's are as many on any number of CPUs, by CPU.
 */
#ifndef MODEL_LOADS_H
#define MODEL_LOADS_H

#include "procs.h"

enum {
	TREE_FAN = 10,
	TREE_LEAF_NS = 500,
	WAKE_TASK_NS = 20000,
	STORM_RUN = 64
};

struct load {
	const char *name, *what;
	/* The first task of a CPU, or NULL. */
	struct task *(*first)(struct cpu *c);
	uint64_t per_cpu;	/* operations */
	/* Goroutines on that many Ps: ns by operation, of n in all, or fewer
	 * if they are long. */
	double (*real)(int ps, long n);
};

extern const struct load loads[];
extern const int n_loads;
/* What all tasks of a workload share. */
extern struct line loads_shared;
extern struct sim_lock loads_lock;

/* ---- real.c ---- */
double real_tree(int ps, long n);
double real_storm(int ps, long n);
double real_storm_shared(int ps, long n);
double real_pairs(int ps, long n);
double real_half(int ps, long n);
double real_channel(int ps, long n);
double real_timers(int ps, long n);
double real_wake(int ps, long n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The CPU profile: samples of what threads do. See profile_cpu.c.
 */
#ifndef PROFILE_CPU_H
#define PROFILE_CPU_H

#include "profile_write.h"

/* One sample, for the execution trace; valid during the call. */
struct profile_sample {
	uint64_t cycles;	/* cpu_cycles() */
	int tid, m, p;		/* thread; M and P, or -1 */
	int64_t goroutine;	/* 0: none */
	uint32_t weight;	/* periods since the last one of the thread */
	unsigned n;
	const uintptr_t *pcs;	/* innermost first, callers minus one */
};

/* Called in the signal handler with each sample, if not NULL: takes no lock,
 * allocates nothing. Any thread, atomic. */
typedef void profile_sample_fn(const struct profile_sample *s);
extern struct { profile_sample_fn *v_; } profile_sample_hook;

/* The values of the timers' signals: of one thread's, of the process's. */
extern const char profile_cpu_marks[2];

/* *number, if it is not NULL: of this profile, for profile_cpu_stop_one. */
int profile_cpu_start(int hz, unsigned flags, uint32_t *number);
int profile_cpu_stop(void);
/* Only if it is that one: another thread may have ended it, and begun one. */
int profile_cpu_stop_one(uint32_t number);
/* What was collected, for writing: 0, and then closed again; or -ESRCH if
 * nothing ever was. */
int profile_cpu_open(struct profile_file *f);
void profile_cpu_close(void);

#endif

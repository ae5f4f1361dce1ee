/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler is doing, read by another thread while it goes on: each
 * word is right at the moment it is read, and they need not fit together.
 * Takes sched.lock for a few instructions, and no other.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "sched.h"

struct sched_view {
	uint32_t procs, idle_procs;
	uint32_t threads, idle_threads, spinning;
	uint32_t no_thread;	/* a P has work, and no thread is available */
	uint32_t global;	/* goroutines in the global queue, */
	uint32_t urgent;	/* ... of these, urgent ones */
	/* goroutines without a P: */
	uint32_t in_call;	/* ... in announced calls, */
	uint32_t blocked;	/* ... blocked in the kernel, */
	uint32_t computing;	/* ... computing */
	uint32_t paused;
	bool stopping;		/* the world is stopped */
};

struct p_view {
	uint32_t id;
	const char *state;	/* "idle", "running", "stopped" */
	int tid;		/* of the thread that has it, or 0 */
	struct g *gp;		/* what that thread runs, or NULL */
	bool in_call;		/* ... is in a blocking call */
	uint32_t ring, newborn, next;	/* goroutines queued */
	uint64_t tick, calls;	/* switches; calls of that thread */
	bool timers;		/* some are armed */
};

struct m_view {
	int tid;
	int p;			/* the P it has, or -1 */
	struct g *gp;		/* what it runs, or NULL */
	bool in_call, paused;
	uint64_t calls;
};

void snapshot_sched(struct sched_view *v);
/* False if there never was a P of that number. */
bool snapshot_p(uint32_t id, struct p_view *v);
/* Each thread that runs goroutines, or could. */
void snapshot_each_m(void (*fn)(const struct m_view *v, void *arg), void *arg);
/* The thread that runs gp, or 0. Reads all Ms. */
int snapshot_tid_of(const struct g *gp);

/* Goroutines queued at that P. */
static inline uint32_t
p_view_queued(const struct p_view *v)
{
	return v->ring + v->newborn + v->next;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A model of the scheduler on simulated CPUs: what each operation reads and
 * writes of the lines that CPUs share, by the table in docs/design.md
 * ("Lines that are written"), in the same order, and how long its instructions
 * take on one CPU. What only the owner of a P uses is in those times.
 *
 * Left out: timers that fire, the network, the monitor, preemption, turns of
 * the global queue and fairness: they are rare by design.
 */
#ifndef MODEL_PROCS_H
#define MODEL_PROCS_H

#include "sim.h"

struct task;

/* Returns false if the task has ended, true if it waits. */
typedef bool (*task_fn)(struct cpu *c, struct task *t);

/* A goroutine. What a workload needs is in it, too. */
struct task {
	task_fn run;
	struct line g;		/* its record */
	struct line chan;	/* what it is sent results on */
	struct task *parent, *link;
	struct task *all_link;	/* list of all, for procs_free */
	int depth, fan, phase;
	int arrived, taken;	/* results */
	bool waits;
};

struct fifo { struct task **slot; uint32_t size, head, tail; };

struct proc {
	/* written by its owner, read by thieves */
	struct line tail;	/* runnext and tail of the ring */
	struct line bottom;	/* of the deque */
	struct line slots;	/* of both */
	struct line stats;	/* counts of switches */
	struct line timers;	/* lock and first time of its heap */
	/* written by thieves, too */
	struct line head, top, saw;
	struct fifo ring, deque;
	struct task *next;
	struct task *again;	/* of task_again */
	struct task *dead;	/* records to use again */
	struct line note;	/* its M sleeps there */
	bool idle, spins;
	uint64_t switches, thief_saw, activity;
};

struct procs {
	int n;
	/* The lines of struct sched. */
	struct line stopping;	/* and procs: read only */
	struct line idle;	/* n_idle_p, n_spinning */
	struct line mask;	/* which Ps are idle */
	struct line global;	/* globq */
	struct line locked;	/* lock, list of idle Ms */
	struct sim_lock lock;
	int n_idle, n_spinning;
	struct proc p[CPUS_MAX];
	struct task *all;
	uint64_t done;		/* operations of the workload */
	uint64_t target;	/* when so many are done, it ends */
	double done_at;
};

extern struct procs procs;

void procs_init(int n);
void procs_free(void);
/* The loop of an M, on each CPU; the first one runs `first`. */
void procs_main(struct cpu *c, struct task *first);

/* ---- for tasks ---- */

struct task *task_make(struct cpu *c, task_fn run, struct task *parent);
void task_spawn(struct cpu *c, struct task *t);
void task_ready(struct cpu *c, struct task *t);
void task_yield(struct cpu *c, struct task *t);
/* It goes on at once, as one that need not wait: no switch is counted. */
void task_again(struct cpu *c, struct task *t);
/* One operation of the workload is done. */
void task_count(struct cpu *c);

/* Calls fn for every line but those of tasks, with the same name for the lines
 * that every P has. */
void procs_each_line(void (*fn)(const struct line *l, void *arg), void *arg);

#endif

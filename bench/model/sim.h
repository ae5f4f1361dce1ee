/* SPDX-License-Identifier: MIT */
/*
 * Simulated CPUs, each with a clock of its own. What a CPU does is plain code
 * that runs as a goroutine (on one P, so one at a time); before it uses a line
 * that another CPU may have, it waits until its clock is the earliest. So
 * uses of lines happen in the order of the simulated time, and a run is the
 * same each time.
 *
 * A plain store goes to the store buffer: the CPU goes on at once, and the next
 * locked instruction waits for it. A hit may happen up to SIM_AHEAD_NS early.
 */
#ifndef MODEL_SIM_H
#define MODEL_SIM_H

#include <weft.h>

#include "cache.h"

enum { SIM_AHEAD_NS = 50 };

struct cpu {
	int id;
	double now;
	double drained;		/* when its last plain store is done */
	bool asleep;		/* until sim_wake */
	bool ended;
	uint64_t random;
	weft_sem turn;
};

struct sim {
	const struct prices *prices;
	int cpus;
	bool stop;		/* for the program: CPUs shall end */
	double end_ns;		/* clock of the CPU that ended last */
	struct cpu cpu[CPUS_MAX];
	weft_waitgroup running;
	void (*main)(struct cpu *c);
};

extern struct sim sim;

/* Runs main on that many CPUs until all of them have returned; those that
 * sleep when no other is left go on, too. On a goroutine, with one P. */
void sim_run(const struct prices *prices, int cpus, void (*main)(struct cpu *));

/* Of the CPU that calls: */
void sim_work(struct cpu *c, double ns);
void sim_read(struct cpu *c, struct line *l);
void sim_store(struct cpu *c, struct line *l);
void sim_locked(struct cpu *c, struct line *l);
/* Until its clock is the earliest. */
void sim_turn(struct cpu *c);
/* Sleeps until woken; false if it never will be: the run ends. */
bool sim_sleep(struct cpu *c);
/* Another CPU, which sleeps, goes on so many ns from now. */
void sim_wake(struct cpu *c, struct cpu *sleeper, double in_ns);
uint32_t sim_random(struct cpu *c, uint32_t below);

/* A lock of src/os/lock.c: spins, backs off if it was contended just before,
 * and sleeps at last. */
struct sim_lock {
	struct line *line;
	bool held;
	double contended[CPUS_MAX];	/* when this CPU last found it held */
};

void sim_lock_init(struct sim_lock *l, struct line *line);
void sim_lock_take(struct cpu *c, struct sim_lock *l);
void sim_lock_drop(struct cpu *c, struct sim_lock *l);

#endif

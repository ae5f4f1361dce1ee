/* SPDX-License-Identifier: MIT */
/* Workloads as tasks of the model. */
#include "loads.h"

/* Instructions of an operation, without its locked ones and the scheduler's. */
enum {
	CHAN_NS = 2,
	TIMER_NS = 8,
	CHILD_NS = 2
};

struct line loads_shared;
struct sim_lock loads_lock;

/* ---- a tree: each node waits for what its children send ---- */

/* To a buffered channel; the parent runs next if it waits. */
static void
send_up(struct cpu *c, struct task *parent)
{
	bool wake;

	task_count(c);
	if (!parent)
		return;
	sim_work(c, CHAN_NS);
	sim_locked(c, &parent->chan);
	parent->arrived++;
	wake = parent->waits;
	parent->waits = false;
	sim_locked(c, &parent->chan);
	if (wake)
		task_ready(c, parent);
}

static bool tree_run(struct cpu *c, struct task *t);

static void
tree_spawn(struct cpu *c, struct task *t)
{
	for (int i = 0; i < TREE_FAN; i++) {
		struct task *child = task_make(c, tree_run, t);

		child->depth = t->depth - 1;
		task_spawn(c, child);
	}
	t->phase = 1;
}

static bool
tree_run(struct cpu *c, struct task *t)
{
	if (t->depth == 0)
		sim_work(c, TREE_LEAF_NS);
	else if (t->phase == 0)
		tree_spawn(c, t);
	while (t->depth > 0 && t->taken < TREE_FAN) {
		sim_work(c, CHAN_NS);
		sim_locked(c, &t->chan);
		if (t->arrived == t->taken) {
			t->waits = true;
			sim_locked(c, &t->chan);
			return true;
		}
		t->taken++;
		sim_locked(c, &t->chan);
	}
	send_up(c, t->parent);
	return false;
}

/* Deep enough for all: it is not finished. */
static struct task *
tree_first(struct cpu *c)
{
	struct task *t;

	if (c->id != 0)
		return NULL;
	t = task_make(c, tree_run, NULL);
	t->depth = 8;
	return t;
}

/* ---- all Ps spawn goroutines that do nothing ---- */

static bool
child_run(struct cpu *c, struct task *t)
{
	(void)t;
	sim_work(c, CHILD_NS);
	task_count(c);
	return false;
}

static bool
storm_run(struct cpu *c, struct task *t)
{
	for (int i = 0; i < STORM_RUN; i++)
		task_spawn(c, task_make(c, child_run, NULL));
	task_yield(c, t);
	return true;
}

static struct task *
storm_first(struct cpu *c)
{
	return task_make(c, storm_run, NULL);
}

/* The same with one waitgroup for all. */
static bool
child_shared_run(struct cpu *c, struct task *t)
{
	sim_locked(c, &loads_shared);
	return child_run(c, t);
}

static bool
storm_shared_run(struct cpu *c, struct task *t)
{
	for (int i = 0; i < STORM_RUN; i++) {
		sim_locked(c, &loads_shared);
		task_spawn(c, task_make(c, child_shared_run, NULL));
	}
	task_yield(c, t);
	return true;
}

static struct task *
storm_shared_first(struct cpu *c)
{
	return task_make(c, storm_shared_run, NULL);
}

/* ---- pairs that hand a value back and forth ---- */

static bool
pair_run(struct cpu *c, struct task *t)
{
	struct task *other = t->parent;

	if (!other) {
		other = task_make(c, pair_run, t);
		other->waits = true;
		t->parent = other;
	}
	task_count(c);
	/* A send to the waiter, and a receive that waits. */
	sim_work(c, 2 * CHAN_NS);
	sim_locked(c, &other->chan);
	other->waits = false;
	sim_locked(c, &other->chan);
	task_ready(c, other);
	sim_locked(c, &t->chan);
	t->waits = true;
	sim_locked(c, &t->chan);
	return true;
}

static struct task *
pairs_first(struct cpu *c)
{
	return task_make(c, pair_run, NULL);
}

/* On every other P; the rest has nothing to do, and looks for something. */
static struct task *
half_first(struct cpu *c)
{
	return c->id % 2 == 0 ? task_make(c, pair_run, NULL) : NULL;
}

/* ---- one buffered channel for all ---- */

static bool
channel_run(struct cpu *c, struct task *t)
{
	sim_lock_take(c, &loads_lock);
	sim_work(c, CHAN_NS);
	sim_store(c, &loads_shared);
	sim_lock_drop(c, &loads_lock);
	task_count(c);
	/* As a goroutine that goes on: no other one waits. */
	task_again(c, t);
	return true;
}

static struct task *
channel_first(struct cpu *c)
{
	return task_make(c, channel_run, NULL);
}

/* ---- timers that are armed and stopped ---- */

static bool
timers_run(struct cpu *c, struct task *t)
{
	struct line *heap = &procs.p[c->id].timers;

	for (int i = 0; i < 4; i++)
		sim_locked(c, heap);
	sim_work(c, TIMER_NS);
	task_count(c);
	task_again(c, t);
	return true;
}

static struct task *
timers_first(struct cpu *c)
{
	return task_make(c, timers_run, NULL);
}

/* ---- one P spawns what the others, which were idle, run ---- */

static bool
long_run(struct cpu *c, struct task *t)
{
	(void)t;
	sim_work(c, WAKE_TASK_NS);
	task_count(c);
	return false;
}

static bool
wake_run(struct cpu *c, struct task *t)
{
	for (int i = 0; i < STORM_RUN; i++)
		task_spawn(c, task_make(c, long_run, NULL));
	task_yield(c, t);
	return true;
}

static struct task *
wake_first(struct cpu *c)
{
	return c->id == 0 ? task_make(c, wake_run, NULL) : NULL;
}

const struct load loads[] = {
	{ "tree", "fork-join, fan-out 10, leaves of 0.5 us", tree_first, 2000,
	    real_tree },
	{ "storm", "all Ps spawn goroutines that do nothing", storm_first,
	    4000, real_storm },
	{ "storm, one wg", "the same with one waitgroup for all",
	    storm_shared_first, 2000, real_storm_shared },
	{ "pairs", "a pair by P hands a value back and forth", pairs_first,
	    4000, real_pairs },
	{ "half", "the same, a pair by two Ps", half_first, 4000, real_half },
	{ "channel", "one buffered channel for all", channel_first, 1000,
	    real_channel },
	{ "timers", "armed and stopped, by all Ps", timers_first, 4000,
	    real_timers },
	{ "wake", "one P spawns work of 20 us for all", wake_first, 100,
	    real_wake },
};
const int n_loads = sizeof loads / sizeof *loads;

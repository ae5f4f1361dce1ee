/* SPDX-License-Identifier: MIT */
/* Simulated CPUs: see sim.h. */
#include "sim.h"

enum {
	LOCK_STEP_NS = 100,	/* between two looks at a lock that is held */
	LOCK_SPINS = 25,	/* 60 pauses of src/os/lock.c */
	LOCK_OFTEN_NS = 20000,
	LOCK_BACKOFF_NS = 2500,	/* the first; twice as long each time, */
	LOCK_BACKOFFS = 3,	/* ... so many times */
	LOCK_SLEEP_NS = 6000	/* a futex call, and to be woken */
};

struct sim sim;

/* ---- whose turn it is ---- */

static struct cpu *
earliest(void)
{
	struct cpu *best = NULL;

	for (int i = 0; i < sim.cpus; i++) {
		struct cpu *c = &sim.cpu[i];

		if (!c->asleep && !c->ended && (!best || c->now < best->now))
			best = c;
	}
	return best;
}

/* No CPU is left that could wake the sleepers. */
static void
release_sleepers(void)
{
	sim.stop = true;
	for (int i = 0; i < sim.cpus; i++)
		if (sim.cpu[i].asleep) {
			sim.cpu[i].asleep = false;
			weft_sem_release(&sim.cpu[i].turn, 1);
			return;		/* it hands on when it ends */
		}
}

static void
hand_on(struct cpu *to)
{
	if (to)
		weft_sem_release(&to->turn, 1);
	else
		release_sleepers();
}

void
sim_turn(struct cpu *c)
{
	struct cpu *first = earliest();

	if (first == c)
		return;
	hand_on(first);
	weft_sem_acquire(&c->turn, 1);
}

static void
turn_if_ahead(struct cpu *c, bool hit)
{
	if (hit && c->now <= earliest()->now + SIM_AHEAD_NS)
		return;
	sim_turn(c);
}

bool
sim_sleep(struct cpu *c)
{
	if (sim.stop)
		return false;
	c->asleep = true;
	hand_on(earliest());
	weft_sem_acquire(&c->turn, 1);
	return !sim.stop;
}

void
sim_wake(struct cpu *c, struct cpu *sleeper, double in_ns)
{
	if (!sleeper->asleep)
		return;
	sleeper->asleep = false;
	if (sleeper->now < c->now + in_ns)
		sleeper->now = c->now + in_ns;
}

/* ---- what a CPU does ---- */

void
sim_work(struct cpu *c, double ns)
{
	c->now += ns;
}

void
sim_read(struct cpu *c, struct line *l)
{
	turn_if_ahead(c, line_is_here(l, c->id, false, c->now));
	c->now = line_read(l, sim.prices, c->id, c->now);
}

void
sim_store(struct cpu *c, struct line *l)
{
	double done;

	turn_if_ahead(c, line_is_here(l, c->id, true, c->now));
	done = line_store(l, sim.prices, c->id, c->now);
	if (done > c->drained)
		c->drained = done;
	c->now += sim.prices->hit;
}

void
sim_locked(struct cpu *c, struct line *l)
{
	turn_if_ahead(c, line_is_here(l, c->id, true, c->now));
	if (c->now < c->drained)
		c->now = c->drained;
	c->now = line_store(l, sim.prices, c->id, c->now) + sim.prices->locked;
}

uint32_t
sim_random(struct cpu *c, uint32_t below)
{
	c->random = c->random * UINT64_C(6364136223846793005) + 1442695040;
	return (uint32_t)(c->random >> 33) % below;
}

/* ---- locks ---- */

void
sim_lock_init(struct sim_lock *l, struct line *line)
{
	*l = (struct sim_lock){ .line = line };
	for (int i = 0; i < CPUS_MAX; i++)
		l->contended[i] = -LOCK_OFTEN_NS;
}

static bool
try_lock(struct cpu *c, struct sim_lock *l)
{
	sim_locked(c, l->line);
	if (l->held)
		return false;
	l->held = true;
	return true;
}

static bool
take_with_backoff(struct cpu *c, struct sim_lock *l)
{
	bool often = c->now - l->contended[c->id] < LOCK_OFTEN_NS;
	double ns = LOCK_BACKOFF_NS;

	l->contended[c->id] = c->now;
	for (int i = 0; often && i < LOCK_BACKOFFS; i++, ns *= 2) {
		sim_work(c, ns);
		if (try_lock(c, l))
			return true;
	}
	return false;
}

void
sim_lock_take(struct cpu *c, struct sim_lock *l)
{
	if (try_lock(c, l) || take_with_backoff(c, l))
		return;
	for (int i = 0; i < LOCK_SPINS; i++) {
		sim_work(c, LOCK_STEP_NS);
		sim_read(c, l->line);
		if (!l->held && try_lock(c, l))
			return;
	}
	do
		sim_work(c, LOCK_SLEEP_NS);
	while (!try_lock(c, l));
}

void
sim_lock_drop(struct cpu *c, struct sim_lock *l)
{
	sim_turn(c);
	sim_locked(c, l->line);
	l->held = false;
}

/* ---- a run ---- */

static void
cpu_main(struct cpu *c)
{
	weft_sem_acquire(&c->turn, 1);
	sim.main(c);
	c->ended = true;
	if (c->now > sim.end_ns)
		sim.end_ns = c->now;
	hand_on(earliest());
	weft_waitgroup_done(&sim.running);
}

void
sim_run(const struct prices *prices, int cpus, void (*main)(struct cpu *))
{
	sim = (struct sim){ .prices = prices, .cpus = cpus, .main = main };
	weft_waitgroup_add(&sim.running, cpus);
	for (int i = 0; i < cpus; i++) {
		sim.cpu[i] = (struct cpu){ .id = i, .random = (uint64_t)i * 77 +
		    12345 };
		weft_go(cpu_main, &sim.cpu[i]);
	}
	hand_on(&sim.cpu[0]);
	weft_waitgroup_wait(&sim.running);
}

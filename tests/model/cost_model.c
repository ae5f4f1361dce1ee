/* SPDX-License-Identifier: MIT */
/* The cost model (bench/model), where its answer is known beforehand. */
#include <string.h>

#include <weft.h>

#include "loads.h"
#include "t.h"

static const struct prices prices = { "test", 2, 4, 10, 100, 1000, 1, 5 };

/* ---- lines ---- */

TEST(price_by_distance)
{
	struct line l;

	line_init(&l, "l");
	EQ(line_store(&l, &prices, 0, 0), 1);		/* in no cache */
	EQ(line_store(&l, &prices, 0, 50), 51);		/* a hit */
	EQ(line_read(&l, &prices, 1, 100), 110);	/* same cache */
	EQ(line_read(&l, &prices, 1, 200), 201);
	EQ(line_store(&l, &prices, 2, 300), 400);	/* same socket */
	EQ(line_store(&l, &prices, 5, 500), 1500);	/* another one */
	EQ(line_read(&l, &prices, 2, 2500), 3500);
	EQ(l.transfers, 5);
}

TEST(store_pays_for_the_farthest_copy)
{
	struct line l;

	line_init(&l, "l");
	line_store(&l, &prices, 0, 0);
	line_read(&l, &prices, 1, 100);
	line_read(&l, &prices, 4, 200);
	EQ(line_store(&l, &prices, 1, 5000), 6000);
	EQ(line_is_here(&l, 0, false, 9000), false);
	EQ(line_is_here(&l, 4, false, 9000), false);
	EQ(line_is_here(&l, 1, true, 9000), true);
}

TEST(transfers_follow_each_other)
{
	struct line l;

	line_init(&l, "l");
	line_store(&l, &prices, 0, 0);
	EQ(line_store(&l, &prices, 2, 1000), 1100);
	EQ(line_store(&l, &prices, 3, 1000), 1110);	/* waits for it */
	EQ(l.waited_ns, 100);
}

TEST(readers_of_a_shared_line_do_not_wait)
{
	struct line l;

	line_init(&l, "l");
	line_store(&l, &prices, 0, 0);
	EQ(line_read(&l, &prices, 2, 1000), 1100);
	EQ(line_read(&l, &prices, 4, 1500), 2500);
	EQ(line_read(&l, &prices, 3, 1500), 1510);
	EQ(l.waited_ns, 0);
}

/* Until the request arrives. */
TEST(old_owner_has_it_for_half_of_the_price)
{
	struct line l;

	line_init(&l, "l");
	line_store(&l, &prices, 0, 0);
	line_store(&l, &prices, 2, 1000);
	EQ(line_store(&l, &prices, 0, 1049), 1050);
	EQ(line_is_here(&l, 0, true, 1051), false);
}

/* ---- CPUs ---- */

enum { STEPS = 100 };

static struct line lines[CPUS_MAX];
static struct sim_lock lock;
static int inside, most, entered;

static void
use_own(struct cpu *c)
{
	for (int i = 0; i < STEPS; i++)
		sim_locked(c, &lines[c->id]);
}

static void
use_one(struct cpu *c)
{
	for (int i = 0; i < STEPS; i++)
		sim_locked(c, &lines[0]);
}

static double
time_of(void (*fn)(struct cpu *c), int cpus)
{
	for (int i = 0; i < CPUS_MAX; i++)
		line_init(&lines[i], "line");
	sim_run(&prices, cpus, fn);
	return sim.end_ns;
}

GTEST(own_lines_cost_the_same_on_any_number, 1)
{
	EQ(time_of(use_own, 1), STEPS * 6);
	EQ(time_of(use_own, 128), STEPS * 6);
}

/* All but the few that the old owner still does are transfers. */
GTEST(one_line_for_all_is_a_queue, 1)
{
	double two = time_of(use_one, 2), eight = time_of(use_one, 8);

	OK(two > STEPS * 6);
	OK(eight > STEPS * 100);
	OK(lines[0].busy_until <= eight);
	OK(lines[0].moved_ns <= eight);
}

static void
enter_often(struct cpu *c)
{
	for (int i = 0; i < STEPS; i++) {
		sim_lock_take(c, &lock);
		if (++inside > most)
			most = inside;
		entered++;
		sim_store(c, &lines[1]);
		sim_turn(c);
		inside--;
		sim_lock_drop(c, &lock);
	}
}

GTEST(lock_excludes, 1)
{
	sim_lock_init(&lock, &lines[0]);
	time_of(enter_often, 8);
	EQ(most, 1);
	EQ(entered, 8 * STEPS);
}

static int order[3], n_woken;

static void
wake_each_other(struct cpu *c)
{
	if (c->id == 0) {
		sim_work(c, 1000);
		sim_turn(c);
		sim_wake(c, &sim.cpu[2], 500);
		sim_wake(c, &sim.cpu[1], 900);
	} else if (sim_sleep(c)) {
		order[n_woken++] = c->id;
		EQ(c->now, c->id == 2 ? 1500 : 1900);
	}
}

/* CPU 3 is woken by none: the run ends all the same. */
GTEST(sleepers_wake_in_the_order_of_time, 1)
{
	time_of(wake_each_other, 4);
	EQ(n_woken, 2);
	EQ(order[0], 2);
	EQ(order[1], 1);
}

/* ---- the scheduler ---- */

static const struct load *load;

static void
loop(struct cpu *c)
{
	procs_main(c, load->first(c));
}

/* Simulated ns until n operations were done on each CPU. */
static double
simulate(const char *name, int cpus, uint64_t n)
{
	for (int i = 0; i < n_loads; i++)
		if (!strcmp(loads[i].name, name))
			load = &loads[i];
	procs_init(cpus);
	procs.target = n * (uint64_t)cpus;
	line_init(&loads_shared, "shared");
	sim_lock_init(&loads_lock, &loads_shared);
	sim_run(&prices, cpus, loop);
	EQ(procs.done >= procs.target, true);
	procs_free();
	return procs.done_at;
}

/* Nothing of it is shared. */
GTEST(pairs_and_timers_scale, 1)
{
	OK(simulate("pairs", 8, 400) < simulate("pairs", 1, 400) * 1.5);
	OK(simulate("timers", 8, 400) < simulate("timers", 1, 400) * 1.5);
}

/* On a tree all CPUs get something to do. */
GTEST(tree_is_stolen, 1)
{
	double one = simulate("tree", 1, 400), four = simulate("tree", 4, 400);

	OK(four > one * 0.9);
	OK(four < one * 2);
}

GTEST(shared_word_does_not_scale, 1)
{
	OK(simulate("storm, one wg", 8, 200) >
	    2 * simulate("storm, one wg", 1, 200));
}

GTEST(the_same_each_time, 1)
{
	for (int i = 0; i < n_loads; i++) {
		double first = simulate(loads[i].name, 4, 50);

		OK(simulate(loads[i].name, 4, 50) == first);
	}
}

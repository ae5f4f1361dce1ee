/* SPDX-License-Identifier: MIT */
/*
 * Stacks and records on a made-up machine with two nodes: they stay on the
 * node where they were used, and are not lost to the other.
 */
#define _GNU_SOURCE 1
#include "g.h"
#include "machine_tree.h"
#include "stack.h"
#include "t.h"
#include "topology.h"

enum { N = 200 };

static struct stack_cache on0, on1;
static struct stack *stacks[N];

static void
two_nodes(void)
{
	two_sockets_of_64();
	topology_read(root);
	fixture_end();
	EQ(topology_nodes(), 2);
	stack_init();
	on1.node = 1;
}

static void
get_all(struct stack_cache *c, int n, int class)
{
	for (int i = 0; i < n; i++)
		OK((stacks[i] = stack_get(c, class)) != NULL);
}

static void
put_all(struct stack_cache *c, int n)
{
	for (int i = 0; i < n; i++)
		stack_put(c, stacks[i]);
	stack_drain(c);
}

static bool
is_one_of(struct stack *const *all, int n, const struct stack *s)
{
	while (n-- > 0)
		if (all[n] == s)
			return true;
	return false;
}

static void
own_ones_first(int class)
{
	struct stack *first[10];

	get_all(&on0, 20, class);
	memcpy(first, stacks, sizeof first);
	/* Ten are freed on each. */
	for (int i = 0; i < 20; i++)
		stack_put(i < 10 ? &on0 : &on1, stacks[i]);
	stack_drain(&on0);
	stack_drain(&on1);
	get_all(&on0, 10, class);
	for (int i = 0; i < 10; i++)
		OK(is_one_of(first, 10, stacks[i]));
	EQ(stack_carved(), 20);
	/* Then those of the other node, and only then new ones. */
	for (int i = 0; i < 10; i++)
		OK(!is_one_of(first, 10, stack_get(&on0, class)));
	EQ(stack_carved(), 20);
	OK(stack_get(&on1, class) != NULL);
	EQ(stack_carved(), 21);
}

TEST(own_stacks_first)
{
	two_nodes();
	own_ones_first(stack_default_class);
}

TEST(own_stacks_first_of_another_class)
{
	two_nodes();
	own_ones_first(stack_class(1 << 20));
}

/* Always made on one node and freed on the other: their number is bounded. */
TEST(stacks_do_not_pile_up)
{
	uint32_t first = 0;

	two_nodes();
	for (int i = 0; i < 20; i++) {
		get_all(&on0, N, stack_default_class);
		put_all(&on1, N);
		/* Some more than N: many are carved at a time. */
		if (i == 0)
			first = stack_carved();
	}
	EQ(stack_carved(), first);
}

TEST(a_cache_that_moves)
{
	struct stack *s;

	two_nodes();
	s = stack_get(&on0, stack_default_class);
	stack_put(&on0, s);
	stack_move(&on0, 0);
	EQ(on0.n, 1);
	stack_move(&on0, 1);
	EQ(on0.n, 0);
	EQ(on0.node, 1);
	stack_move(&on0, 0);
	OK(stack_get(&on0, stack_default_class) == s);
}

/* Free stacks of all nodes are given back, and are good for use after it. */
TEST(all_nodes_are_scavenged)
{
	two_nodes();
	get_all(&on0, 20, stack_default_class);
	for (int i = 0; i < 20; i++)
		stack_put(i % 2 ? &on0 : &on1, stacks[i]);
	stack_drain(&on0);
	stack_drain(&on1);
	EQ(stack_scavenge(100), 0);
	EQ(stack_scavenge(15), 15);
	EQ(stack_scavenge(100), 5);
	get_all(&on1, 20, stack_default_class);
	EQ(stack_carved(), 20);
}

/* ---- records ---- */

static struct gcache gs0, gs1 = { .node = 1 };
static struct g *records[N];

TEST(records_stay)
{
	struct g *gp;

	two_nodes();
	for (int i = 0; i < N; i++)
		records[i] = g_alloc(i % 2 ? &gs1 : &gs0);
	for (int i = 0; i < N; i++)
		g_free(i % 2 ? &gs1 : &gs0, records[i]);
	g_drain(&gs0);
	g_drain(&gs1);
	for (int k = 0; k < N / 2; k++) {
		gp = g_alloc(&gs1);
		for (int i = 0; i < N; i += 2)
			OK(gp != records[i]);
	}
}

TEST(records_do_not_pile_up)
{
	uint64_t bytes = 0;

	two_nodes();
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < N; i++)
			OK((records[i] = g_alloc(&gs0)) != NULL);
		for (int i = 0; i < N; i++)
			g_free(&gs1, records[i]);
		if (round == 10)
			bytes = g_record_bytes();
	}
	EQ(g_record_bytes(), bytes);
	g_move(&gs1, 0);
	EQ(gs1.n_dead, 0);
	for (int i = 0; i < N; i++)
		g_free_any(g_alloc_any());
	EQ(g_record_bytes(), bytes);
}

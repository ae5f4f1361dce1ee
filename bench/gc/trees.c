/* SPDX-License-Identifier: MIT */
/*
 * trees WORKERS DEPTH
 *
 * Binary trees, as in the Benchmarks Game: for each other depth from 4 to DEPTH
 * the workers together make 2^(DEPTH - depth + 4) trees, count the nodes of
 * each, and drop it. Meanwhile each worker keeps a tree of DEPTH - 1. Prints
 * the milliseconds for all of it.
 */
#include "heap.h"

enum { LEAST = 4, DEPTH_MAX = 30 };

struct tree {
	struct tree *left, *right;
};

static int deepest, workers;
static long counted[WORKERS_MAX];

static struct tree *
tree_make(int depth)
{
	struct tree *t = heap_alloc(sizeof *t);

	if (!t)
		fail("trees: out of memory");
	t->left = depth > 0 ? tree_make(depth - 1) : NULL;
	t->right = depth > 0 ? tree_make(depth - 1) : NULL;
	return t;
}

static long
tree_count(const struct tree *t)
{
	return t ? 1 + tree_count(t->left) + tree_count(t->right) : 0;
}

static void
tree_free(struct tree *t)
{
	if (!t)
		return;
	tree_free(t->left);
	tree_free(t->right);
	heap_free(t);
}

static long
make_and_drop(int depth)
{
	struct tree *t = tree_make(depth);
	long n = tree_count(t);

	if (HEAP_FREES)
		tree_free(t);
	return n;
}

static void
worker(int id)
{
	struct tree *keep = tree_make(deepest - 1);
	long n = 0;

	for (int depth = LEAST; depth <= deepest; depth += 2)
		for (long i = id; i < 1L << (deepest - depth + LEAST);
		    i += workers)
			n += make_and_drop(depth);
	counted[id] = n + tree_count(keep);
}

/* A tree of depth d has 2^(d + 1) - 1 nodes. */
static long
expected(void)
{
	long n = workers * ((1L << deepest) - 1);

	for (int depth = LEAST; depth <= deepest; depth += 2)
		n += ((2L << depth) - 1) << (deepest - depth + LEAST);
	return n;
}

int
main(int argc, char **argv)
{
	long n = 0;
	double ns;

	workers = (int)number(argc > 1 ? argv[1] : NULL, WORKERS_MAX);
	deepest = (int)number(argc > 2 ? argv[2] : NULL, DEPTH_MAX);
	ns = run_ns(workers, worker);
	for (int i = 0; i < workers; i++)
		n += counted[i];
	if (n != expected())
		fail("trees: nodes are missing");
	printf("trees %.1f ms\n", ns / 1e6);
	print_memory("trees");
	return 0;
}

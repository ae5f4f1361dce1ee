/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs are near each other: threads of one core, cores that share their
 * last cache, nodes of memory. Read from sysfs once, at boot. See topology.c.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "atomic.h"
#include "defs.h"

/*
 * The position of a CPU: its node, its last cache within the node, its core
 * within that, from the highest bits to the lowest. So the distance of two
 * positions is the highest part in which they differ.
 */
enum {
	TOPOLOGY_CORE_BITS = 12,
	TOPOLOGY_CACHE_BITS = 12,
	TOPOLOGY_NODE_BITS = 8,
	TOPOLOGY_NODE_SHIFT = TOPOLOGY_CORE_BITS + TOPOLOGY_CACHE_BITS,
	TOPOLOGY_NODES = 8	/* more are folded into these: topology_node */
};

enum distance {
	DISTANCE_CORE,		/* the same core */
	DISTANCE_CACHE,		/* another one on the same last cache */
	DISTANCE_NODE,		/* another cache, the same node */
	DISTANCE_FAR,
	DISTANCES
};

static inline enum distance
topology_distance(uint32_t a, uint32_t b)
{
	uint32_t differ = a ^ b;

	if (!differ)
		return DISTANCE_CORE;
	if (!(differ >> TOPOLOGY_CORE_BITS))
		return DISTANCE_CACHE;
	return differ >> TOPOLOGY_NODE_SHIFT ? DISTANCE_FAR : DISTANCE_NODE;
}

/*
 * A list of memory to take from: one for each node. On the rare machine with
 * more than TOPOLOGY_NODES of them some share one.
 */
static inline uint32_t
topology_node(uint32_t position)
{
	return (position >> TOPOLOGY_NODE_SHIFT) % TOPOLOGY_NODES;
}

/* Constant after boot. */
struct topology {
	bool flat;		/* one last cache: no CPU is near another */
	uint32_t n_caches, n_nodes;
	uint32_t n_cpus;	/* the highest number + 1 */
};
extern struct topology topology;

/*
 * Reads it from files below root ("": the real ones). A machine that it cannot
 * make out is flat. Once at boot, before there is a second thread.
 */
void topology_read(const char *root);
/* The same, for a process that may use so many CPUs: with few of them there is
 * nothing to choose from, and the machine is taken for flat. */
void topology_boot(int cpus);

/* How many values topology_node has. */
static inline uint32_t
topology_nodes(void)
{
	return topology.n_nodes < TOPOLOGY_NODES ? topology.n_nodes :
	    TOPOLOGY_NODES;
}

/* The position of a CPU; 0 if it is not known, or the machine flat. */
uint32_t topology_position(uint32_t cpu);
/* The position of the CPU that this thread runs on now. */
uint32_t topology_here(void);

/* Tests: a made-up tree, and which of its CPUs this thread runs on. */
extern struct topology_test {
	const char *root;
	uint32_t (*cpu)(void);
} topology_test;

#endif

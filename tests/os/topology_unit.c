/* SPDX-License-Identifier: MIT */
/* Positions of CPUs, read from made-up trees of many kinds of machines. */
#define _GNU_SOURCE 1
#include "machine_tree.h"
#include "t.h"
#include "topology.h"

static enum distance
between(uint32_t a, uint32_t b)
{
	uint32_t pa = topology_position(a), pb = topology_position(b);
	enum distance d = topology_distance(pa, pb);

	EQ(topology_distance(pb, pa), d);
	return d;
}

static void
expect(uint32_t caches, uint32_t nodes)
{
	topology_read(root);
	EQ(topology.flat, caches == 1);
	EQ(topology.n_caches, caches);
	EQ(topology.n_nodes, nodes);
	fixture_end();
}

TEST(two_sockets)
{
	two_sockets_of_64();
	expect(8, 2);
	EQ(topology.n_cpus, 128);
	for (uint32_t a = 0; a < 128; a++)
		for (uint32_t b = 0; b < 128; b++)
			EQ(between(a, b),
			    a % 64 == b % 64 ? DISTANCE_CORE :
			    a % 64 / 8 == b % 64 / 8 ? DISTANCE_CACHE :
			    a % 64 / 32 == b % 64 / 32 ? DISTANCE_NODE :
			    DISTANCE_FAR);
	EQ(topology_node(topology_position(31)), 0);
	EQ(topology_node(topology_position(32)), 1);
}

TEST(one_cache_is_flat)
{
	fixture();
	put_at("0-7\n", "cpu/online");
	put_at("0\n", "node/online");
	put_at("0-7\n", "node/node0/cpulist");
	for (int i = 0; i < 8; i++)
		put_cpu(i, i % 2 ? "1,3,5,7\n" : "0,2,4,6\n", "0-7\n");
	expect(1, 1);
	for (uint32_t i = 0; i < 8; i++)
		EQ(topology_position(i), 0);
}

/* Fast cores with two threads each, slow ones with one: one cache. And the
 * same where the slow ones have a cache of their own. */
static void
hybrid(const char *fast, const char *slow)
{
	char core[64];

	fixture();
	put_at("0-7\n", "cpu/online");
	for (int i = 0; i < 4; i++) {
		snprintf(core, sizeof core, "%d-%d\n", i & ~1, i | 1);
		put_cpu(i, core, fast);
	}
	for (int i = 4; i < 8; i++) {
		snprintf(core, sizeof core, "%d\n", i);
		put_cpu(i, core, slow);
	}
}

TEST(hybrid_one_cache)
{
	hybrid("0-7\n", "0-7\n");
	expect(1, 1);
}

TEST(hybrid_two_caches)
{
	hybrid("0-3\n", "4-7\n");
	expect(2, 1);
	EQ(between(0, 1), DISTANCE_CORE);
	EQ(between(0, 2), DISTANCE_CACHE);
	EQ(between(4, 5), DISTANCE_CACHE);
	EQ(between(0, 4), DISTANCE_NODE);
}

/* The numbers of CPUs have holes, and lists name CPUs that are offline. */
TEST(holes)
{
	fixture();
	put_at("1,64-65,200\n", "cpu/online");
	put_at("0,3\n", "node/online");
	put_at("0-65\n", "node/node0/cpulist");
	put_at("200-201\n", "node/node3/cpulist");
	put_cpu(1, "0-1\n", "0-1\n");
	put_cpu(64, "64\n", "64-65\n");
	put_cpu(65, "65\n", "64-65\n");
	put_cpu(200, "200-201\n", "200-201\n");
	expect(3, 2);
	EQ(topology.n_cpus, 201);
	EQ(between(64, 65), DISTANCE_CACHE);
	EQ(between(1, 64), DISTANCE_NODE);
	EQ(between(1, 200), DISTANCE_FAR);
	EQ(topology_position(2), 0);
	EQ(topology_position(100000), 0);
}

/* Nodes without CPUs do not count; one cache over two nodes is two. */
TEST(nodes)
{
	fixture();
	put_at("0-3\n", "cpu/online");
	put_at("0-3\n", "node/online");
	put_at("\n", "node/node0/cpulist");
	put_at("0-1\n", "node/node1/cpulist");
	put_at("\n", "node/node2/cpulist");
	put_at("2-3\n", "node/node3/cpulist");
	for (int i = 0; i < 4; i++)
		put_cpu(i, "0-3\n", "0-3\n");
	expect(2, 2);
	EQ(between(0, 1), DISTANCE_CORE);
	EQ(between(0, 2), DISTANCE_FAR);
}

/* Virtual machines and some boards do not describe caches. */
TEST(sockets_for_caches)
{
	fixture();
	put_at("0-3\n", "cpu/online");
	for (int i = 0; i < 4; i++) {
		put_at(i < 2 ? "0-1\n" : "2-3\n",
		    "cpu/cpu%d/topology/core_siblings_list", i);
		put_at(i < 2 ? "0-1\n" : "2-3\n",
		    "cpu/cpu%d/topology/thread_siblings_list", i);
	}
	expect(2, 1);
	EQ(between(0, 1), DISTANCE_CORE);
	EQ(between(0, 2), DISTANCE_NODE);
}

TEST(nothing_there)
{
	fixture();
	expect(1, 1);
	fixture();
	put_at("0-63\n", "cpu/online");
	expect(1, 1);
}

/* ---- nonsense ---- */

TEST(bad_lists)
{
	static const char *const bad[] = {
		"", "\n", "-\n", "0-\n", "-1\n", "3-1\n", "0,,1\n", "0 1\n",
		"x\n", "0-99999999999999999999\n", "4096\n", "0-3x\n",
		"0-1-2\n", "\377\376\n", "1,-\n",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		hybrid("0-3\n", "4-7\n");
		put_at(bad[i], "cpu/online");
		expect(1, 1);
	}
}

/* A cache that cannot be made out is that of all that are left. */
TEST(one_bad_cache)
{
	hybrid("0-3\n", "4-7\n");
	put_at("garbage", "cpu/cpu0/cache/index1/shared_cpu_list");
	topology_read(root);
	EQ(between(0, 1), DISTANCE_CORE);
	fixture_end();
}

/* A list that does not contain the CPU that it is of. */
TEST(another_ones_list)
{
	hybrid("0-3\n", "4-7\n");
	for (int i = 0; i < 8; i++) {
		put_at("5\n", "cpu/cpu%d/cache/index1/shared_cpu_list", i);
		put_at("5\n", "cpu/cpu%d/topology/core_cpus_list", i);
	}
	topology_read(root);
	for (uint32_t i = 0; i < 8; i++)
		OK(between(i, i) == DISTANCE_CORE);
	fixture_end();
}

/* Truncated: longer than any list of that many CPUs can be. */
TEST(endless_list)
{
	static char text[64 * 1024];

	for (size_t i = 0; i + 2 < sizeof text; i += 2)
		memcpy(text + i, "1,", 2);
	hybrid("0-3\n", "4-7\n");
	put_at(text, "cpu/online");
	expect(1, 1);
}

TEST(more_than_fit)
{
	fixture();
	put_at("0-4095\n", "cpu/online");
	for (int i = 0; i < 4096; i += 256)
		put_at("1\n", "cpu/cpu%d/cache/index0/level", i);
	expect(1, 1);
	EQ(topology_position(UINT32_MAX), 0);
}

TEST(this_machine)
{
	topology_read("");
	OK(topology.n_caches >= 1 && topology.n_nodes >= 1);
	OK(topology.flat || topology.n_caches > 1);
	OK(topology_distance(topology_here(), 0) <= DISTANCE_FAR);
}

/* SPDX-License-Identifier: MIT */
/*
 * The machine as sysfs describes it, below /sys/devices/system:
 *
 *   cpu/online				CPUs that can be used
 *   node/online, node/nodeN/cpulist	nodes of memory, and their CPUs
 *   cpu/cpuN/cache/indexK/level, shared_cpu_list
 *					a cache of that CPU, and all CPUs that
 *					share it
 *   cpu/cpuN/topology/core_cpus_list	threads of one core; in old kernels
 *					it is called thread_siblings_list
 *   cpu/cpuN/topology/package_cpus_list
 *					CPUs of a socket, where caches are not
 *					described; or core_siblings_list
 *
 * All of these are lists of CPUs such as "0-3,8,10-11". A list is read for one
 * of its CPUs only: for those that are in no group yet. So the number of files
 * is that of the groups, not of the CPUs; and cores are read only if the
 * machine is not flat.
 *
 * The machine is flat if all CPUs that are online share one last cache, and
 * whenever what is found makes no sense: a file that does not parse, more CPUs
 * or groups than there is room for. Nothing depends on the truth of it but
 * speed. CPUs that come online later have position 0.
 *
 * Groups are numbered by the order of their lowest CPU. A cache that two nodes
 * share counts as one in each.
 */
#define _GNU_SOURCE 1
#include "topology.h"

#include <sched.h>
#include <string.h>

#include "fatal.h"
#include "os.h"

enum {
	CPUS = 4096,
	LIST_BYTES = 16 * 1024,	/* a list of every other one of 4096 CPUs */
	PATH_BYTES = 512,
	CACHES = 10,		/* indexes that are tried */
	WORTH = 5		/* CPUs: reading takes 0.2 ms */
};

/* A set of CPUs. */
struct cpus {
	uint64_t words[CPUS / 64];
};

struct topology topology = { .flat = true, .n_nodes = 1 };
struct topology_test topology_test = { .root = "" };

static uint32_t positions[CPUS];	/* constant after boot */

/* Boot only. */
static const char *top;		/* root of all files */
static struct cpus online;
static char text[LIST_BYTES];

/* ---- sets and lists ---- */

static bool
has(const struct cpus *c, uint32_t cpu)
{
	return c->words[cpu / 64] >> cpu % 64 & 1;
}

static void
add(struct cpus *c, uint32_t cpu)
{
	c->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

/* A number below CPUS at *s, which is advanced; -1 if there is none. */
static int
number(const char **s)
{
	int n = -1;

	for (; **s >= '0' && **s <= '9'; ++*s) {
		n = (n < 0 ? 0 : n) * 10 + (**s - '0');
		if (n >= CPUS)
			return -1;
	}
	return n;
}

/* "0-3,8\n". False if it is anything else, or empty. */
static bool
parse_list(const char *s, struct cpus *out)
{
	int lo, hi;

	memset(out, 0, sizeof *out);
	do {
		lo = hi = number(&s);
		if (lo >= 0 && *s == '-') {
			s++;
			hi = number(&s);
		}
		if (lo < 0 || hi < lo)
			return false;
		for (; lo <= hi; lo++)
			add(out, (uint32_t)lo);
	} while (*s == ',' && *++s);
	return *s == '\n' || *s == '\0';
}

/* ---- files ---- */

/* The text of a file below top/sys/devices/system; false if there is none. */
static bool
read_file(const char *name)
{
	char path[PATH_BYTES];
	size_t n = format(path, sizeof path, "%s/sys/devices/system/%s", top,
	    name);
	long got = 0;

	if (n < sizeof path - 1)
		got = os_read_file(path, text, sizeof text);
	/* A full buffer is a truncated list. */
	return got > 0 && got < (long)sizeof text - 1;
}

static bool
read_list(const char *name, struct cpus *out)
{
	return read_file(name) && parse_list(text, out);
}

static bool
read_cpu_list(uint32_t cpu, const char *file, struct cpus *out)
{
	char name[PATH_BYTES];

	format(name, sizeof name, "cpu/cpu%u/%s", cpu, file);
	return read_list(name, out);
}

/* The CPUs that share this one's cache of the highest level. */
static bool
read_last_cache(uint32_t cpu, struct cpus *out)
{
	char name[PATH_BYTES];
	int level, highest = 0, index = -1;

	for (int i = 0; i < CACHES; i++) {
		const char *s = text;

		format(name, sizeof name, "cpu/cpu%u/cache/index%d/level", cpu,
		    i);
		if (!read_file(name))
			break;
		level = number(&s);
		if (level > highest) {
			highest = level;
			index = i;
		}
	}
	format(name, sizeof name, "cache/index%d/shared_cpu_list", index);
	return index >= 0 && read_cpu_list(cpu, name, out);
}

/* ---- the parts of a position ---- */

static bool
read_cache(uint32_t cpu, struct cpus *out)
{
	return read_last_cache(cpu, out) ||
	    read_cpu_list(cpu, "topology/package_cpus_list", out) ||
	    read_cpu_list(cpu, "topology/core_siblings_list", out);
}

static bool
read_core(uint32_t cpu, struct cpus *out)
{
	return read_cpu_list(cpu, "topology/core_cpus_list", out) ||
	    read_cpu_list(cpu, "topology/thread_siblings_list", out);
}

/* Nodes: there may be none, or some without a CPU. */
static bool
read_nodes(void)
{
	struct cpus nodes, members;
	char name[PATH_BYTES];
	uint32_t n = 0;

	topology.n_nodes = 1;
	if (!read_list("node/online", &nodes))
		return true;
	for (uint32_t i = 0; i < CPUS; i++) {
		bool used = false;

		format(name, sizeof name, "node/node%u/cpulist", i);
		if (!has(&nodes, i) || !read_list(name, &members))
			continue;
		for (uint32_t cpu = 0; cpu < topology.n_cpus; cpu++) {
			if (!has(&members, cpu) || !has(&online, cpu))
				continue;
			positions[cpu] = n << TOPOLOGY_NODE_SHIFT;
			used = true;
		}
		n += used;
	}
	topology.n_nodes = n ? n : 1;
	return n <= 1u << TOPOLOGY_NODE_BITS;
}

/*
 * Numbers the groups that `read` finds, in `bits` of the positions from `shift`
 * on; CPUs that differ in what is above these are never in one. A CPU of which
 * nothing is known is in a group with the others that are in none. False if
 * there are too many.
 */
static bool
number_groups(bool (*read)(uint32_t cpu, struct cpus *out), int shift,
    int bits, uint32_t *n)
{
	struct cpus group, done = {0};

	*n = 0;
	for (uint32_t cpu = 0; cpu < topology.n_cpus; cpu++) {
		if (!has(&online, cpu) || has(&done, cpu))
			continue;
		if (!read(cpu, &group) || !has(&group, cpu))
			group = online;
		for (uint32_t i = cpu; i < topology.n_cpus; i++) {
			if (!has(&group, i) || !has(&online, i) ||
			    has(&done, i) ||
			    (positions[i] ^ positions[cpu]) >> (shift + bits))
				continue;
			positions[i] |= *n << shift;
			add(&done, i);
		}
		if (++*n > 1u << bits)
			return false;
	}
	return true;
}

static bool
read_all(void)
{
	uint32_t cores;

	if (!read_list("cpu/online", &online))
		return false;
	for (uint32_t i = 0; i < CPUS; i++)
		if (has(&online, i))
			topology.n_cpus = i + 1;
	if (!read_nodes() ||
	    !number_groups(read_cache, TOPOLOGY_CORE_BITS, TOPOLOGY_CACHE_BITS,
	    &topology.n_caches))
		return false;
	return topology.n_caches > 1 &&
	    number_groups(read_core, 0, TOPOLOGY_CORE_BITS, &cores);
}

void
topology_read(const char *root)
{
	top = root;
	topology = (struct topology){0};
	memset(positions, 0, sizeof positions);
	topology.flat = !read_all();
	if (!topology.flat)
		return;
	memset(positions, 0, sizeof positions);
	topology.n_caches = topology.n_nodes = 1;
}

void
topology_boot(int cpus)
{
	if (cpus >= WORTH || *topology_test.root)
		topology_read(topology_test.root);
}

/* ---- where a thread runs ---- */

uint32_t
topology_position(uint32_t cpu)
{
	return cpu < CPUS ? positions[cpu] : 0;
}

uint32_t
topology_here(void)
{
	if (topology.flat)
		return 0;
	if (topology_test.cpu)
		return topology_position(topology_test.cpu());
	return topology_position((uint32_t)sched_getcpu());
}

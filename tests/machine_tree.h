/* SPDX-License-Identifier: MIT */
/* A made-up machine: the files of its CPUs, caches and nodes in sysfs. */
#ifndef MACHINE_TREE_H
#define MACHINE_TREE_H

#include <stdarg.h>

#include "fixture_tree.h"

#define SYS "/sys/devices/system/"

/* put, with a name made as printf does. */
__attribute__((format(printf, 2, 3))) static inline void
put_at(const char *value, const char *fmt, ...)
{
	char name[256];
	va_list ap;
	int n;

	n = snprintf(name, sizeof name, SYS);
	va_start(ap, fmt);
	vsnprintf(name + n, sizeof name - (size_t)n, fmt, ap);
	va_end(ap);
	put(name, value);
}

/* A CPU with a cache of its own, and a last one for these CPUs. */
static inline void
put_cpu(int cpu, const char *core, const char *cache)
{
	put_at(core, "cpu/cpu%d/topology/core_cpus_list", cpu);
	put_at("2\n", "cpu/cpu%d/cache/index0/level", cpu);
	put_at(core, "cpu/cpu%d/cache/index0/shared_cpu_list", cpu);
	put_at("3\n", "cpu/cpu%d/cache/index1/level", cpu);
	put_at(cache, "cpu/cpu%d/cache/index1/shared_cpu_list", cpu);
}

/* Two threads a core; CPU i + 64 is the sibling of i. A node is a socket of 32
 * cores with 4 caches. */
static inline void
two_sockets_of_64(void)
{
	char core[64], cache[64];

	fixture();
	put_at("0-127\n", "cpu/online");
	put_at("0-1\n", "node/online");
	put_at("0-31,64-95\n", "node/node0/cpulist");
	put_at("32-63,96-127\n", "node/node1/cpulist");
	for (int i = 0; i < 128; i++) {
		int first = i % 64 / 8 * 8;

		snprintf(core, sizeof core, "%d,%d\n", i % 64, i % 64 + 64);
		snprintf(cache, sizeof cache, "%d-%d,%d-%d\n", first,
		    first + 7, first + 64, first + 71);
		put_cpu(i, core, cache);
	}
}

#endif

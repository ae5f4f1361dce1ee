/* SPDX-License-Identifier: MIT */
/* Single instructions without a name in C. */
#ifndef INSN_H
#define INSN_H

#include <stdint.h>

/* Tell the core that we are waiting for another one. */
static inline void
cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* A counter that runs steadily and is cheap to read: some 10 ns. */
static inline uint64_t
cpu_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* About so many in a few microseconds. */
static inline uint64_t
cpu_cycles_few_us(void)
{
	return 8192;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Single instructions that C cannot express. */
#ifndef INSN_H
#define INSN_H

#include <stdint.h>

/* Tells the core that this is a spin-wait loop. */
static inline void
cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* A counter of constant rate that is cheap to read: some 10 ns. */
static inline uint64_t
cpu_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* About as many cycles as pass in a few microseconds. */
static inline uint64_t
cpu_cycles_few_us(void)
{
	return 8192;
}

#endif

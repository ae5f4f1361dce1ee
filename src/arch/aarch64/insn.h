/* SPDX-License-Identifier: MIT */
/* Single instructions that C cannot express. */
#ifndef INSN_H
#define INSN_H

#include <stdint.h>

/* Tells the core that this is a spin-wait loop. */
static inline void
cpu_relax(void)
{
	__asm__ volatile("isb" ::: "memory");
}

/* A counter of constant rate that is cheap to read. */
static inline uint64_t
cpu_cycles(void)
{
	uint64_t n;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
	return n;
}

/* About as many as pass in a few microseconds: its frequency over 2^18. */
static inline uint64_t
cpu_cycles_few_us(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz >> 18;
}

#endif

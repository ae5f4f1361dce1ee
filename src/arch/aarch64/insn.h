/* SPDX-License-Identifier: MIT */
/* Single instructions without a name in C. */
#ifndef INSN_H
#define INSN_H

#include <stdint.h>

/* Tell the core that we are waiting for another one. */
static inline void
cpu_relax(void)
{
	__asm__ volatile("isb" ::: "memory");
}

/* A counter that runs steadily and is cheap to read. */
static inline uint64_t
cpu_cycles(void)
{
	uint64_t n;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
	return n;
}

/* About so many in a few microseconds: its frequency over 2^18. */
static inline uint64_t
cpu_cycles_few_us(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz >> 18;
}

#endif

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

#endif

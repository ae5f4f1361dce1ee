/* SPDX-License-Identifier: MIT */
/*
 * Registers as frame tables number them, and as the kernel saves them for a
 * signal handler; for elf/unwind.h.
 */
#ifndef DWARF_H
#define DWARF_H

#include <ucontext.h>

#include "defs.h"

enum {
	DWARF_REGS = 17,	/* 0 to 15, and the return address */
	DWARF_FP = 6,
	DWARF_SP = 7,
	DWARF_RA = 16,
	DWARF_SIGNS_RA = 0	/* return addresses are never signed */
};

/* rbx, rbp and r12 to r15: what a function has to preserve. */
#define DWARF_PRESERVED \
	(1u << 3 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

static inline uintptr_t
dwarf_strip(uintptr_t ra)
{
	return ra;
}

/* The registers of an interrupted context; returns its program counter. */
static inline uintptr_t
dwarf_context(const ucontext_t *uc, uintptr_t regs[DWARF_REGS])
{
	/* Where rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp and r8 to r15 are. */
	static const unsigned char at[DWARF_REGS - 1] = {
		13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7
	};
	enum { PC = 16 };

	for (int i = 0; i < DWARF_REGS - 1; i++)
		regs[i] = (uintptr_t)uc->uc_mcontext.gregs[at[i]];
	regs[DWARF_RA] = 0;
	return (uintptr_t)uc->uc_mcontext.gregs[PC];
}

#endif

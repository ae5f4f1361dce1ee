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
	DWARF_REGS = 32,	/* x0 to x30, sp */
	DWARF_FP = 29,
	DWARF_SP = 31,
	DWARF_RA = 30,
	DWARF_SIGNS_RA = 1	/* tables may say that x30 is signed */
};

/* x19 to x29: what a function has to preserve. */
#define DWARF_PRESERVED 0x3ff80000u

/*
 * Strips the signature from a return address. The instruction is a hint, which
 * does nothing on processors that do not sign.
 */
static inline uintptr_t
dwarf_strip(uintptr_t ra)
{
	register uintptr_t x30 __asm__("x30") = ra;

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

/* The registers of an interrupted context; returns its program counter. */
static inline uintptr_t
dwarf_context(const ucontext_t *uc, uintptr_t regs[DWARF_REGS])
{
	for (int i = 0; i < DWARF_SP; i++)
		regs[i] = (uintptr_t)uc->uc_mcontext.regs[i];
	regs[DWARF_SP] = (uintptr_t)uc->uc_mcontext.sp;
	return (uintptr_t)uc->uc_mcontext.pc;
}

#endif

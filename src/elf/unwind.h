/* SPDX-License-Identifier: MIT */
/*
 * Unwinds a stack by the frame tables (.eh_frame) of the modules.
 *
 * For signal handlers: allocates nothing, takes no locks, and reads memory
 * only in the modules' tables and within the bounds of the stack given. The
 * number of frames, of table look-ups and of table instructions is bounded.
 * Everything that is in doubt is "unknown": code without a table, tables that
 * compute with expressions, signal frames, addresses that do not grow.
 *
 * A look-up takes some 150 ns. Deep stacks come from recursion, which has few
 * return addresses, so the rows of the last ones are cached. A frame whose row
 * is cached takes some 10 ns, and a walk within all bounds at most about a
 * millisecond.
 *
 * Not libgcc's unwinder: it crashes on hand-written code whose tables are
 * wrong, reads wherever a bad stack leads it, and does not tell the end of the
 * chain from a missing table.
 */
#ifndef UNWIND_H
#define UNWIND_H

#include "cfi.h"
#include "defs.h"
#include "dwarf.h"
#include "module.h"

enum {
	UNWIND_DEPTH = 1 << 16,		/* frames */
	UNWIND_LOOKUPS = 1 << 12,
	UNWIND_ROWS = 16		/* cached: a power of 2 */
};

enum unwind_end {
	UNWIND_BOTTOM,	/* reached the goroutine's entry: all frames known */
	UNWIND_FOREIGN,	/* a frame outside of the modules given */
	UNWIND_UNKNOWN,	/* no table, an expression, inconsistent values */
	UNWIND_ON	/* unwind_step only: there is a caller */
};

struct unwind_stack { uintptr_t lo, hi; };	/* [lo, hi) readable */

struct unwind_row {
	uintptr_t pc;		/* of this instruction; 0: none */
	uintptr_t fn;
	uint32_t changed;	/* set of registers with a rule but SAME */
	struct cfi_row row;
};

/* A walk. Begins at an interrupted instruction. */
struct unwind {
	const struct module *mods;
	size_t n;
	/* or, if not NULL, instead of these: the module of that code */
	const struct module *(*find)(uintptr_t pc);
	const struct unwind_stack *st;
	struct range bottom;	/* code of the entry */
	unsigned depth;		/* steps to a caller so far */
	uintptr_t pc;		/* in a caller: its return address */
	uintptr_t cfa;		/* end of the frame that was left last */
	uintptr_t fn;		/* start of the function that was left last */
	uint32_t known;		/* set of the registers that have values */
	uintptr_t regs[DWARF_REGS];
	unsigned lookups;
	struct unwind_row rows[UNWIND_ROWS];
};

/* Sets all but the first five. regs and pc as for unwind_walk. */
void unwind_begin(struct unwind *u, const uintptr_t regs[DWARF_REGS],
    uintptr_t pc);

/*
 * Goes from a frame to its caller and returns UNWIND_ON, or the reason why it
 * cannot: then only u->pc of the frame is valid.
 */
enum unwind_end unwind_step(struct unwind *u);

/*
 * Walks to the end. `regs` are numbered as frame tables do (dwarf_context), pc
 * is the interrupted instruction, bottom the code of frame_entry. If the end
 * is UNWIND_BOTTOM, the stack in use is [sp, *stack_end); a leaf function on
 * x86-64 may also use 128 bytes below sp. The modules must include the one of
 * goroutine_main.
 */
enum unwind_end unwind_walk(const struct module *mods, size_t n,
    const uintptr_t regs[DWARF_REGS], uintptr_t pc,
    const struct unwind_stack *st, uintptr_t bottom_lo, uintptr_t bottom_hi,
    uintptr_t *stack_end);

#endif

/* SPDX-License-Identifier: MIT */
#include "unwind.h"

#include <string.h>

#include "cfi.h"

/*
 * A word of the stack. A sanitizer may have marked it as nobody's: it is, or
 * the stack is corrupted, and both are for us to find out.
 */
__attribute__((no_sanitize("address", "thread"))) static bool
load(const struct unwind *u, uintptr_t at, uintptr_t *v)
{
	if (at % sizeof(*v) || at < u->st->lo || at > u->st->hi ||
	    u->st->hi - at < sizeof(*v))
		return false;
	*v = *(const volatile uintptr_t *)at;
	return true;
}

static bool
knows(const struct unwind *u, unsigned reg)
{
	return u->known >> reg & 1;
}

static const struct module *
module_of(const struct unwind *u, uintptr_t pc)
{
	for (size_t i = 0; i < u->n; i++)
		if (module_has_code(&u->mods[i], pc))
			return &u->mods[i];
	return NULL;
}

/*
 * Where the frame ends: above the one before, so that a walk goes up and has
 * an end. The innermost one may be empty, if its caller is in a register.
 */
static bool
find_cfa(const struct unwind *u, const struct cfi_row *row, uintptr_t *cfa)
{
	uintptr_t sp = u->regs[DWARF_SP];

	if (!knows(u, row->cfa_reg) || !knows(u, DWARF_SP))
		return false;
	*cfa = u->regs[row->cfa_reg] + (uintptr_t)(intptr_t)row->cfa_offset;
	return *cfa % sizeof(uintptr_t) == 0 && *cfa >= sp &&
	    (u->depth == 0 || *cfa > u->cfa) && *cfa <= u->st->hi;
}

/*
 * Where the caller goes on. It is in its register only as long as nothing was
 * called, thus in the innermost frame.
 */
static bool
find_caller(const struct unwind *u, const struct cfi_row *row, uintptr_t cfa,
    uintptr_t *pc)
{
	uintptr_t off = (uintptr_t)(intptr_t)row->offset[DWARF_RA];

	switch (row->rule[DWARF_RA]) {
	case CFI_AT:
		if (!load(u, cfa + off, pc))
			return false;
		break;
	case CFI_SAME:
		if (!knows(u, DWARF_RA))
			return false;
		*pc = u->regs[DWARF_RA];
		break;
	default:
		return false;
	}
	if (row->ra_signed)
		*pc = dwarf_strip(*pc);
	return *pc != 0;
}

/*
 * The caller's registers: those that were saved, and those that a function
 * has to preserve and did not touch. The others were lost by the call.
 */
static bool
restore(struct unwind *u, const struct cfi_row *row, uintptr_t cfa)
{
	uint32_t known = 0;

	for (unsigned r = 0; r < DWARF_REGS; r++) {
		uintptr_t v = cfa + (uintptr_t)(intptr_t)row->offset[r];

		switch (row->rule[r]) {
		case CFI_SAME:
			known |= u->known & DWARF_PRESERVED & 1u << r;
			break;
		case CFI_UNDEFINED:
			break;
		case CFI_AT:
			if (!load(u, v, &u->regs[r]))
				return false;
			known |= 1u << r;
			break;
		case CFI_IS:
			u->regs[r] = v;
			known |= 1u << r;
			break;
		}
	}
	/* The return address was for us; the stack pointer is by definition. */
	u->regs[DWARF_SP] = cfa;
	u->known = (known & ~(1u << DWARF_RA)) | 1u << DWARF_SP;
	return row->rule[DWARF_SP] == CFI_SAME;
}

enum unwind_end
unwind_step(struct unwind *u)
{
	/* A call may be the last instruction of its function. */
	uintptr_t pc = u->pc - (u->depth > 0), cfa, next;
	const struct module *m;
	struct cfi_row row;

	if (range_has(&u->bottom, pc))
		return UNWIND_BOTTOM;
	m = module_of(u, pc);
	if (!m)
		return UNWIND_FOREIGN;
	if (u->depth == UNWIND_DEPTH || !cfi_find(m, pc, &row, &u->fn) ||
	    !find_cfa(u, &row, &cfa) || !find_caller(u, &row, cfa, &next) ||
	    !restore(u, &row, cfa))
		return UNWIND_UNKNOWN;
	u->cfa = cfa;
	u->pc = next;
	u->depth++;
	return UNWIND_ON;
}

void
unwind_begin(struct unwind *u, const uintptr_t regs[DWARF_REGS], uintptr_t pc)
{
	u->depth = 0;
	u->pc = pc;
	u->cfa = u->fn = 0;
	u->known = UINT32_MAX >> (32 - DWARF_REGS);
	/* Where it is no register, nothing is in it. */
	if (DWARF_RA > DWARF_SP)
		u->known &= ~(1u << DWARF_RA);
	memcpy(u->regs, regs, sizeof(u->regs));
}

enum unwind_end
unwind_walk(const struct module *mods, size_t n,
    const uintptr_t regs[DWARF_REGS], uintptr_t pc,
    const struct unwind_stack *st, uintptr_t bottom_lo, uintptr_t bottom_hi,
    uintptr_t *stack_end)
{
	struct unwind u = { .mods = mods, .n = n, .st = st,
	    .bottom = { bottom_lo, bottom_hi } };
	enum unwind_end end;

	unwind_begin(&u, regs, pc);
	if (regs[DWARF_SP] < st->lo || regs[DWARF_SP] > st->hi)
		return UNWIND_UNKNOWN;
	do {
		end = unwind_step(&u);
	} while (end == UNWIND_ON);
	if (end == UNWIND_BOTTOM)
		*stack_end = u.regs[DWARF_SP];
	return end;
}

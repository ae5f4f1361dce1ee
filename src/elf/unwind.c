/* SPDX-License-Identifier: MIT */
#include "unwind.h"

#include <string.h>

/*
 * A word of the stack. A sanitizer may have poisoned it: it is then unused, or
 * the stack is corrupted, and the unwinder has to cope with both.
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
	if (u->find)
		return u->find(pc);
	for (size_t i = 0; i < u->n; i++)
		if (module_has_code(&u->mods[i], pc))
			return &u->mods[i];
	return NULL;
}

/*
 * Where the frame ends: above the previous one, so that a walk goes up and
 * terminates. The innermost one may be empty, if the return address is in a
 * register.
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
 * The return address. It is in its register only as long as nothing was
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
restore(struct unwind *u, const struct unwind_row *found, uintptr_t cfa)
{
	const struct cfi_row *row = &found->row;
	uint32_t known = u->known & DWARF_PRESERVED & ~found->changed;

	for (uint32_t left = found->changed; left; left &= left - 1) {
		unsigned r = (unsigned)__builtin_ctz(left);
		uintptr_t v = cfa + (uintptr_t)(intptr_t)row->offset[r];

		if (row->rule[r] == CFI_UNDEFINED)
			continue;
		if (row->rule[r] == CFI_IS)
			u->regs[r] = v;
		else if (!load(u, v, &u->regs[r]))
			return false;
		known |= 1u << r;
	}
	/* The return address was used; the stack pointer is the CFA. */
	u->regs[DWARF_SP] = cfa;
	u->known = (known & ~(1u << DWARF_RA)) | 1u << DWARF_SP;
	return row->rule[DWARF_SP] == CFI_SAME;
}

static uint32_t
changed(const struct cfi_row *row)
{
	uint32_t set = 0;

	for (unsigned r = 0; r < DWARF_REGS; r++)
		if (row->rule[r] != CFI_SAME)
			set |= 1u << r;
	return set;
}

/* UNWIND_ON with the row for this instruction, which is cached, or why not. */
static enum unwind_end
find_row(struct unwind *u, uintptr_t pc, const struct unwind_row **row)
{
	struct unwind_row *r = &u->rows[(pc ^ pc >> 4) % UNWIND_ROWS];
	const struct module *m;

	*row = r;
	if (r->pc == pc)
		return UNWIND_ON;
	m = module_of(u, pc);
	if (!m)
		return UNWIND_FOREIGN;
	r->pc = 0;
	if (u->lookups++ == UNWIND_LOOKUPS ||
	    !cfi_find(m, pc, &r->row, &r->fn))
		return UNWIND_UNKNOWN;
	r->changed = changed(&r->row);
	r->pc = pc;
	return UNWIND_ON;
}

enum unwind_end
unwind_step(struct unwind *u)
{
	/* A call may be the last instruction of its function. */
	uintptr_t pc = u->pc - (u->depth > 0), cfa, next;
	const struct unwind_row *r;
	enum unwind_end end;

	if (range_has(&u->bottom, pc))
		return UNWIND_BOTTOM;
	end = find_row(u, pc, &r);
	if (end != UNWIND_ON)
		return end;
	if (u->depth == UNWIND_DEPTH || !find_cfa(u, &r->row, &cfa) ||
	    !find_caller(u, &r->row, cfa, &next) ||
	    !restore(u, r, cfa))
		return UNWIND_UNKNOWN;
	u->fn = r->fn;
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
	u->lookups = 0;
	for (unsigned i = 0; i < UNWIND_ROWS; i++)
		u->rows[i].pc = 0;
	u->known = UINT32_MAX >> (32 - DWARF_REGS);
	/* On x86-64 the return address is no register and has no value. */
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

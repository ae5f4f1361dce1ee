/* SPDX-License-Identifier: MIT */
/*
 * What the frame tables say about one instruction: where the frame ends (the
 * CFA) and where the caller's registers are. Signal-safe; see unwind.h.
 */
#ifndef CFI_H
#define CFI_H

#include "dwarf.h"
#include "module.h"

enum cfi_rule {
	CFI_SAME,	/* unchanged; the initial rule of all */
	CFI_UNDEFINED,
	CFI_AT,		/* in memory, at CFA + offset */
	CFI_IS		/* CFA + offset itself */
};

struct cfi_row {
	uint8_t rule[DWARF_REGS];	/* enum cfi_rule */
	int32_t offset[DWARF_REGS];
	uint8_t cfa_reg;	/* the CFA is this register ... */
	int32_t cfa_offset;	/* ... plus this */
	bool has_cfa;
	bool ra_signed;
};

/*
 * The row for the instruction at pc, and where its function begins. False if
 * there is none, or if it uses something that is not supported.
 */
bool cfi_find(const struct module *m, uintptr_t pc, struct cfi_row *row,
    uintptr_t *fn);

#endif

/* SPDX-License-Identifier: MIT */
/* Which relocations refer to thread-local variables; for elf/audit.c. */
#ifndef RELOC_H
#define RELOC_H

#include <elf.h>

#include "defs.h"

/* elf.h calls the first three by several names. */
static inline bool
reloc_is_tls(uint32_t type)
{
	enum { DTPMOD = 1028, DTPREL = 1029, TPREL = 1030 };

	return type == DTPMOD || type == DTPREL || type == TPREL ||
	    type == R_AARCH64_TLSDESC;
}

static inline bool
reloc_is_copy(uint32_t type)
{
	return type == R_AARCH64_COPY;
}

#endif

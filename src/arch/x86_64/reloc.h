/* SPDX-License-Identifier: MIT */
/* Which relocations refer to thread-local variables; for elf/audit.c. */
#ifndef RELOC_H
#define RELOC_H

#include <elf.h>

#include "defs.h"

static inline bool
reloc_is_tls(uint32_t type)
{
	return type == R_X86_64_DTPMOD64 || type == R_X86_64_DTPOFF64 ||
	    type == R_X86_64_TPOFF64 || type == R_X86_64_TLSDESC;
}

static inline bool
reloc_is_copy(uint32_t type)
{
	return type == R_X86_64_COPY;
}

#endif

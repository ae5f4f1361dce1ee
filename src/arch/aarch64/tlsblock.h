/* SPDX-License-Identifier: MIT */
/* Where this thread has the program's thread-local segment. */
#ifndef TLSBLOCK_H
#define TLSBLOCK_H

#include "defs.h"

/* It begins after the two words that the thread pointer points to. */
static inline uintptr_t
tls_block(size_t bytes, size_t align)
{
	uintptr_t tp;

	(void)bytes;
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp + round_up(16, align ? align : 1);
}

#endif

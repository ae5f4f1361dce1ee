/* SPDX-License-Identifier: MIT */
/* Where this thread has the program's thread-local segment. */
#ifndef TLSBLOCK_H
#define TLSBLOCK_H

#include "defs.h"

/* It ends where the thread's control block begins. */
static inline uintptr_t
tls_block(size_t bytes, size_t align)
{
	uintptr_t tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp - round_up(bytes, align ? align : 1);
}

#endif

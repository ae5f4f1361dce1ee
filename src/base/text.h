/* SPDX-License-Identifier: MIT */
/*
 * Where the library's code is. src/weft.ld puts all of it into one section,
 * but for the few functions that call the user's, which have their own, and
 * the linker that makes the program or the shared library says where that
 * begins and ends. What weft.h inlines into a program is the program's.
 */
#ifndef TEXT_H
#define TEXT_H

#include "defs.h"

/* Hidden: each linked object has its own, and ours is meant. */
extern const char __start_weft_text[] __attribute__((visibility("hidden")));
extern const char __stop_weft_text[] __attribute__((visibility("hidden")));

extern const char __start_weft_calls[] __attribute__((visibility("hidden")));
extern const char __stop_weft_calls[] __attribute__((visibility("hidden")));

/* In one of those functions that call the user's (calls_out)? */
static inline bool
text_calls_out(uintptr_t pc)
{
	return pc >= (uintptr_t)__start_weft_calls &&
	    pc < (uintptr_t)__stop_weft_calls;
}

/* Is this address of an instruction in the library? Safe in a handler. */
static inline bool
text_is_ours(uintptr_t pc)
{
	return (pc >= (uintptr_t)__start_weft_text &&
	    pc < (uintptr_t)__stop_weft_text) || text_calls_out(pc);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where the library's code is. src/weft.ld puts all of it into one section,
 * except the few functions that call the user's, which have a section of their
 * own. The linker that makes the program or the shared library defines where
 * these begin and end. Code that weft.h inlines counts as the program's.
 */
#ifndef TEXT_H
#define TEXT_H

#include "defs.h"

/* Hidden: each linked object has its own, and these are the library's. */
extern const char __start_weft_text[] __attribute__((visibility("hidden")));
extern const char __stop_weft_text[] __attribute__((visibility("hidden")));

extern const char __start_weft_calls[] __attribute__((visibility("hidden")));
extern const char __stop_weft_calls[] __attribute__((visibility("hidden")));

/* Is it in a function that calls the user's (calls_out)? */
static inline bool
text_calls_out(uintptr_t pc)
{
	return pc >= (uintptr_t)__start_weft_calls &&
	    pc < (uintptr_t)__stop_weft_calls;
}

/* Is this instruction address in the library? Signal-safe. */
static inline bool
text_is_ours(uintptr_t pc)
{
	return (pc >= (uintptr_t)__start_weft_text &&
	    pc < (uintptr_t)__stop_weft_text) || text_calls_out(pc);
}

#endif

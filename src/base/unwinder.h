/* SPDX-License-Identifier: MIT */
/*
 * Library functions through which the unwinder passes: the user's function
 * that they called threw an exception (C++, or any language whose exceptions
 * follow the same ABI), or its thread was made to exit or cancelled.
 *
 * The unwinder asks the personality routine of each frame what to do. A
 * compiler's says where in the function to continue, which takes two calls
 * into the unwinder's library; a C program is not linked with that, and weft
 * shall not require it. So a library function that has something to undo has
 * its own personality routine, which undoes it right there and lets the
 * unwinder continue. It may park: all state of the unwinder is on the stack.
 *
 *	unwinder_answer undo(UNWINDER_ASKS);
 *	...
 *		unwinder_asks(undo);
 *		fn(arg);
 *
 * undo is not static: the linker takes two static ones in one section for the
 * same (it compares the symbols to which tables refer, and not the offsets).
 * It is called twice: in the first phase the unwinder only searches for a
 * handler; unwinder_leaves says whether the frame is left now.
 */
#ifndef UNWINDER_H
#define UNWINDER_H

#include "defs.h"

/* The ABI's _Unwind_Reason_Code, and a bit of its _Unwind_Action. */
typedef int unwinder_answer;
enum { UNWINDER_GO_ON = 8, UNWINDER_CLEANUP = 2 };

#define UNWINDER_ASKS int version, int actions, uint64_t language,	\
	void *exception, void *frame

/* 0x1b: the distance to the function, in 4 bytes. */
#define unwinder_asks(personality) \
	__asm__ volatile(".cfi_personality 0x1b, " #personality)

static inline bool
unwinder_leaves(int actions)
{
	return actions & UNWINDER_CLEANUP;
}

#endif

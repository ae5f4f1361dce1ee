/* SPDX-License-Identifier: MIT */
/*
 * Functions of ours that the unwinder passes: the user's function that they
 * called threw an exception (C++, or any language whose exceptions follow the
 * same ABI), or its thread was made to exit or cancelled.
 *
 * The unwinder asks the personality of each frame what to do. A compiler's
 * says where in the function to go on, which takes two calls into the
 * unwinder's library; a C program is not linked with that, nor is it to be
 * because of us. So a function of ours that has something to undo has a
 * personality of our own, which does it right there, and has the unwinder go
 * on. It may park: the unwinder has all its state on the stack.
 *
 *	unwinder_answer undo(UNWINDER_ASKS);
 *	...
 *		unwinder_asks(undo);
 *		fn(arg);
 *
 * undo is not static: the linker takes two that are, in one section, for the
 * same (it compares the symbols to which tables refer, and not the offsets).
 * It is asked twice: unwinder_leaves says whether the frame is left now. The
 * first time the unwinder only looks for a handler.
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

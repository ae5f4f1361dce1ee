/* SPDX-License-Identifier: MIT */
/*
 * How a goroutine gets its arguments; arch/<arch>/capture.S implements it.
 *
 * weft_go calls weft_go_capture_ through a pointer of the user's function's
 * type, so the compiler converts and passes the arguments as it would to that
 * function. The capture stores the argument registers (and, where 8 arguments
 * do not fit in registers, the first stack words) at self()->args. args_call
 * loads them again and calls the function.
 *
 * Rejected: a nested function as thunk per call (needs its address from an
 * assembler label, which does not link with -flto, and clang has no nested
 * functions), and casting every argument to a long (no conversions, no
 * floating point).
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "defs.h"

enum { ARG_WORDS = 16 };

/*
 * What was captured, as weft.h tells weft_go_begin_: fewer words touch fewer
 * cache lines of the record. NONE and COPY come from weft_spawn.
 */
enum capture {
	CAPTURE_NONE,		/* args[0] is fn's argument */
	CAPTURE_TWO,		/* at most 2 integers or pointers */
	CAPTURE_ALL,
	CAPTURE_COPY		/* args is what fn's argument points to */
};

/*
 * Calls fn with all of args; what it returned, if that is an integer or a
 * pointer (of less than 8 bytes the rest is undefined). Or, the same code by
 * another name, if it is a float or a double.
 */
uint64_t args_call(void (*fn)(void), const uint64_t args[ARG_WORDS]);
double args_call_real(void (*fn)(void), const uint64_t args[ARG_WORDS]);

/*
 * Calls fn with what was captured. Two integers or pointers are passed in the
 * same registers whatever their types, so a call with two words suffices.
 * Always inlined: out of line it would be a library frame that is not marked
 * calls_out, and nothing that it calls could be preempted.
 */
static always_inline void
args_call_kind(enum capture kind, void (*fn)(void), const uint64_t *a)
{
	typedef void two(uint64_t, uint64_t);

	switch (kind) {
	case CAPTURE_NONE:
	case CAPTURE_TWO:
		((two *)fn)(a[0], a[1]);
		break;
	case CAPTURE_ALL:
		args_call(fn, a);
		break;
	case CAPTURE_COPY:
		((two *)fn)((uintptr_t)a, 0);
		break;
	}
}

/*
 * The same for TWO and ALL, with the result of a function that returns int (of
 * others it is meaningless). On its own, so that the path of most goroutines
 * stays as short as it is.
 */
static always_inline int
args_call_int(enum capture kind, void (*fn)(void), const uint64_t *a)
{
	typedef int two(uint64_t, uint64_t);

	return kind == CAPTURE_TWO ? ((two *)fn)(a[0], a[1]) :
	    (int)args_call(fn, a);
}

#endif

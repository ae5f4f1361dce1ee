/* SPDX-License-Identifier: MIT */
/*
 * What valgrind is told, if the program runs under it: which memory is a stack,
 * so that it takes a switch for one, and not for a frame of a megabyte. It is
 * told when a stack is made, so a switch costs nothing. Natively a request is
 * some instructions without effect.
 *
 * Valgrind runs one thread at a time, and hands the turn over with a lock. So
 *
 *   - its threads are ordered as with a barrier between any two turns;
 *   - a thread that waits for its turn sleeps, as /proc has it;
 *   - a signal is delivered between two blocks of translated code, where the
 *     frame that a handler gets is not what the kernel would have saved: the
 *     frame cannot be kept and returned to on another thread.
 *
 * And it reads the memory that a system call is given by itself, so the kernel
 * must not be asked about memory that faults, unless valgrind knows that.
 */
#ifndef VALGRIND_H
#define VALGRIND_H

#include <stdbool.h>
#include <stddef.h>

#include "vgcall.h"

enum {
	VG_RUNNING = 0x1001,
	VG_STACK_REGISTER = 0x1501,
	/* of memcheck: the letters M and C, and a number */
	VG_MAKE_UNDEFINED = 0x4d430001
};

static inline bool
vg_running(void)
{
	return vg_call(0, VG_RUNNING, 0, 0) != 0;
}

/* lo..hi is a stack from now on, for good. */
static inline void
vg_stack(void *lo, void *hi)
{
	vg_call(0, VG_STACK_REGISTER, (uintptr_t)lo, (uintptr_t)hi);
}

/* Part of a stack below its pointer that is used for something else. */
static inline void
vg_reuse(void *p, size_t bytes)
{
	vg_call(0, VG_MAKE_UNDEFINED, (uintptr_t)p, bytes);
}

#endif

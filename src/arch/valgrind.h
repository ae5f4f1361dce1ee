/* SPDX-License-Identifier: MIT */
/*
 * What valgrind is told, if the program runs under it: which memory is a stack,
 * so that it recognises a switch, and does not take it for a frame of a
 * megabyte. It is told when a stack is made, so a switch costs nothing.
 * Natively a request is a few instructions without effect.
 *
 * Valgrind runs one thread at a time, and passes the turn on with a lock. So
 *
 *   - its threads are ordered as with a barrier between any two turns;
 *   - a thread that waits for its turn sleeps, according to /proc;
 *   - a signal is delivered between two blocks of translated code, where the
 *     frame that a handler gets is not what the kernel would have saved: the
 *     frame cannot be kept and returned to on another thread.
 *
 * Also, it reads the memory arguments of a system call itself, so the kernel
 * must not be given memory that faults, unless valgrind knows that.
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

/* lo..hi is a stack from now on; this is never undone. */
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

/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that park with a pthread lock held: counted, and reported if the
 * environment has WEFT_HOOKS_DEBUG=1. Such a park keeps a thread for as long as
 * it lasts, and others that want the lock wait for whatever it waits for.
 */
#ifndef HELD_H
#define HELD_H

#include "atomic.h"
#include "defs.h"

/* set once, by a constructor */
extern abool held_reports;

void held_note_slow(const void *caller);

/* A goroutine is about to take a lock, there. */
static always_inline void
held_note(const void *caller)
{
	if (unlikely(a_load_relaxed(&held_reports)))
		held_note_slow(caller);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Critical code: modules in which a thread may hold locks that every other
 * thread of the process needs: the allocator's, the loader's, those of stdio.
 * A thread is not paused there (preempt/pause.c). They are libc and its parts,
 * the dynamic loader, the vDSO, and the module that defines malloc.
 *
 * In a static program, and in one that has a malloc of its own, this code is
 * in one module with the program's: then all of it is critical.
 */
#ifndef CRITICAL_H
#define CRITICAL_H

#include "module.h"

enum { CRITICAL_MAX = 24 };

struct critical {
	struct range text[CRITICAL_MAX];
	unsigned n;
	const char *all;	/* not NULL: all code is critical, and why */
};

/* Called once, not in a signal handler; then constant. Takes libc's locks. */
void critical_find(struct critical *c);

/* Signal-safe. */
bool critical_has(const struct critical *c, uintptr_t pc);

#endif

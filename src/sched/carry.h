/* SPDX-License-Identifier: MIT */
/*
 * What libc and the C++ runtime keep in a thread for the code that runs on it,
 * and a goroutine takes along when it moves: errno, and the state of C++
 * exceptions (those that are caught, and the number of those in flight).
 * Both lie on the goroutine's stack while it does not run.
 *
 * The references are weak. So a program that does not use C++ does not get it
 * from us; and the audit, which refuses programs that refer to errno's address
 * by themselves, can tell our reference from theirs.
 */
#ifndef CARRY_H
#define CARRY_H

#include "defs.h"

/* Layout fixed by the C++ ABI. */
struct cxx_state {
	void *caught;
	unsigned flying;
};

/* Where this thread has them. */
struct carried_at {
	int *error;
	struct cxx_state *cxx;	/* NULL: no C++ in this program */
};

struct carried {
	int error;
	struct cxx_state cxx;
};

/* Once on each thread. */
void carry_find(struct carried_at *at);

static always_inline void
carry_save(const struct carried_at *at, struct carried *c)
{
	c->error = *at->error;
	if (unlikely(at->cxx != NULL))
		c->cxx = *at->cxx;
}

static always_inline void
carry_load(const struct carried_at *at, const struct carried *c)
{
	*at->error = c->error;
	if (unlikely(at->cxx != NULL))
		*at->cxx = c->cxx;
}

/* For a goroutine that begins. */
static always_inline void
carry_fresh(const struct carried_at *at)
{
	if (unlikely(at->cxx != NULL))
		*at->cxx = (struct cxx_state){ NULL, 0 };
}

#endif

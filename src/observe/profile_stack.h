/* SPDX-License-Identifier: MIT */
/*
 * Stacks as profiles show them: without the functions of the library that are
 * of no interest to a user.
 */
#ifndef PROFILE_STACK_H
#define PROFILE_STACK_H

#include "profile_table.h"

/* Leaves out the functions that called the goroutine's. The new length. */
unsigned profile_stack_cut_outer(const uintptr_t *pcs, unsigned n);
/*
 * Leaves out what the function that the user called has called in turn; and,
 * without `call`, that function itself: a goroutine that was preempted has
 * called none.
 */
unsigned profile_stack_cut_inner(uintptr_t *pcs, unsigned n, bool call);

/* Its id, name and labels. The goroutine, or a handler on its thread. */
void profile_key_goroutine(struct profile_key *key, const struct g *gp);

#endif

/* SPDX-License-Identifier: MIT */
/* Calls that may block their thread, announced. See blocking.c. */
#ifndef BLOCKING_H
#define BLOCKING_H

#include "sched.h"

/* Around a call that may block, of the kind that the address stands for; on
 * another thread than a goroutine's they do nothing. Outside. */
void blocking_enter(const void *address);
void blocking_leave(void);

/* The monitor took the P of an M in an announced call: others of its kind are
 * expected to be slow, too. */
void blocking_was_slow(struct m *mp);

#endif

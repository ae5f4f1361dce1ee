/* SPDX-License-Identifier: MIT */
/* Blocking calls, which a goroutine announces. See blocking.c. */
#ifndef BLOCKING_H
#define BLOCKING_H

#include "sched.h"

/* Around a call that may block, whose kind is identified by the address. They
 * do nothing on a thread that runs no goroutine. Outside. */
void blocking_enter(const void *address);
void blocking_leave(void);

/* The monitor retook the P of an M in a blocking call: others of its kind are
 * expected to be slow, too. */
void blocking_was_slow(struct m *mp);

#endif

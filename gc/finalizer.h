/* SPDX-License-Identifier: MIT */
#ifndef WEFT_FINALIZER_H
#define WEFT_FINALIZER_H

#include <stdint.h>

/* After a cycle, no lock held: those that are due are called, elsewhere. */
void finalizer_run_due(void);
uint64_t finalizer_count(void);
/* The lock held: the object is about to be freed, and its finalizer forgotten;
 * or it is elsewhere now. */
void finalizer_drop(void *object);
void finalizer_moved(void *from, void *to);
/* In the child of a fork: no thread calls any. */
void finalizer_forked(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef WEFT_MARK_H
#define WEFT_MARK_H

#include <stdbool.h>

/* Once, at the start. */
void mark_init(void);
/* The collector's thread: all are stopped; and no more. */
void mark_stopped(bool yes);
/* The lock held, before each collection: makes room for all goroutines. */
void mark_prepare(void);

#endif

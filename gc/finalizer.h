/* SPDX-License-Identifier: MIT */
#ifndef WEFT_FINALIZER_H
#define WEFT_FINALIZER_H

#include <stdint.h>

/* The collector's thread, after a cycle, no lock held. */
void finalizer_run_due(void);
uint64_t finalizer_count(void);
/* In the child of a fork: no thread calls any. */
void finalizer_forked(void);

#endif

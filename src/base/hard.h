/* SPDX-License-Identifier: MIT */
/*
 * The hard mode (make HARD=1): makes rare interleavings common.
 *
 * hard_pause() sits in the windows of the lock-free protocols and sometimes
 * waits there, long enough for another core to walk through the gap.
 * hard_coin() turns optional shortcuts off at random: runnext, running on
 * instead of yielding, spinning before sleep. In other builds both vanish.
 */
#ifndef HARD_H
#define HARD_H

#include "defs.h"

#ifdef WEFT_HARD
void hard_pause(void);
bool hard_coin(void);
enum { HARD_ON = 1 };
#else
static always_inline void hard_pause(void) {}
static always_inline bool hard_coin(void) { return false; }
enum { HARD_ON = 0 };
#endif

#endif

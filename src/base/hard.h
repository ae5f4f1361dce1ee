/* SPDX-License-Identifier: MIT */
/*
 * Hard mode (make HARD=1): makes rare interleavings common.
 *
 * hard_pause() stands in the windows of the lock-free protocols and sometimes
 * delays the thread there, long enough for another core to act in between.
 * hard_coin() turns optional shortcuts off at random: runnext, running on
 * instead of yielding, spinning before sleep. In other builds both are empty.
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

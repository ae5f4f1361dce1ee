/* SPDX-License-Identifier: MIT */
#ifndef SCAVENGE_H
#define SCAVENGE_H

#include "defs.h"

/*
 * Gives some memory back that has not been used for a while. True if there may
 * be more. The monitor, no lock held.
 */
bool scavenge_some(void);
/* Are there so many stacks that it sweeps all goroutines? */
bool scavenge_sweeps(void);
/* Goroutines have run since: there may be more after all. */
void scavenge_again(void);

#endif

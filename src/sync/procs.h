/* SPDX-License-Identifier: MIT */
/* Stopping the world in turn with those that change the number of Ps. */
#ifndef PROCS_H
#define PROCS_H

#include "defs.h"

/*
 * A thread that has no P: stops the world, and starts it again. False if there
 * is no runtime, or it has ended: then there is nothing to start.
 */
bool procs_stop_world(void);
void procs_start_world(void);

#endif

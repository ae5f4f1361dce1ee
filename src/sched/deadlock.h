/* SPDX-License-Identifier: MIT */
/* Nobody can run any more. See deadlock.c. */
#ifndef DEADLOCK_H
#define DEADLOCK_H

#include "sched.h"

/*
 * All Ps are idle: dies if nobody is left who could change that. True if all
 * sleep but there are threads that might.
 */
bool deadlock_check(void);

#endif

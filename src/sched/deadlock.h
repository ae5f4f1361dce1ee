/* SPDX-License-Identifier: MIT */
/* Detecting that no goroutine can run any more. See deadlock.c. */
#ifndef DEADLOCK_H
#define DEADLOCK_H

#include "sched.h"

/*
 * All Ps are idle: fatal if no thread, timer or descriptor can change that.
 * True if in doubt: foreign threads might, or a timer is just firing. No lock
 * held.
 */
bool deadlock_check(void);

#endif

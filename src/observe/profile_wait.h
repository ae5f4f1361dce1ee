/* SPDX-License-Identifier: MIT */
/*
 * Profiles of waits: for locks and channels, for mutexes only, and for
 * anything. See profile_wait.c.
 */
#ifndef PROFILE_WAIT_H
#define PROFILE_WAIT_H

#include "profile_write.h"

enum profile_wait { WAITS_BLOCK, WAITS_MUTEX, WAITS_OFFCPU, WAITS_KINDS };

/*
 * Block and off-CPU: a rate in nanoseconds; mutexes: one of so many. 0: none
 * are recorded. 0 or -errno.
 */
int profile_wait_set(enum profile_wait kind, int64_t rate);
/* What was recorded, for writing: 0, or -ESRCH if nothing ever was. */
int profile_wait_file(enum profile_wait kind, struct profile_file *f);

#endif

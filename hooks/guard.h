/* SPDX-License-Identifier: MIT */
/*
 * Locks of the hooks themselves: real pthread mutexes, which work on any
 * thread, in announced calls and after the runtime has ended. A goroutine that
 * has one holds its thread, so that it is not preempted by a signal meanwhile;
 * it makes no call of libweft, so that it does not yield either.
 */
#ifndef GUARD_H
#define GUARD_H

#include "core.h"
#include "real.h"

static inline void
guard_take(pthread_mutex_t *m)
{
	if (weft_thread_hold)
		weft_thread_hold();
	real()->pthread_mutex_lock(m);
}

static inline void
guard_drop(pthread_mutex_t *m)
{
	real()->pthread_mutex_unlock(m);
	if (weft_thread_release)
		weft_thread_release();
}

#endif

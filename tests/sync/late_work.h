/* SPDX-License-Identifier: MIT */
/*
 * What a goroutine leaves to be done at its end, by a deferred call and by a
 * goroutine-local value: each adds one to a count after some yields.
 */
#ifndef LATE_WORK_H
#define LATE_WORK_H

#include <weft.h>

#include "t.h"

static inline void
late(void *count)
{
	for (int i = 0; i < 10; i++)
		weft_yield();
	__atomic_add_fetch((int *)count, 1, __ATOMIC_RELAXED);
}

static weft_gls late_key = { late };

static inline void
leave_late_work(int *count)
{
	EQ(weft_defer(late, count), 0);
	EQ(weft_gls_set(&late_key, count), 0);
}

#endif

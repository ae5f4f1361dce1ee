/* SPDX-License-Identifier: MIT */
/* Goroutines that keep a P until they are told to stop. */
#ifndef BUSY_H
#define BUSY_H

#include <weft.h>

#include "run_env.h"

/* Computes, and makes no call. */
static inline void
busy_goroutine(const long *stop, weft_waitgroup *wg)
{
	compute(stop);
	weft_waitgroup_done(wg);
}

/* Yields all the time. */
static inline void
yield_goroutine(const long *stop, weft_waitgroup *wg)
{
	while (!get(stop))
		weft_yield();
	weft_waitgroup_done(wg);
}

/* Computes for so long, by weft's clock. */
static inline void
busy_for(int64_t ns)
{
	int64_t end = weft_now() + ns;

	while (weft_now() < end)
		;
}

#endif

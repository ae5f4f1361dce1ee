/* SPDX-License-Identifier: MIT */
/* Spans of time, as the system's calls have them. */
#ifndef TIMESPAN_H
#define TIMESPAN_H

#include <time.h>

#include "core.h"

static inline bool
is_time(const struct timespec *ts)
{
	return ts->tv_sec >= 0 && ts->tv_nsec >= 0 &&
	    ts->tv_nsec < WEFT_SECOND;
}

/* The end of a time span from now; NULL: never. */
static inline int64_t
end_of(const struct timespec *ts)
{
	if (!ts || ts->tv_sec > INT64_MAX / WEFT_SECOND - 1)
		return WEFT_NEVER;
	return weft_deadline(ts->tv_sec * WEFT_SECOND + ts->tv_nsec);
}

static inline bool
is_now(const struct timespec *ts)
{
	return ts && !ts->tv_sec && !ts->tv_nsec;
}

#endif

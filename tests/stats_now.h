/* SPDX-License-Identifier: MIT */
/* What the runtime has counted by now, as a value. */
#ifndef STATS_NOW_H
#define STATS_NOW_H

#include <weft.h>

#define STATS_NOW_(name, stats)						\
	static inline stats						\
	name(void)							\
	{								\
		stats s;						\
									\
		stats##_read(&s, sizeof s);				\
		return s;						\
	}

STATS_NOW_(stats_now, weft_stats)
STATS_NOW_(io_now, weft_io_stats)
STATS_NOW_(stalls_now, weft_preempt_stats)

#endif

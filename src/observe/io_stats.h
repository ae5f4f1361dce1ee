/* SPDX-License-Identifier: MIT */
/* What is counted about descriptors, without looking at each of them. */
#ifndef IO_STATS_H
#define IO_STATS_H

#include "weft.h"

/* All but `waiting`, which is 0. */
void io_stats_count(weft_io_stats *out);

#endif

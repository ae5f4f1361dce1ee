/* SPDX-License-Identifier: MIT */
/* See preempt_counts.h. */
#include "preempt_counts.h"

struct preempt_stats preempt_stats;

/* SPDX-License-Identifier: MIT */
/* See preempt_stats.h. */
#include "preempt_stats.h"

struct preempt_stats preempt_stats;

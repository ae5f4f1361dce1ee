/* SPDX-License-Identifier: MIT */
/* See stall.h. */
#include "stall.h"

struct stalls stalls;

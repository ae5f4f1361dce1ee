/* SPDX-License-Identifier: MIT */
/* The kernel's clock, asked without weft. */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <time.h>

#include <weft.h>

static inline int64_t
kernel_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * WEFT_SECOND + ts.tv_nsec;
}

#endif

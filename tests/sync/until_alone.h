/* SPDX-License-Identifier: MIT */
/* Waiting until nothing of a test is left but its main goroutine. */
#ifndef UNTIL_ALONE_H
#define UNTIL_ALONE_H

#include <weft.h>

#include "t.h"

/* The other goroutines have ended, and no memory is lost. */
static inline void
until_alone(void)
{
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(t_leaks(), 0);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Overwrites what functions that have returned left on the stack. */
#ifndef DIRTY_STACK_H
#define DIRTY_STACK_H

#include <stddef.h>

/* Not optimised away: what lay there before is gone. */
__attribute__((__noinline__, __unused__)) static void
dirty_stack(int frames)
{
	volatile char room[1000];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = (char)0xa5;
	if (frames > 1)
		dirty_stack(frames - 1);
	(void)room[0];
}

#endif

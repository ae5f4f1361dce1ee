/* SPDX-License-Identifier: MIT */
/*
 * Options that a program passes with their size. A struct only ever grows at
 * its end, and a member that is zero has its default, so a program and a
 * library of different versions understand each other: what the program does
 * not have is zero, and what the library does not know must be.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

/*
 * Copies the `size` bytes at `from`, which may be NULL: no options, to the
 * `room` bytes at `to`. 0; -E2BIG: an option is set that this version does not
 * have.
 */
static inline int
options_copy(void *to, size_t room, const void *from, size_t size)
{
	const char *p = from;
	size_t n = size < room ? size : room;

	memset(to, 0, room);
	if (!from)
		return 0;
	memcpy(to, from, n);
	for (size_t i = n; i < size; i++)
		if (p[i])
			return -E2BIG;
	return 0;
}

#endif

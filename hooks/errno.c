/* SPDX-License-Identifier: MIT */
/*
 * errno is the thread's, and a goroutine that parks may come back on another
 * thread: so a hook works with -errno, and these two translate. weft.h has
 * errno's address looked up each time.
 */
#include "core.h"

long
libc_result(long r)
{
	if (likely(r >= 0))
		return r;
	errno = (int)-r;
	return -1;
}

long
raw_result(long r)
{
	return r < 0 ? -errno : r;
}

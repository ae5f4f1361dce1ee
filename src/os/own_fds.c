/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own descriptors are put aside: a program counts on it that the
 * kernel gives out the lowest free number (who closes 0 and opens a file, say),
 * and one that closes a number twice by mistake shall not hit us.
 *
 * Not far up: beyond 64 numbers the kernel makes a larger table, and a process
 * with threads waits for that for some 10 ms.
 */
#include "os.h"

#include <fcntl.h>

#include "fdcall.h"

long
os_fd_move_high(long fd)
{
	long up;

	if (fd < 0 || fd >= FD_HIGH)
		return fd;
	up = fd_control((int)fd, F_DUPFD_CLOEXEC, FD_HIGH);
	if (up < 0)
		return fd;
	fd_close((int)fd);
	return up;
}

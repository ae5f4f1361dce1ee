/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own descriptors have high numbers: a program relies on getting
 * the lowest free one from the kernel (it closes 0 and opens a file, say), and
 * a program that closes a number twice by mistake shall not close ours.
 *
 * Not very high: beyond 64 numbers the kernel makes a larger table, which
 * takes a process with threads some 10 ms.
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

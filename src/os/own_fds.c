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

#include <errno.h>
#include <fcntl.h>

#include "fdcall.h"
#include "rawcall.h"
#include "valgrind.h"

/* Of Linux 5.9, on all architectures; CLOSE_RANGE_UNSHARE. */
enum { CLOSE_RANGE = 436, UNSHARE = 2 };

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

/*
 * The kernel copies only the part of the table that is not to be closed, so
 * no descriptor of the program lives on in this thread.
 */
int
os_fds_unshare(void)
{
	if (vg_running())
		return -ENOSYS;
	return (int)syscall6(CLOSE_RANGE, 0, ~0u, UNSHARE, 0, 0, 0);
}

/* SPDX-License-Identifier: MIT */
/* The kernel's calls on descriptors, raw: a result or -errno. */
#ifndef FDCALL_H
#define FDCALL_H

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "rawcall.h"

static inline long
fd_close(int fd)
{
	return syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long
fd_read(int fd, void *buf, size_t len)
{
	return syscall6(SYS_read, fd, (long)buf, (long)len, 0, 0, 0);
}

static inline long
fd_write(int fd, const void *buf, size_t len)
{
	return syscall6(SYS_write, fd, (long)buf, (long)len, 0, 0, 0);
}

static inline long
fd_recv(int fd, void *buf, size_t len, int flags)
{
	return syscall6(SYS_recvfrom, fd, (long)buf, (long)len, flags, 0, 0);
}

static inline long
fd_send(int fd, const void *buf, size_t len, int flags)
{
	return syscall6(SYS_sendto, fd, (long)buf, (long)len, flags, 0, 0);
}

static inline long
fd_control(int fd, int op, long arg)
{
	return syscall6(SYS_fcntl, fd, op, arg, 0, 0, 0);
}

static inline long
fd_getsockopt(int fd, int level, int name, void *v, unsigned *len)
{
	return syscall6(SYS_getsockopt, fd, level, name, (long)v, (long)len,
	    0);
}

static inline long
fd_setsockopt(int fd, int level, int name, const void *v, unsigned len)
{
	return syscall6(SYS_setsockopt, fd, level, name, (long)v, (long)len,
	    0);
}

/*
 * poll(2) without waiting. The kernel returns EINTR even then, if nothing is
 * ready and a signal is pending: then it is tried again.
 */
static inline long
fd_poll_now(void *fds, size_t n)
{
	long now[2] = {0}, ready;

	do
		ready = syscall6(SYS_ppoll, (long)fds, (long)n, (long)now, 0,
		    0, 0);
	while (ready == -EINTR);
	return ready;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * System calls on sockets that never wait, beside those of fdcall.h. Each
 * returns the kernel's result, or -errno.
 */
#ifndef NETCALL_H
#define NETCALL_H

#include <sys/socket.h>

#include "fdcall.h"
#include "weft.h"

/*
 * Non-blocking and close-on-exec. The caller calls desc_new_fd before it
 * publishes the number; until then it is closed with fd_close.
 */
static inline int
net_socket(int family, int type, int protocol)
{
	return (int)syscall6(SYS_socket, family,
	    type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol, 0, 0, 0);
}

static inline int
net_bind(int fd, const weft_address *a)
{
	return (int)syscall6(SYS_bind, fd, (long)a->bytes_, a->len, 0, 0, 0);
}

static inline int
net_listen(int fd, int backlog)
{
	return (int)syscall6(SYS_listen, fd, backlog, 0, 0, 0, 0);
}

/* -EINPROGRESS, -EAGAIN if it would have to wait. */
static inline int
net_connect(int fd, const weft_address *a)
{
	return (int)syscall6(SYS_connect, fd, (long)a->bytes_, a->len, 0, 0,
	    0);
}

static inline int
net_set(int fd, int level, int option, int value)
{
	return (int)fd_setsockopt(fd, level, option, &value, sizeof value);
}

/* The local address, and the peer's; of *a only len and bytes are set. */
static inline int
net_name(int fd, weft_address *a)
{
	a->len = WEFT_ADDRESS_BYTES;
	return (int)syscall6(SYS_getsockname, fd, (long)a->bytes_,
	    (long)&a->len, 0, 0, 0);
}

static inline int
net_peer(int fd, weft_address *a)
{
	a->len = WEFT_ADDRESS_BYTES;
	return (int)syscall6(SYS_getpeername, fd, (long)a->bytes_,
	    (long)&a->len, 0, 0, 0);
}

#endif

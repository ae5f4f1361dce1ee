/* SPDX-License-Identifier: MIT */
/*
 * What a UNIX socket passes besides bytes: a descriptor, with one byte, since
 * the kernel sends no ancillary data without; and the credentials of the peer.
 *
 * The control buffer is larger than one descriptor needs, since the kernel may
 * put other messages before it (the sender's credentials, if the socket has
 * SO_PASSCRED). Descriptors that arrive beside the first are closed.
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/uio.h>

#include "desc.h"
#include "netcall.h"
#include "weft.h"

enum { CONTROL = 256 };

union control {
	char bytes[CONTROL];
	struct cmsghdr aligned;
};

public int
weft_send_fd(int fd, int passed)
{
	union control control = {0};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE(sizeof passed)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof passed);
	memcpy(CMSG_DATA(c), &passed, sizeof passed);
	n = weft_sendmsg(fd, &msg, MSG_NOSIGNAL);
	return n < 0 ? (int)n : 0;
}

/* The first descriptor, if *fd is still -1; the others are closed. */
static void
take_one(struct cmsghdr *c, int *fd)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof *fd;

	for (size_t i = 0; i < n; i++) {
		int got;

		memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
		if (*fd < 0)
			*fd = got;
		else
			fd_close(got);
	}
}

/* MSG_CTRUNC and no descriptor: the process has no number left for it. */
public int
weft_recv_fd(int fd)
{
	union control control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof control
	};
	ssize_t n = weft_recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	int got = -1;

	if (n < 0)
		return (int)n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c;
	    c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_one(c, &got);
	if (got >= 0) {
		desc_new_fd(got);
		return got;
	}
	if (msg.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	return n == 0 ? -EPIPE : -ENOMSG;
}

/* Our struct is the kernel's. */
_Static_assert(sizeof(weft_credentials) == sizeof(struct ucred) &&
    offsetof(weft_credentials, pid) == offsetof(struct ucred, pid) &&
    offsetof(weft_credentials, uid) == offsetof(struct ucred, uid) &&
    offsetof(weft_credentials, gid) == offsetof(struct ucred, gid), "ucred");

public int
weft_peer_credentials(int fd, weft_credentials *out)
{
	int family = 0;
	unsigned len = sizeof family;
	int err = (int)fd_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family,
	    &len);

	if (err)
		return err;
	if (family != AF_UNIX)
		return -EOPNOTSUPP;
	len = sizeof *out;
	err = (int)fd_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &len);
	if (!err && out->uid == (uid_t)-1)
		err = -ENOTCONN;	/* no peer */
	return err;
}

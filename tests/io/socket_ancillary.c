/* SPDX-License-Identifier: MIT */
/* What travels beside the bytes of a UNIX socket: descriptors, credentials. */
#define _GNU_SOURCE 1
#include "fd_pairs.h"

static weft_waitgroup all;

enum { ROOM = 256 };

/* The two ends of one kind of UNIX socket. */
static const int kinds[] = { STREAM, STREAM_NB, DGRAM, DGRAM_NB, SEQPACKET,
    SEQPACKET_NB };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* One byte, with n descriptors. */
static ssize_t
send_fds(int to, const int *fd, int n)
{
	union { char room[ROOM]; struct cmsghdr align; } u;
	char c = 'd';
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
	    .msg_control = u.room,
	    .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n) };
	struct cmsghdr *h = &u.align;

	memset(&u, 0, sizeof u);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(h), fd, sizeof(int) * (size_t)n);
	return weft_sendmsg(to, &m, 0);
}

/* Their number, at most max. */
static int
recv_fds(int from, int *fd, int max)
{
	union { char room[ROOM]; struct cmsghdr align; } u;
	char c = 0;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
	    .msg_control = u.room, .msg_controllen = sizeof u };
	struct cmsghdr *h;
	int n = 0;

	EQ(weft_recvmsg(from, &m, MSG_CMSG_CLOEXEC), 1);
	EQ(c, 'd');
	h = CMSG_FIRSTHDR(&m);
	OK(h && h->cmsg_type == SCM_RIGHTS);
	if (h)
		n = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	OK(n <= max);
	if (h)
		memcpy(fd, CMSG_DATA(h), sizeof(int) * (size_t)n);
	return n;
}

static void
pass_when_awaited(int to, int fd0, int fd1)
{
	int fd[] = { fd0, fd1 };

	let_them_wait(1);
	EQ(send_fds(to, fd, 2), 1);
	EQ(weft_close(fd0), 0);
	EQ(weft_close(fd1), 0);
	weft_waitgroup_done(&all);
}

/* A pair goes through the socket, and works on the other side. */
static void
pass(int by, int k)
{
	int end[2], passed[2], fd[2];
	char c = 0;

	wire(by, end);
	if (wire_make(k, passed)) {
		weft_waitgroup_add(&all, 1);
		weft_go(pass_when_awaited, end[1], passed[0], passed[1]);
		EQ(recv_fds(end[0], fd, 2), 2);
		weft_waitgroup_wait(&all);
		EQ(fcntl(fd[0], F_GETFD), FD_CLOEXEC);
		EQ(weft_write(fd[1], "p", 1), 1);
		EQ(weft_read(fd[0], &c, 1), 1);
		EQ(c, 'p');
		EQ(weft_set_read_deadline(fd[0], weft_deadline(WEFT_MS)), 0);
		EQ(weft_read(fd[0], &c, 1), -ETIMEDOUT);
		wire_drop(fd);
	}
	wire_drop(end);
}

GTEST(descriptors_on_one, 1)
{
	for (int i = 0; i < KINDS; i++)
		for (int k = 0; k < WIRES; k++)
			pass(kinds[i], k);
}

GTEST(descriptors_on_four, 4)
{
	for (int i = 0; i < KINDS; i++)
		for (int k = 0; k < WIRES; k += 3)
			pass(kinds[i], k);
}

/* Received by plain read they are dropped, and the byte is there. */
GTEST(descriptors_not_asked_for, 1)
{
	int end[2], fd = dup(0);
	char c = 0;

	wire(STREAM, end);
	EQ(send_fds(end[1], &fd, 1), 1);
	EQ(weft_read(end[0], &c, 1), 1);
	EQ(c, 'd');
	EQ(send_fds(end[1], (int[]){ -1 }, 1), -EBADF);
	wire_drop(end);
	close(fd);
}

/* ---- the sender's credentials ---- */

static void
send_identity(int to)
{
	union { char room[ROOM]; struct cmsghdr align; } u;
	struct ucred me = { getpid(), getuid(), getgid() };
	char c = 'i';
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
	    .msg_control = u.room, .msg_controllen = CMSG_SPACE(sizeof me) };
	struct cmsghdr *h = &u.align;

	memset(&u, 0, sizeof u);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_CREDENTIALS;
	h->cmsg_len = CMSG_LEN(sizeof me);
	memcpy(CMSG_DATA(h), &me, sizeof me);
	let_them_wait(1);
	EQ(weft_sendmsg(to, &m, 0), 1);
	weft_waitgroup_done(&all);
}

static void
expect_identity(int fd)
{
	union { char room[ROOM]; struct cmsghdr align; } u;
	struct ucred cred = {0};
	char c = 0;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
	    .msg_control = u.room, .msg_controllen = sizeof u };
	struct cmsghdr *h;

	EQ(weft_recvmsg(fd, &m, 0), 1);
	h = CMSG_FIRSTHDR(&m);
	OK(h && h->cmsg_type == SCM_CREDENTIALS);
	if (h)
		memcpy(&cred, CMSG_DATA(h), sizeof cred);
	EQ(cred.pid, getpid());
	EQ(cred.uid, getuid());
	EQ(cred.gid, getgid());
	/* no room for it: it is cut off, and said so */
	m = (struct msghdr){ .msg_iov = &v, .msg_iovlen = 1 };
	EQ(weft_recvmsg(fd, &m, 0), 1);
	OK(m.msg_flags & MSG_CTRUNC);
}

GTEST(sender_credentials, 1)
{
	for (int i = 0; i < KINDS; i++) {
		int end[2], on = 1;

		wire(kinds[i], end);
		EQ(setsockopt(end[0], SOL_SOCKET, SO_PASSCRED, &on,
		    sizeof on), 0);
		weft_waitgroup_add(&all, 2);
		weft_go(send_identity, end[1]);
		weft_go(send_identity, end[1]);
		expect_identity(end[0]);
		weft_waitgroup_wait(&all);
		wire_drop(end);
	}
}

/* SPDX-License-Identifier: MIT */
/* Descriptors that go over a UNIX socket, and the peer's credentials. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "listener.h"

static bool
same_file(int a, int b)
{
	struct stat s, t;

	return fstat(a, &s) == 0 && fstat(b, &t) == 0 &&
	    s.st_ino == t.st_ino && s.st_dev == t.st_dev;
}

/* Sends n descriptors with one byte, by hand. */
static void
send_many(int fd, const int *passed, size_t n)
{
	char control[512] __attribute__((__aligned__(16))) = {0}, c = 'x';
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = CMSG_SPACE(n * sizeof *passed)
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(n * sizeof *passed);
	memcpy(CMSG_DATA(h), passed, n * sizeof *passed);
	EQ(sendmsg(fd, &msg, 0), 1);
}

static void
passed(int type)
{
	int s[2], p[2], got;

	EQ(socketpair(AF_UNIX, type, 0, s), 0);
	EQ(pipe(p), 0);
	for (int i = 0; i < 3; i++) {
		EQ(weft_send_fd(s[0], p[i % 2]), 0);
		got = weft_recv_fd(s[1]);
		OK(got >= 0 && got != p[i % 2]);
		OK(same_file(got, p[i % 2]));
		OK(fcntl(got, F_GETFD) & FD_CLOEXEC);
		weft_close(got);
	}
	/* Two in a row stay two, the byte goes with each. */
	EQ(weft_send_fd(s[1], p[0]), 0);
	EQ(weft_send_fd(s[1], p[1]), 0);
	got = weft_recv_fd(s[0]);
	OK(same_file(got, p[0]));
	weft_close(got);
	got = weft_recv_fd(s[0]);
	OK(same_file(got, p[1]));
	EQ(weft_write(got, "!", 1), 1);
	weft_close(got);
	EQ(weft_read(p[0], &(char){0}, 1), 1);
	weft_close(s[0]);
	weft_close(s[1]);
	weft_close(p[0]);
	weft_close(p[1]);
}

static void
all_kinds(void)
{
	passed(SOCK_STREAM);
	passed(SOCK_SEQPACKET);
	passed(SOCK_DGRAM);
}

GTEST(there_and_back, 2)
{
	int before = open_fds_before();

	all_kinds();
	EQ(count_fds(), before);
}

TEST(there_and_back_without_a_runtime) { all_kinds(); }

static void
send_later(int fd, int what)
{
	weft_yield();
	EQ(weft_send_fd(fd, what), 0);
}

GTEST(waited_for, 1)
{
	int s[2], got;

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	weft_go(send_later, s[0], s[0]);
	got = weft_recv_fd(s[1]);
	OK(same_file(got, s[0]));
	weft_close(got);
	weft_set_read_deadline(s[1], weft_deadline(WEFT_MS));
	EQ(weft_recv_fd(s[1]), -ETIMEDOUT);
	weft_close(s[0]);
	weft_close(s[1]);
}

GTEST(nothing_with_it, 1)
{
	int before = open_fds_before(), s[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	EQ(weft_write(s[0], "ab", 2), 2);
	EQ(weft_recv_fd(s[1]), -ENOMSG);
	EQ(weft_recv_fd(s[1]), -ENOMSG);
	EQ(weft_send_fd(s[0], -1), -EBADF);
	EQ(weft_send_fd(-1, s[0]), -EBADF);
	EQ(weft_recv_fd(-1), -EBADF);
	weft_close(s[0]);
	EQ(weft_recv_fd(s[1]), -EPIPE);
	EQ(weft_send_fd(s[1], s[1]), -EPIPE);
	weft_close(s[1]);
	EQ(count_fds(), before);
}

/* Those that were not asked for do not stay open. */
GTEST(more_than_one, 1)
{
	int before = open_fds_before(), s[2], p[2], got, many[59];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	EQ(pipe(p), 0);
	send_many(s[0], (int[]){ p[0], p[1], p[1] }, 3);
	got = weft_recv_fd(s[1]);
	OK(same_file(got, p[0]));
	EQ(count_fds(), before + 5);
	weft_close(got);
	/* Beyond our room, too, and beside credentials. */
	EQ(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)),
	    0);
	for (int i = 0; i < 59; i++)
		many[i] = i ? p[0] : p[1];
	send_many(s[0], many, 59);
	got = weft_recv_fd(s[1]);
	OK(same_file(got, p[1]));
	if (t_emulated())
		t_skip("an emulator keeps those for itself");
	EQ(count_fds(), before + 5);
	weft_close(got);
	EQ(weft_send_fd(s[0], p[0]), 0);
	got = weft_recv_fd(s[1]);
	OK(same_file(got, p[0]));
	weft_close(got);
	close_all((int[]){ s[0], s[1], p[0], p[1] }, 4);
	EQ(count_fds(), before);
}

GTEST(no_number_left, 1)
{
	struct rlimit old, few;
	int s[2], last, taken = 0;
	int held[256];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	EQ(weft_send_fd(s[0], s[0]), 0);
	EQ(weft_send_fd(s[0], s[0]), 0);
	EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 64;
	EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((last = dup(s[0])) >= 0)
		held[taken++] = last;
	EQ(errno, EMFILE);
	EQ(weft_recv_fd(s[1]), -EMFILE);
	EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
	close_all(held, taken);
	last = weft_recv_fd(s[1]);
	OK(same_file(last, s[0]));
}

/* ---- the peer's credentials ---- */

GTEST(peer_of_a_pair, 1)
{
	weft_credentials p = {0};
	int s[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	EQ(weft_peer_credentials(s[0], &p), 0);
	EQ(p.pid, getpid());
	EQ(p.uid, getuid());
	EQ(p.gid, getgid());
	weft_close(s[0]);
	weft_close(s[1]);
	EQ(weft_peer_credentials(s[0], &p), -EBADF);
}

/* Another process dials. */
GTEST(peer_of_a_child, 1)
{
	char name[64];
	weft_credentials p = {0};
	int listener, got, status;
	pid_t pid;

	snprintf(name, sizeof name, "@weft-peer-%d", (int)getpid());
	listener = weft_listen("unix", name);
	pid = fork();
	if (pid == 0) {
		got = weft_dial("unix", name);
		fcntl(got, F_SETFL, 0);
		_exit(got >= 0 && read(got, name, 1) == 0 ? 0 : 1);
	}
	got = weft_accept(listener, NULL, NULL);
	EQ(weft_peer_credentials(got, &p), 0);
	EQ(p.pid, pid);
	EQ(p.uid, getuid());
	weft_close(got);
	EQ(waitpid(pid, &status, 0), pid);
	EQ(status, 0);
	weft_close(listener);
}

GTEST(no_peer, 1)
{
	weft_credentials p;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), pipes[2];
	int tcp = weft_listen("tcp", "127.0.0.1:0");

	EQ(weft_peer_credentials(fd, &p), -ENOTCONN);
	EQ(weft_peer_credentials(tcp, &p), -EOPNOTSUPP);
	EQ(pipe(pipes), 0);
	EQ(weft_peer_credentials(pipes[0], &p), -ENOTSOCK);
	EQ(weft_peer_credentials(-1, &p), -EBADF);
}

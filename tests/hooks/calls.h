/* SPDX-License-Identifier: MIT */
/*
 * The calls that the hooks stand before, in two tables of the same shape: as a
 * program calls them, and as the system calls that they are. A test makes the
 * same call by both and compares.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef CALLS_H
#define CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct calls {
	const char *name;
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*write)(int, const void *, size_t);
	ssize_t (*readv)(int, const struct iovec *, int);
	ssize_t (*writev)(int, const struct iovec *, int);
	ssize_t (*recv)(int, void *, size_t, int);
	ssize_t (*send)(int, const void *, size_t, int);
	ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *,
	    socklen_t *);
	ssize_t (*sendto)(int, const void *, size_t, int,
	    const struct sockaddr *, socklen_t);
	ssize_t (*recvmsg)(int, struct msghdr *, int);
	ssize_t (*sendmsg)(int, const struct msghdr *, int);
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *,
	    const sigset_t *);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *,
	    const struct timespec *, const sigset_t *);
	int (*epoll_wait)(int, struct epoll_event *, int, int);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*accept4)(int, struct sockaddr *, socklen_t *, int);
	int (*close)(int);
	int (*socket)(int, int, int);
	int (*socketpair)(int, int, int, int *);
	int (*pipe)(int *);
	int (*pipe2)(int *, int);
	int (*dup)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*nanosleep)(const struct timespec *, struct timespec *);
	int (*clock_nanosleep)(clockid_t, int, const struct timespec *,
	    struct timespec *);
	int (*usleep)(useconds_t);
	int (*sched_yield)(void);
	/* what _FORTIFY_SOURCE makes of some, with the size of the object */
	ssize_t (*read_chk)(int, void *, size_t, size_t);
	ssize_t (*recv_chk)(int, void *, size_t, size_t, int);
	ssize_t (*recvfrom_chk)(int, void *, size_t, size_t, int,
	    struct sockaddr *, socklen_t *);
	int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
	int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *,
	    const sigset_t *, size_t);
};

/* ---- as a program calls them ---- */

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int,
    struct sockaddr *, socklen_t *);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *,
    const sigset_t *, size_t);

/* libc declares addresses as a union of pointers, in C. */
static inline ssize_t
lib_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *a,
    socklen_t *n)
{
	return recvfrom(fd, buf, len, flags, a, n);
}

static inline ssize_t
lib_sendto(int fd, const void *buf, size_t len, int flags,
    const struct sockaddr *a, socklen_t n)
{
	return sendto(fd, buf, len, flags, a, n);
}

static inline int
lib_connect(int fd, const struct sockaddr *a, socklen_t n)
{
	return connect(fd, a, n);
}

static inline int
lib_accept(int fd, struct sockaddr *a, socklen_t *n)
{
	return accept(fd, a, n);
}

static inline int
lib_accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
	return accept4(fd, a, n, flags);
}

static const struct calls lib_calls = { "as called",
	read, write, readv, writev, recv, send, lib_recvfrom, lib_sendto,
	recvmsg, sendmsg, poll, ppoll, select, pselect, epoll_wait,
	lib_connect, lib_accept, lib_accept4, close, socket, socketpair, pipe,
	pipe2, dup, dup2, dup3, nanosleep, clock_nanosleep, usleep,
	sched_yield, __read_chk, __recv_chk, __recvfrom_chk, __poll_chk,
	__ppoll_chk };

/* ---- the system calls ---- */

#define SYSTEM_CALL(type, name, nr, params, ...)			\
	static inline type						\
	sys_##name params						\
	{								\
		return (type)syscall(nr, __VA_ARGS__);			\
	}

SYSTEM_CALL(ssize_t, read, SYS_read, (int fd, void *p, size_t n), fd, p, n)
SYSTEM_CALL(ssize_t, write, SYS_write, (int fd, const void *p, size_t n),
    fd, p, n)
SYSTEM_CALL(ssize_t, readv, SYS_readv, (int fd, const struct iovec *v, int n),
    fd, v, n)
SYSTEM_CALL(ssize_t, writev, SYS_writev,
    (int fd, const struct iovec *v, int n), fd, v, n)
SYSTEM_CALL(ssize_t, recvfrom, SYS_recvfrom, (int fd, void *p, size_t n,
    int flags, struct sockaddr *a, socklen_t *len), fd, p, n, flags, a, len)
SYSTEM_CALL(ssize_t, sendto, SYS_sendto, (int fd, const void *p, size_t n,
    int flags, const struct sockaddr *a, socklen_t len),
    fd, p, n, flags, a, len)
SYSTEM_CALL(ssize_t, recvmsg, SYS_recvmsg,
    (int fd, struct msghdr *m, int flags), fd, m, flags)
SYSTEM_CALL(ssize_t, sendmsg, SYS_sendmsg,
    (int fd, const struct msghdr *m, int flags), fd, m, flags)
SYSTEM_CALL(int, connect, SYS_connect,
    (int fd, const struct sockaddr *a, socklen_t n), fd, a, n)
SYSTEM_CALL(int, accept, SYS_accept,
    (int fd, struct sockaddr *a, socklen_t *n), fd, a, n)
SYSTEM_CALL(int, accept4, SYS_accept4,
    (int fd, struct sockaddr *a, socklen_t *n, int flags), fd, a, n, flags)
SYSTEM_CALL(int, close, SYS_close, (int fd), fd)
SYSTEM_CALL(int, socket, SYS_socket, (int f, int type, int proto),
    f, type, proto)
SYSTEM_CALL(int, socketpair, SYS_socketpair,
    (int f, int type, int proto, int *out), f, type, proto, out)
SYSTEM_CALL(int, pipe2, SYS_pipe2, (int *out, int flags), out, flags)
SYSTEM_CALL(int, dup, SYS_dup, (int fd), fd)
SYSTEM_CALL(int, dup3, SYS_dup3, (int fd, int to, int flags), fd, to, flags)
SYSTEM_CALL(int, nanosleep, SYS_nanosleep,
    (const struct timespec *ts, struct timespec *left), ts, left)

/* Not all machines have the older ones; these are what they are made of. */
static inline ssize_t
sys_recv(int fd, void *p, size_t n, int flags)
{
	return sys_recvfrom(fd, p, n, flags, NULL, NULL);
}

static inline ssize_t
sys_send(int fd, const void *p, size_t n, int flags)
{
	return sys_sendto(fd, p, n, flags, NULL, 0);
}

static inline int
sys_pipe(int *out)
{
	return sys_pipe2(out, 0);
}

static inline int
sys_dup2(int fd, int to)
{
	if (fd == to)
		return fcntl(fd, F_GETFD) < 0 ? -1 : to;
	return sys_dup3(fd, to, 0);
}

/* The kernel writes the rest of the time there, libc keeps it from that. */
static inline int
sys_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask)
{
	struct timespec copy;

	if (ts)
		copy = *ts;
	return (int)syscall(SYS_ppoll, fds, n, ts ? &copy : NULL, mask,
	    (size_t)8);
}

static inline int
sys_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	return sys_ppoll(fds, n, ms < 0 ? NULL : &ts, NULL);
}

static inline int
sys_pselect(int n, fd_set *r, fd_set *w, fd_set *e,
    const struct timespec *ts, const sigset_t *mask)
{
	struct timespec copy;
	struct { const sigset_t *mask; size_t bytes; } six = { mask, 8 };

	if (ts)
		copy = *ts;
	return (int)syscall(SYS_pselect6, n, r, w, e, ts ? &copy : NULL, &six);
}

/* Seconds and microseconds may be any that are not negative. */
static inline int
sys_select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *tv)
{
	struct timespec ts;
	int got;

	if (tv && (tv->tv_sec < 0 || tv->tv_usec < 0)) {
		errno = EINVAL;
		return -1;
	}
	if (tv) {
		ts.tv_sec = tv->tv_sec + tv->tv_usec / 1000000;
		ts.tv_nsec = tv->tv_usec % 1000000 * 1000;
	}
	got = (int)syscall(SYS_pselect6, n, r, w, e, tv ? &ts : NULL, NULL);
	if (tv) {
		tv->tv_sec = ts.tv_sec;
		tv->tv_usec = ts.tv_nsec / 1000;
	}
	return got;
}

static inline int
sys_epoll_wait(int fd, struct epoll_event *ev, int n, int ms)
{
	return (int)syscall(SYS_epoll_pwait, fd, ev, n, ms, NULL, (size_t)8);
}

/* It returns the error; and libc has no sleep by the thread's own time. */
static inline int
sys_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
    struct timespec *left)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return EINVAL;
	return syscall(SYS_clock_nanosleep, clock, flags, ts, left) == 0 ? 0 :
	    errno;
}

static inline int
sys_usleep(useconds_t us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000L };

	return sys_nanosleep(&ts, NULL);
}

static inline int
sys_sched_yield(void)
{
	return (int)syscall(SYS_sched_yield);
}

static inline ssize_t
sys_read_chk(int fd, void *p, size_t n, size_t room)
{
	(void)room;
	return sys_read(fd, p, n);
}

static inline ssize_t
sys_recv_chk(int fd, void *p, size_t n, size_t room, int flags)
{
	(void)room;
	return sys_recv(fd, p, n, flags);
}

static inline ssize_t
sys_recvfrom_chk(int fd, void *p, size_t n, size_t room, int flags,
    struct sockaddr *a, socklen_t *len)
{
	(void)room;
	return sys_recvfrom(fd, p, n, flags, a, len);
}

static inline int
sys_poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
	(void)room;
	return sys_poll(fds, n, ms);
}

static inline int
sys_ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask, size_t room)
{
	(void)room;
	return sys_ppoll(fds, n, ts, mask);
}

static const struct calls sys_calls = { "the system's",
	sys_read, sys_write, sys_readv, sys_writev, sys_recv, sys_send,
	sys_recvfrom, sys_sendto, sys_recvmsg, sys_sendmsg, sys_poll,
	sys_ppoll, sys_select, sys_pselect, sys_epoll_wait, sys_connect,
	sys_accept, sys_accept4, sys_close, sys_socket, sys_socketpair,
	sys_pipe, sys_pipe2, sys_dup, sys_dup2, sys_dup3, sys_nanosleep,
	sys_clock_nanosleep, sys_usleep, sys_sched_yield, sys_read_chk,
	sys_recv_chk, sys_recvfrom_chk, sys_poll_chk, sys_ppoll_chk };

#endif

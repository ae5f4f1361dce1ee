/* SPDX-License-Identifier: MIT */
/*
 * Happens-before by data. A read synchronizes with the write whose data it
 * returns: so programs hand memory over with a byte in a pipe. ThreadSanitizer
 * knows this of libc's calls, but does not see ours, and would report a race.
 * In other builds all of it is empty.
 *
 * There is one synchronization point for all descriptors: a call that may
 * write releases it on entry, a call that received something acquires it on
 * return. A point for each pipe, or pair of sockets, would find more races of
 * programs. But the kernel does not say which sockets are connected; and data
 * is passed on from one to another, by splice, or through another process,
 * where the thread that passes it on need not have released the second point
 * after it acquired the first. A false report is worse: the user cannot do
 * anything about it. (ThreadSanitizer has one point for all sockets of libc,
 * Go one for everything.)
 *
 * It hides as few races of the runtime as possible. The points are the first
 * and the last step of a public call: the goroutine does nothing of its own
 * between these and the system call, so for its memory it is the same; but what
 * the runtime does in the call, from the record of the descriptor to the wait
 * and the waking, comes after the release and before the acquire, and is not
 * ordered by this call. Nor are calls that only wait for room.
 *
 * ThreadSanitizer also keeps a record of each fd that libc's calls have made,
 * and reports a race if the same fd is made again, unless it has seen that it
 * was closed. So in that build an fd of the program is closed with libc's
 * close. That finds real races, too: of a close with libc's calls on the fd
 * that nothing orders before it. Our own calls on it, which may be concurrent,
 * are not seen.
 *
 * Rejected: to make the other calls with libc's functions in that build. It
 * would report a race between them and weft_close, where the use of a
 * descriptor that is being closed is allowed; and they set errno.
 */
#ifndef TSAN_IO_H
#define TSAN_IO_H

#include <errno.h>

#include "fdcall.h"
#include "sanitize.h"

/* Never read or written: only its address counts. */
extern char tsan_io_point;

/* First step of a call that may write, connect, or close. */
static always_inline void
tsan_io_release(void)
{
	san_release(&tsan_io_point);
}

/* A result that says nothing but that the peer has gone. */
static always_inline bool
tsan_io_peer_gone(long n)
{
	return n == -EPIPE || n == -ECONNRESET;
}

/* Last step of a call that writes: most results say nothing of the peer. */
static always_inline long
tsan_io_wrote(long n)
{
	if (tsan_io_peer_gone(n))
		san_acquire(&tsan_io_point);
	return n;
}

/* Last step of a call that reads or accepts: data has come, or the end. */
static always_inline long
tsan_io_acquire(long n)
{
	if (n >= 0 || tsan_io_peer_gone(n))
		san_acquire(&tsan_io_point);
	return n;
}

/* Closes an fd of the program: 0 or -errno. */
#ifdef SAN_THREAD
#include <unistd.h>

static inline long
tsan_io_close(int fd)
{
	int before = errno;
	long result = close(fd) ? -errno : 0;

	errno = before;
	return result;
}
#else
static inline long
tsan_io_close(int fd)
{
	return fd_close(fd);
}
#endif

#endif

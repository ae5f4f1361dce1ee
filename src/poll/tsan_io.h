/* SPDX-License-Identifier: MIT */
/*
 * The order that data brings with it. Who reads what another one has written
 * comes after him, with all that he did before: so programs hand memory over
 * with a byte in a pipe. ThreadSanitizer knows this of libc's calls, but does
 * not see ours, and would report a race. In other builds all of it is empty.
 *
 * There is one point for all descriptors: who may have written passes it on
 * entry, who was told something passes it on return. A point for each pipe, or
 * pair of sockets, would find more races of programs. But the kernel does not
 * say which sockets belong together; and data goes on from one to another, by
 * splice, or through another process, where the one who carries it need not
 * have passed the second point after the first. A report of a race that is
 * none is worse: nobody can do anything about it. (ThreadSanitizer has one
 * point for all sockets of libc, Go one for everything.)
 *
 * What it hides of our own races is made as little as possible. The points
 * are the first and the last thing of a public call: the goroutine does
 * nothing of its own between that and the system call, so for its memory it is
 * the same; but what *we* do in the call, from the record of the descriptor to
 * the wait and the waking, comes after the one and before the other, and is
 * not ordered by this call. Nor are calls that only wait for room.
 *
 * ThreadSanitizer also keeps a record of each number that libc's calls have
 * made, and takes whoever makes the same number again for a race with the
 * first, unless it has seen that it was closed. So in that build a number of
 * the program is closed with libc's close. That finds real races, too: of a
 * close with libc's calls on the number that nothing orders before it. Our own
 * calls on it, which may come at the same time, are not seen.
 *
 * Rejected: to make the other calls with libc's functions in that build.
 * Between them and weft_close it would report what we allow, using a
 * descriptor that another one closes; and they set errno.
 */
#ifndef TSAN_IO_H
#define TSAN_IO_H

#include <errno.h>

#include "fdcall.h"
#include "sanitize.h"

/* Never read or written: only its address counts. */
extern char tsan_io_point;

/* First of a call that may write, connect, or close. */
static always_inline void
tsan_io_release(void)
{
	san_release(&tsan_io_point);
}

/* Of a result that tells nothing but that the other end has gone. */
static always_inline bool
tsan_io_peer_gone(long n)
{
	return n == -EPIPE || n == -ECONNRESET;
}

/* Last of a call that writes: most tell nothing of the other end. */
static always_inline long
tsan_io_wrote(long n)
{
	if (tsan_io_peer_gone(n))
		san_acquire(&tsan_io_point);
	return n;
}

/* Last of a call that reads, or accepts: something has come, or the end. */
static always_inline long
tsan_io_acquire(long n)
{
	if (n >= 0 || tsan_io_peer_gone(n))
		san_acquire(&tsan_io_point);
	return n;
}

/* Closes a number of the program: 0 or -errno. */
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

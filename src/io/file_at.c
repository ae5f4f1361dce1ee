/* SPDX-License-Identifier: MIT */
/*
 * Files at an offset: pread and pwrite.
 *
 * A read first asks for what is in the page cache (RWF_NOWAIT): a hit is a copy
 * and no more, so it is not announced, and no other thread is needed. Only a
 * miss has to wait:
 *
 *	all of it	returned
 *	a part		asked again for the rest
 *	-EAGAIN		the page cache has no more: an announced call; or, if
 *			rings are asked for (poll/ring.c), by one of these,
 *			while the goroutine is parked
 *	0		the end; but Linux 5.9 and 5.10 may say so before it:
 *			an announced call, which is short
 *	-EOPNOTSUPP	this file system has no such thing: an announced call,
 *			and NO_NOWAIT on the descriptor, until it is closed.
 *			(A ring would have to use a thread of the kernel's.)
 *
 * Errors are what the announced call says, always.
 *
 * With O_DIRECT the kernel waits for the disk in spite of the flag: the ring or
 * the announced call at once. A large read is announced, since the copy itself
 * keeps the P for long.
 *
 * Not so for weft_read, whose offset belongs to the file. The kernel makes each
 * read(2) one step for all that share that offset; a read in two parts, the
 * first from the page cache and the rest from the disk, would not be.
 *
 * Nor for writes. Most end in the page cache, and an announced call that is
 * short keeps its P. (ext4 refuses RWF_NOWAIT for a write to the page cache.)
 */
#define _GNU_SOURCE 1		/* O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file.h"
#include "preempt.h"
#include "ring.h"
#include "tsan_io.h"
#include "weft.h"

enum {
	NOWAIT = 8,			/* RWF_NOWAIT */
	NOWAIT_MAX = 256 * 1024		/* some ten microseconds of copying */
};

struct part {
	char *p;
	size_t n;
	off_t at;
};

/* ---- reading ---- */

static long
pread_now(struct desc *d, void *arg)
{
	const struct part *p = arg;

	return syscall6(SYS_pread64, d->fd, (long)p->p, (long)p->n,
	    (long)p->at, 0, 0);
}

static long
pread_blocking(struct desc *d, struct part *p)
{
	long n;

	do
		n = fdio_blocking(pread_now, d, p);
	while (n == -EINTR);
	return n;
}

enum way {
	CACHED,			/* try the page cache, then the ring */
	DIRECT,			/* the ring */
	BLOCKING		/* an announced call */
};

/* An fcntl by the program, later, is not noticed: it makes a read slower. */
static cold uint8_t
look_at_file(struct desc *d)
{
	bool direct = fd_control(d->fd, F_GETFL, 0) & O_DIRECT;

	desc_flag_file(d, direct ? FILE_SEEN | FILE_DIRECT : FILE_SEEN);
	return a_load_relaxed(&d->flags);
}

/* (An offset of -1 would mean the file's own.) */
static enum way
way_to_read(struct desc *d, const struct part *p)
{
	uint8_t flags = a_load_relaxed(&d->flags);

	if (unlikely(a_load_relaxed(&d->kind) != KIND_FILE || p->at < 0 ||
	    p->n > NOWAIT_MAX))
		return BLOCKING;
	if (unlikely(!(flags & FILE_SEEN)))
		flags = look_at_file(d);
	if (unlikely(flags & NO_NOWAIT))
		return BLOCKING;
	return flags & FILE_DIRECT ? DIRECT : CACHED;
}

/* So many bytes are read, or it is an error: none. */
static long
advance(struct part *p, long n)
{
	if (n <= 0)
		return 0;
	p->p += n;
	p->n -= (size_t)n;
	p->at += n;
	return n;
}

/*
 * How much of it is in the page cache, and copied; *p is the rest. *end is how
 * it ended: 0: all was there, or there seems to be no more; or -errno.
 */
static long
pread_cached(struct desc *d, struct part *p, long *end)
{
	long done = 0, n;

	do {
		struct iovec iov = { p->p, p->n };

		n = syscall6(SYS_preadv2, d->fd, (long)&iov, 1, (long)p->at, 0,
		    NOWAIT);
		done += advance(p, n);
	} while (n > 0 && unlikely(p->n));
	if (unlikely(n == -EOPNOTSUPP || n == -ENOSYS))
		desc_flag_file(d, NO_NOWAIT);
	*end = n < 0 ? n : 0;
	return done;
}

/*
 * The program may have closed it externally, and the number be a pipe's: there
 * a ring would read the pipe, whatever the offset, and wait for its writer.
 */
static bool
is_seekable(struct desc *d)
{
	return syscall6(SYS_lseek, d->fd, 0, SEEK_CUR, 0, 0, 0) >= 0;
}

/*
 * By the kernel, while the goroutine is parked: how much; 0: it is the end. Or
 * an error, or it cannot: -EAGAIN, and the announced call says what it is.
 */
static long
pread_ring(struct desc *d, const struct part *p)
{
	struct uring_op op = { .what = URING_READ, .fd = d->fd, .buf = p->p,
	    .bytes = (uint32_t)p->n, .offset = (uint64_t)p->at };
	long n;

	return ring_do(&op, WAIT_READ, &n) && n >= 0 ? n : -EAGAIN;
}

/* Within a call. An error after some bytes is found again by the next call. */
static long
pread_all(struct desc *d, struct part p)
{
	enum way way = way_to_read(d, &p);
	long n = -EAGAIN, done = 0;

	if (likely(way == CACHED)) {
		done = pread_cached(d, &p, &n);
		if (likely(done && !p.n))
			return done;
	} else if (way == DIRECT && !is_seekable(d)) {
		n = -ESPIPE;
	}
	if (way != BLOCKING && n == -EAGAIN) {
		n = pread_ring(d, &p);
		if (n == 0 || (n > 0 && (size_t)n == p.n))
			return done + n;
		done += advance(&p, n);
	}
	n = pread_blocking(d, &p);
	return n < 0 && done ? done : done + n;
}

public ssize_t
weft_pread(int fd, void *buf, size_t len, off_t at)
{
	struct part p = { buf, len, at };
	struct desc *d;
	long n;

	checkpoint();
	n = desc_enter_file(fd, &d);
	if (unlikely(n))
		return n;
	n = pread_all(d, p);
	desc_leave(d);
	return tsan_io_acquire(n);
}

/* ---- writing ---- */

static long
pwrite_now(struct desc *d, void *arg)
{
	const struct part *p = arg;

	return syscall6(SYS_pwrite64, d->fd, (long)p->p, (long)p->n,
	    (long)p->at, 0, 0);
}

public ssize_t
weft_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	struct part p = { (void *)(uintptr_t)buf, len, at };

	tsan_io_release();
	return file_call(fd, pwrite_now, &p);
}

/* SPDX-License-Identifier: MIT */
/* Files: calls that the kernel may block in, announced. And closing. */
#include <errno.h>
#include <fcntl.h>

#include "fdio.h"
#include "preempt.h"
#include "tsan_io.h"
#include "weft.h"

struct part {
	void *p;
	size_t n;
	off_t at;
};

struct path {
	const char *name;
	int flags;
	mode_t mode;
};

/* On a number that needs not be known, and that others may close. */
static long
blocking_on_fd(int fd, fdio_try *fn, void *arg)
{
	struct desc *d;
	long n;

	checkpoint();
	n = desc_enter(fd, &d);
	if (n)
		return n;
	do
		n = fdio_blocking(fn, d, arg);
	while (n == -EINTR);
	desc_leave(d);
	return n;
}

static long
pread_now(struct desc *d, void *arg)
{
	const struct part *p = arg;

	return syscall6(SYS_pread64, d->fd, (long)p->p, (long)p->n,
	    (long)p->at, 0, 0);
}

public ssize_t
weft_pread(int fd, void *buf, size_t len, off_t at)
{
	struct part p = { buf, len, at };

	return tsan_io_acquire(blocking_on_fd(fd, pread_now, &p));
}

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
	return blocking_on_fd(fd, pwrite_now, &p);
}

static long
fsync_now(struct desc *d, void *unused)
{
	(void)unused;
	return syscall6(SYS_fsync, d->fd, 0, 0, 0, 0, 0);
}

public int
weft_fsync(int fd)
{
	return (int)blocking_on_fd(fd, fsync_now, NULL);
}

static long
open_now(struct desc *none, void *arg)
{
	const struct path *p = arg;

	(void)none;
	return syscall6(SYS_openat, AT_FDCWD, (long)p->name,
	    p->flags | O_CLOEXEC, p->mode, 0, 0);
}

public int
weft_open(const char *path, int flags, mode_t mode)
{
	struct path p = { path, flags, mode };
	long n;

	checkpoint();
	do
		n = fdio_blocking(open_now, NULL, &p);
	while (n == -EINTR);
	if (n >= 0)
		desc_new_fd((int)n);
	return (int)n;
}

/* ---- closing ---- */

public int
weft_close(int fd)
{
	tsan_io_release();
	checkpoint();
	return desc_close(fd);
}
